// Atomic operations and reductions: every operation, width, scope and space.
// Launch: any grid; results do not depend on the order unless the kernel says so.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/atomic>

#include "column.cuh"

/// One counter an operation, all threads; results not used: reductions.
extern "C" __global__ void global_reductions_u32(const unsigned* in /*[n]*/, unsigned* out /*[10]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const unsigned x = in[i];
  atomicAdd(out + 0, x), atomicSub(out + 1, x), atomicMin(out + 2, x), atomicMax(out + 3, x),
      atomicAnd(out + 4, x);
  atomicOr(out + 5, x), atomicXor(out + 6, x), atomicInc(out + 7, 9u), atomicDec(out + 8, 9u);
  atomicMax(reinterpret_cast<int*>(out) + 9, int(x));
}

extern "C" __global__ void global_reductions_u64(const unsigned long long* in /*[n]*/,
                                                 unsigned long long* out /*[8]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const unsigned long long x = in[i];
  atomicAdd(out + 0, x), atomicMin(out + 1, x), atomicMax(out + 2, x), atomicAnd(out + 3, x),
      atomicOr(out + 4, x);
  atomicXor(out + 5, x), atomicMin(reinterpret_cast<long long*>(out) + 6, (long long)(x));
  atomicMax(reinterpret_cast<long long*>(out) + 7, (long long)(x));
}

/// The values that atomics return, each thread at a place of its own.
extern "C" __global__ void global_results(const unsigned* in /*[n]*/, unsigned* places /*[13, n]*/,
                                          unsigned* out /*[13, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const unsigned x = in[i];
  unsigned* place = places + i;
  Column<unsigned> put{out, n, i};
  put(atomicAdd(place, x)), place += n;
  put(atomicSub(place, x)), place += n;
  put(atomicExch(place, x)), place += n;
  put(atomicMin(place, x)), place += n;
  put(atomicMax(reinterpret_cast<int*>(place), int(x))), place += n;
  put(atomicAnd(place, x)), place += n;
  put(atomicOr(place, x)), place += n;
  put(atomicXor(place, x)), place += n;
  put(atomicInc(place, x)), place += n;
  put(atomicDec(place, x)), place += n;
  put(atomicCAS(place, *place, x)), place += n;
  put(atomicCAS(place, ~*place, x)), place += n;
  put(__float_as_uint(atomicExch(reinterpret_cast<float*>(place), float(x))));
}

/// The same in shared memory, 64 bits as well.
extern "C" __global__ void shared_results(const unsigned* in /*[gridDim.x * blockDim.x]*/,
                                          unsigned* out /*[8, n]*/, unsigned long long* wide /*[5, n]*/) {
  __shared__ unsigned sum, bits, ring;
  __shared__ int least;
  __shared__ unsigned own[256];
  __shared__ unsigned long long total, most, pair[256];
  const int t = threadIdx.x, i = element(), n = gridDim.x * blockDim.x;
  const unsigned x = in[i];
  if (t == 0) sum = 0, bits = 0, ring = 0, least = 0x7fffffff, total = 0, most = 0;
  own[t] = x * 3, pair[t] = x;
  __syncthreads();
  atomicAdd(&sum, x), atomicXor(&bits, x), atomicInc(&ring, 12), atomicMin(&least, int(x));
  atomicAdd(&total, (unsigned long long)(x) << 12), atomicMax(&most, (unsigned long long)(x) << 7);
  __syncthreads();
  Column<unsigned> put{out, n, i};
  put(sum), put(bits), put(ring), put(least);
  put(atomicAdd(own + t, 5)), put(atomicExch(own + t, x)), put(atomicCAS(own + t, x, 1)),
      put(atomicMax(own + t, x));
  Column<unsigned long long> put_wide{wide, n, i};
  put_wide(total), put_wide(most), put_wide(atomicAdd(pair + t, 1ull << 40)),
      put_wide(atomicCAS(pair + t, 0ull, 3ull));
  put_wide(atomicExch(pair + t, 7ull));
}

/// Whole numbers as floating-point: their sums are exact, in any order.
extern "C" __global__ void float_sums(const int* in /*[n]*/, float* sum32 /*[2]*/, double* sum64 /*[2]*/,
                                      __half2* sum16 /*[2]*/, __half* single16 /*[1]*/, int n) {
  __shared__ float block32;
  __shared__ double block64;
  __shared__ __half2 block16;
  const int i = element();
  const int x = i < n ? in[i] : 0;
  if (threadIdx.x == 0) block32 = 0, block64 = 0, block16 = __float2half2_rn(0);
  __syncthreads();
  atomicAdd(&block32, float(x)), atomicAdd(&block64, double(x)),
      atomicAdd(&block16, __floats2half2_rn(float(x & 1), 1));
  atomicAdd(sum32, float(x)), atomicAdd(sum64, double(x)),
      atomicAdd(sum16, __floats2half2_rn(float(x & 1), float(x & 2)));
  atomicAdd(single16, __float2half(float(x & 1)));
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(sum32 + 1, block32), atomicAdd(sum64 + 1, block64);
    atomicAdd(sum16 + 1, block16);
  }
}
/// Before sm_90 the toolkit's header makes these of a compare-and-swap loop that reads the sum without
/// volatile first: a race if two threads add to one sum.
extern "C" __global__ void bfloat_sums(const int* in /*[n]*/, __nv_bfloat162* sums /*[n]*/,
                                       __nv_bfloat16* singles /*[n]*/, int n) {
  const int i = element();
  if (i >= n) return;
#if __CUDA_ARCH__ >= 900
  const int place = 0;
#else
  const int place = i;
#endif
  atomicAdd(sums + place, __floats2bfloat162_rn(float(in[i] & 1), 1));
  atomicAdd(singles + place, __float2bfloat16(float(in[i] & 1)));
}

