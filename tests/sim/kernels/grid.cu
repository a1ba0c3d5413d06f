// What blocks do together: atomics and fences order them, no other launch.
// Launch: any number of blocks that fit on the device together.
#include <cuda/atomic>

#include "column.cuh"

/// Sum of all by two steps in one launch: the block that finishes last adds the blocks' sums. Block of 128.
extern "C" __global__ void last_block_sum(const int* in /*[n]*/, int* partial /*[gridDim.x]*/,
                                          unsigned* finished /*[1], 0*/, int* out /*[1]*/, int n) {
  __shared__ int part[128];
  __shared__ bool last;
  const int t = threadIdx.x;
  const auto tree = [&] {
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
      if (t < half) part[t] += part[t + half];
      __syncthreads();
    }
  };
  int sum = 0;
  for (int i = element(); i < n; i += gridDim.x * 128) sum += in[i];
  part[t] = sum;
  tree();
  if (t == 0) {
    partial[blockIdx.x] = part[0];
    __threadfence();
    last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  sum = 0;
  for (int k = t; k < gridDim.x; k += 128) sum += ((volatile int*)partial)[k];
  part[t] = sum;
  tree();
  if (t == 0) *out = part[0];
}

/// Running sums of all in one pass: each block waits for the sum or the running sum of those before it
/// (decoupled look-back, Merrill and Garland 2016). States: 0 nothing, 1 the block's sum, 2 the running sum;
/// state and value share one word of 64 bits. Block of 128; tickets give the blocks their order.
extern "C" __global__ void look_back(const unsigned* in /*[n]*/, unsigned* out /*[n]*/,
                                     unsigned long long* states /*[gridDim.x], 0*/,
                                     unsigned* tickets /*[1], 0*/, int n) {
  __shared__ unsigned values[2][128], tile, before;
  const int t = threadIdx.x;
  if (t == 0) tile = atomicAdd(tickets, 1);
  __syncthreads();
  const int i = int(tile) * 128 + t;
  values[0][t] = i < n ? in[i] : 0;
  int from = 0;
  for (int reach = 1; reach < 128; reach *= 2, from ^= 1) {
    __syncthreads();
    values[from ^ 1][t] = values[from][t] + (t >= reach ? values[from][t - reach] : 0);
  }
  __syncthreads();
  const unsigned sum = values[from][127];
  if (t == 0) {
    using State = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;
    before = 0;
    State(states[tile]).store((tile == 0 ? 2ull : 1ull) << 32 | sum, cuda::memory_order_release);
    for (int other = int(tile) - 1; other >= 0;) {
      const unsigned long long state = State(states[other]).load(cuda::memory_order_acquire);
      if (state >> 32 == 0) continue;
      before += unsigned(state);
      if (state >> 32 == 2) break;
      --other;
    }
    if (tile > 0) State(states[tile]).store(2ull << 32 | (before + sum), cuda::memory_order_release);
  }
  __syncthreads();
  if (i < n) out[i] = before + values[from][t];
}

/// A block passes a number on to the next: volatile flag, fence on both sides. Any block.
extern "C" __global__ void relay(volatile int* flags /*[gridDim.x + 1], 0*/,
                                 int* values /*[gridDim.x + 1]*/) {
  if (threadIdx.x == 0) {
    if (blockIdx.x > 0) {
      while (flags[blockIdx.x] == 0) {
      }
      __threadfence();
    }
    values[blockIdx.x + 1] = values[blockIdx.x] * 3 + 1;
    __threadfence();
    flags[blockIdx.x + 1] = 1;
  }
}

/// All blocks meet at a barrier of the grid's own, twice. Block of 64; all blocks resident.
extern "C" __global__ void grid_barrier(const int* in /*[gridDim.x * 64]*/, int* middle, int* out,
                                        unsigned* arrived /*[1], 0*/) {
  const int i = element(), n = gridDim.x * 64;
  const auto wait = [&](unsigned goal) {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(arrived, 1);
      while (*(volatile unsigned*)arrived < goal) {
      }
      __threadfence();
    }
    __syncthreads();
  };
  middle[i] = in[i] * 2;
  wait(gridDim.x);
  const int x = middle[n - 1 - i];
  wait(2 * gridDim.x);
  middle[i] = x + 1;
  out[i] = x;
}

/// Elements above a threshold, compacted: where each stands depends on the order of the atomics.
extern "C" __global__ void compact(const int* in /*[n]*/, int* out /*[n]*/, unsigned* count /*[1], 0*/, int n,
                                   int threshold) {
  const int i = element();
  if (i < n && in[i] > threshold) out[atomicAdd(count, 1)] = in[i];
}

/// The same with one atomic a warp.
extern "C" __global__ void compact_by_warps(const int* in /*[n]*/, int* out /*[n]*/,
                                            unsigned* count /*[1], 0*/, int n, int threshold) {
  const int i = element(), lane = threadIdx.x % 32;
  const bool chosen = i < n && in[i] > threshold;
  const unsigned mask = __ballot_sync(0xffffffff, chosen);
  if (!chosen) return;
  const int leader = __ffs(mask) - 1;
  unsigned base = 0;
  if (lane == leader) base = atomicAdd(count, __popc(mask));
  base = __shfl_sync(mask, base, leader);
  out[base + __popc(mask & ((1u << lane) - 1))] = in[i];
}

/// A hash table of keys with open addressing; only which keys are present is of interest, not where.
extern "C" __global__ void hash_insert(const unsigned* keys /*[n], nonzero*/, unsigned* table /*[slots], 0*/,
                                       unsigned* present /*[1], 0*/, int n, unsigned slots) {
  const int i = element();
  if (i >= n) return;
  const unsigned key = keys[i] | 1;
  for (unsigned slot = key * 2654435761u % slots;; slot = (slot + 1) % slots) {
    const unsigned old = atomicCAS(table + slot, 0, key);
    if (old == 0) atomicAdd(present, 1);
    if (old == 0 || old == key) return;
  }
}
