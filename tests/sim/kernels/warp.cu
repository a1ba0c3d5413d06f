// What the threads of a warp do together: shuffles, votes, matches, reductions, masks, cooperative groups.
// Launch: blocks of whole warps unless a kernel takes n; out [m, n] as in column.cuh with n = all threads.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "column.cuh"

namespace cg = cooperative_groups;

extern "C" __global__ void shuffles(const int* in /*[n]*/, int* out /*[18, n]*/) {
  const int i = element(), n = gridDim.x * blockDim.x, lane = threadIdx.x % 32;
  const int x = in[i];
  const unsigned all = 0xffffffff;
  Column<int> put{out, n, i};
  put(__shfl_sync(all, x, 5)), put(__shfl_sync(all, x, x)), put(__shfl_sync(all, x, 3, 8)),
      put(__shfl_sync(all, x, lane + 40));
  put(__shfl_up_sync(all, x, 1)), put(__shfl_up_sync(all, x, 3, 16)), put(__shfl_down_sync(all, x, 7));
  put(__shfl_down_sync(all, x, 2, 4)), put(__shfl_xor_sync(all, x, 1)), put(__shfl_xor_sync(all, x, 5, 8));
  put(__float_as_int(__shfl_down_sync(all, __int_as_float(x), 16)));
  const long long wide = __shfl_xor_sync(all, (long long)(x)*0x100000003, 9);
  put(int(wide)), put(int(wide >> 32));
  int d, p;
  asm volatile("{.reg .pred q;\n\tshfl.sync.down.b32 %0|q, %2, 4, 31, -1;\n\tselp.s32 %1, 1, 0, q;}"
               : "=r"(d), "=r"(p)
               : "r"(x));
  put(d), put(p);
  asm volatile("{.reg .pred q;\n\tshfl.sync.idx.b32 %0|q, %2, %3, 0x1c03, -1;\n\tselp.s32 %1, 1, 0, q;}"
               : "=r"(d), "=r"(p)
               : "r"(x), "r"(lane * 3));
  put(d), put(p);
  d = -1;
  if (lane % 3 == 0) d = __shfl_sync(0x49249249, x, lane / 6 * 3);
  put(d);
}

extern "C" __global__ void votes(const int* in /*[n]*/, unsigned* out /*[10, n]*/) {
  const int i = element(), n = gridDim.x * blockDim.x, lane = threadIdx.x % 32;
  const int x = in[i];
  const unsigned all = 0xffffffff;
  Column<unsigned> put{out, n, i};
  put(__all_sync(all, x > 0)), put(__any_sync(all, x > 0)), put(__ballot_sync(all, x > 0));
  put(__all_sync(all, x == x)), put(__any_sync(all, x != x)), put(__ballot_sync(all, lane & 4));
  unsigned odd = 0, arm = 0;
  if (x & 1) {
    odd = __activemask();
    arm = __ballot_sync(odd, x > 0);
  } else {
    arm = __popc(__ballot_sync(__activemask(), x & 2));
  }
  __syncwarp();
  put(__popc(odd) > 0), put(__popc(arm) < 33);
  const unsigned high = __ballot_sync(all, x < 0);
  put(x < 0 ? __ballot_sync(high, x & 16) : 0), put(high);
}

extern "C" __global__ void matches(const int* in /*[n]*/, unsigned* out /*[6, n]*/) {
  const int i = element(), n = gridDim.x * blockDim.x;
  const int x = in[i] & 7;
  const unsigned all = 0xffffffff;
  int same;
  Column<unsigned> put{out, n, i};
  put(__match_any_sync(all, x)), put(__match_any_sync(all, (unsigned long long)(x) << 33));
  put(__match_all_sync(all, x, &same)), put(same);
  put(__match_all_sync(all, blockIdx.x, &same)), put(same);
}

/// Sums, extremes and logic over a mask; a step of the instruction set later than sm_75 has an instruction
/// for it.
extern "C" __global__ void reductions(const int* in /*[n]*/, int* out /*[9, n]*/) {
  const int i = element(), n = gridDim.x * blockDim.x, lane = threadIdx.x % 32;
  const int x = in[i];
  Column<int> put{out, n, i};
#if __CUDA_ARCH__ >= 800
  const unsigned all = 0xffffffff, u = x;
  put(__reduce_add_sync(all, x)), put(__reduce_min_sync(all, x)), put(__reduce_max_sync(all, x));
  put(__reduce_min_sync(all, u)), put(__reduce_max_sync(all, u)), put(__reduce_and_sync(all, u | 5));
  put(__reduce_or_sync(all, u & 0x70)), put(__reduce_xor_sync(all, u));
  put(lane < 12 ? __reduce_add_sync(0xfff, x) : __reduce_add_sync(0xfffff000, u));
#else
  for (int k = 0; k < 9; ++k) put(lane + x);
#endif
}