/// Sums of arbitrary numbers: the last bits depend on the order.
extern "C" __global__ void rounded_sums(const float* in /*[n]*/, float* sum32 /*[1]*/, double* sum64 /*[1]*/,
                                        int n) {
  const int i = element();
  if (i >= n) return;
  atomicAdd(sum32, in[i]);
  atomicAdd(sum64, double(in[i]) * in[i]);
}

/// A maximum of floats and a product modulo 2^32 by loops of compare-and-swap, in global and shared memory.
extern "C" __global__ void compare_and_swap_loops(const float* in /*[n]*/, float* most /*[1]*/,
                                                  unsigned* product /*[1]*/,
                                                  unsigned short* half_words /*[8]*/, int n) {
  __shared__ unsigned block;
  const int i = element();
  if (threadIdx.x == 0) block = __float_as_uint(-1);
  __syncthreads();
  if (i < n) {
    unsigned seen = *(volatile unsigned*)&block;
    while (__uint_as_float(seen) < in[i]) {
      const unsigned before = atomicCAS(&block, seen, __float_as_uint(in[i]));
      if (before == seen) break;
      seen = before;
    }
    unsigned now = *(volatile unsigned*)product, then;
    do {
      then = now;
      now = atomicCAS(product, then, then * (2 * i + 1));
    } while (now != then);
    unsigned short old = *(volatile unsigned short*)(half_words + i % 8), expected;
    do {
      expected = old;
      old = atomicCAS(half_words + i % 8, expected, (unsigned short)(expected + i));
    } while (old != expected);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned* word = reinterpret_cast<unsigned*>(most);
    unsigned seen = *(volatile unsigned*)word;
    while (__uint_as_float(seen) < __uint_as_float(block)) {
      const unsigned before = atomicCAS(word, seen, block);
      if (before == seen) break;
      seen = before;
    }
  }
}

/// Reductions by name, which nvcc writes as atomics whose result nobody reads; pairs of floats from sm_90 on.
extern "C" __global__ void plain_reductions(const unsigned* in /*[n]*/, unsigned* out /*[5 + gridDim.x]*/,
                                            unsigned long long* wide /*[1]*/, float2* pairs /*[1]*/, int n) {
  __shared__ unsigned block;
  const int i = element();
  if (threadIdx.x == 0) block = 0;
  __syncthreads();
  if (i < n) {
    const unsigned x = in[i];
    asm volatile("red.global.add.u32 [%0], %1;" ::"l"(out), "r"(x) : "memory");
    asm volatile("red.relaxed.gpu.global.max.s32 [%0], %1;" ::"l"(out + 1), "r"(x) : "memory");
    asm volatile("red.global.cta.xor.b32 [%0], %1;" ::"l"(out + 5 + blockIdx.x), "r"(x) : "memory");
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(out + 3), "f"(float(x & 7)) : "memory");
    asm volatile("red.add.u64 [%0], %1;" ::"l"(wide), "l"((unsigned long long)(x)) : "memory");
    asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(unsigned(__cvta_generic_to_shared(&block))), "r"(x)
                 : "memory");
#if __CUDA_ARCH__ >= 900
    atomicAdd(pairs, make_float2(float(x & 3), 1));
#else
    atomicAdd(&pairs->x, float(x & 3)), atomicAdd(&pairs->y, 1);
#endif
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicOr(out + 4, block);
}

/// Narrower and wider scopes than the device's.
extern "C" __global__ void scopes(const unsigned* in /*[n]*/, unsigned* counts /*[gridDim.x + 2]*/, int n) {
  const int i = element();
  if (i >= n) return;
  atomicAdd_block(counts + blockIdx.x, in[i]);
  atomicAdd_system(counts + gridDim.x, in[i]);
  if (atomicMax_system(counts + gridDim.x + 1, in[i]) == 0xffffffff) counts[0] = 0;
}

/// cuda::atomic_ref: orders and scopes as the C++ library spells them.
extern "C" __global__ void atomic_refs(const unsigned* in /*[n]*/, unsigned* out /*[6]*/, int n) {
  const int i = element();
  if (i >= n) return;
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> sum(out[0]), last(out[1]), tickets(out[2]);
  cuda::atomic_ref<unsigned, cuda::thread_scope_system> bits(out[3]);
  sum.fetch_add(in[i], cuda::memory_order_relaxed);
  bits.fetch_xor(in[i], cuda::memory_order_acq_rel);
  const unsigned ticket = tickets.fetch_add(1, cuda::memory_order_seq_cst);
  unsigned expected = last.load(cuda::memory_order_acquire);
  while (expected < ticket && !last.compare_exchange_weak(expected, ticket, cuda::memory_order_release,
                                                          cuda::memory_order_relaxed)) {
  }
  if (i == 0)
    cuda::atomic_ref<unsigned, cuda::thread_scope_block>(out[4]).store(5, cuda::memory_order_release);
}