/// Where a thread is: its indices, the grid's shape and the masks of its lane.
extern "C" __global__ void special_registers(unsigned* out /*[20, n]*/) {
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  Column<unsigned> put{out, int(threads * gridDim.x * gridDim.y * gridDim.z), int(block * threads + thread)};
  put(threadIdx.x), put(threadIdx.y), put(threadIdx.z), put(blockIdx.x), put(blockIdx.y), put(blockIdx.z);
  put(blockDim.x), put(blockDim.y), put(blockDim.z), put(gridDim.x), put(gridDim.y), put(gridDim.z),
      put(warpSize);
  unsigned d;
  asm("mov.u32 %0, %%laneid;" : "=r"(d));
  put(d);
  asm("mov.u32 %0, %%lanemask_eq;" : "=r"(d));
  put(d);
  asm("mov.u32 %0, %%lanemask_le;" : "=r"(d));
  put(d);
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(d));
  put(d);
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(d));
  put(d);
  asm("mov.u32 %0, %%lanemask_gt;" : "=r"(d));
  put(d);
  unsigned long long grid, warps;
  asm("mov.u64 %0, %%gridid;" : "=l"(grid));
  asm("{.reg .u32 w;\n\tmov.u32 w, %%nwarpid;\n\tcvt.u64.u32 %0, w;}" : "=l"(warps));
  put(grid == 0 || warps > 0);
}

/// Cooperative groups: tiles, coalesced threads, labelled and binary partitions, group reductions and scans.
extern "C" __global__ void groups(const int* in /*[n]*/, int* out /*[14, n]*/) {
  __shared__ int slots[256];
  const int i = element(), n = gridDim.x * blockDim.x;
  const int x = in[i];
  Column<int> put{out, n, i};
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<16>(block);
  put(tile.thread_rank()), put(tile.meta_group_rank()), put(tile.shfl_down(x, 3)), put(tile.any(x > 0)),
      put(tile.ballot(x & 1));
  put(cg::reduce(tile, x, cg::plus<int>())), put(cg::reduce(tile, x, cg::less<int>())),
      put(cg::inclusive_scan(tile, x));
  slots[block.thread_rank()] = x;
  tile.sync();
  put(slots[block.thread_rank() ^ 5]);
  block.sync();
  put(slots[block.num_threads() - 1 - block.thread_rank()]);
  const auto warp = cg::tiled_partition<32>(block);
  const auto part = cg::binary_partition(warp, (x & 1) != 0);
  put(part.num_threads()), put(part.shfl(x, 0));
  const auto label = cg::labeled_partition(warp, x & 3);
  put(cg::reduce(label, x, cg::bit_xor<int>()));
  if (x > 0) {
    const auto active = cg::coalesced_threads();
    active.sync();
    put(active.thread_rank() < active.num_threads());
  } else {
    put(2);
  }
}

/// Sums of a warp by shuffles, the last warp part full of elements. Blocks of whole warps.
extern "C" __global__ void warp_sums(const float* in /*[n]*/, float* out /*[(n + 31) / 32]*/, int n) {
  const int i = element();
  const unsigned mask = __ballot_sync(0xffffffff, i < n);
  if (i >= n) return;
  float x = in[i];
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_down_sync(mask, x, step);
    if (i + step < n && threadIdx.x % 32 + step < 32) x += other;
  }
  if (threadIdx.x % 32 == 0) out[i / 32] = x;
}

/// Lanes leave a loop one by one; who is left meets at __syncwarp.
extern "C" __global__ void collatz(const unsigned* in /*[n]*/, unsigned* steps /*[n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  unsigned long long x = in[i] % 100000 + 1;
  unsigned count = 0;
  while (x != 1) {
    x = x & 1 ? 3 * x + 1 : x / 2;
    ++count;
  }
  steps[i] = count;
}

/// Each lane's number passes through shared memory between two __syncwarp.
extern "C" __global__ void syncwarp(const int* in /*[n]*/, int* out /*[n]*/) {
  __shared__ int slots[256];
  const int t = threadIdx.x, i = element();
  slots[t] = in[i];
  __syncwarp();
  int x = slots[t ^ 1];
  __syncwarp();
  if (t % 32 < 16) {
    slots[t] = x;
    __syncwarp(0x0000ffff);
    x += slots[t / 16 * 16 + (t + 1) % 16];
  } else {
    slots[t] = -x;
    __syncwarp(0xffff0000);
    x -= slots[t / 16 * 16 + (t + 15) % 16];
  }
  out[i] = x;
}
