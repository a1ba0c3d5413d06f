#pragma once

/// Loads, stores and fences of the PTX memory model, among all threads of a GPU: what CUDA C++ has no words
/// for without `volatile`, whose scope is the whole system. Words lie in global memory. Read-modify-write
/// operations are CUDA's own, atomicAdd() and the like, which are relaxed at the same scope.
///
/// What a thread does before a release is visible to a thread that acquires the word released or, by
/// read-modify-write operations, a later value of it. A barrier of the block on both sides extends this to
/// all their threads. Source: PTX ISA, "Memory Consistency Model"; from sm_70 on.

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace warploom {

template <class T>
concept DeviceWord = (sizeof(T) == 4 || sizeof(T) == 8) && std::integral<T>;

/// Neither torn nor kept in a register; orders nothing.
template <DeviceWord T>
__device__ T load_relaxed(const T* from) {
  T word;
  if constexpr (sizeof(T) == 4) {
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                 : "=r"(word)
                 : "l"(__cvta_generic_to_global(from))
                 : "memory");
  } else {
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                 : "=l"(word)
                 : "l"(__cvta_generic_to_global(from))
                 : "memory");
  }
  return word;
}

/// The same as load_relaxed(), and what else is in the 128 bytes around comes into the L2.
__device__ inline std::uint64_t load_relaxed_of_line(const std::uint64_t* from) {
  std::uint64_t word;
  asm volatile("ld.relaxed.gpu.global.L2::128B.u64 %0, [%1];"
               : "=l"(word)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return word;
}

struct TwoWords {
  std::uint64_t first, second;
};

/// Two words, aligned to 16 bytes: each as load_relaxed(), in no order.
__device__ inline TwoWords load_relaxed_two(const std::uint64_t* from) {
  TwoWords two;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(two.first), "=l"(two.second)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return two;
}

/// Comes before all that follows it. Empties the L1.
template <DeviceWord T>
__device__ T load_acquire(const T* from) {
  T word;
  if constexpr (sizeof(T) == 4) {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(word)
                 : "l"(__cvta_generic_to_global(from))
                 : "memory");
  } else {
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];"
                 : "=l"(word)
                 : "l"(__cvta_generic_to_global(from))
                 : "memory");
  }
  return word;
}

/// Not torn; orders nothing.
template <DeviceWord T>
__device__ void store_relaxed(T* to, std::type_identity_t<T> word) {
  if constexpr (sizeof(T) == 4) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "r"(word)
                 : "memory");
  } else {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "l"(word)
                 : "memory");
  }
}

/// Comes after all that precedes it.
template <DeviceWord T>
__device__ void store_release(T* to, std::type_identity_t<T> word) {
  if constexpr (sizeof(T) == 4) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "r"(word)
                 : "memory");
  } else {
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "l"(word)
                 : "memory");
  }
}

/// Read-modify-write operations that come before all that follows them. They return what was there before.
__device__ inline std::uint64_t compare_exchange_acquire(std::uint64_t* word, std::uint64_t expected,
                                                         std::uint64_t desired) {
  std::uint64_t before;
  asm volatile("atom.acquire.gpu.global.cas.b64 %0, [%1], %2, %3;"
               : "=l"(before)
               : "l"(__cvta_generic_to_global(word)), "l"(expected), "l"(desired)
               : "memory");
  return before;
}
__device__ inline std::uint64_t fetch_or_acquire(std::uint64_t* word, std::uint64_t operand) {
  std::uint64_t before;
  asm volatile("atom.acquire.gpu.global.or.b64 %0, [%1], %2;"
               : "=l"(before)
               : "l"(__cvta_generic_to_global(word)), "l"(operand)
               : "memory");
  return before;
}

/// Makes the relaxed and atomic accesses after it release, those before it acquire. Cheaper than
/// __threadfence(), which is fence_sc().
__device__ inline void fence_acq_rel() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// One half of that each. Since PTX 8.6, on sm_90: before, the whole.
#if __CUDA_ARCH__ >= 900 && \
    (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 8))
/// Makes the relaxed and atomic accesses before it acquire. Waits for loads alone; empties the L1.
__device__ inline void fence_acquire() { asm volatile("fence.acquire.gpu;" ::: "memory"); }
/// Makes the relaxed and atomic accesses after it release. Leaves the L1 as it is.
__device__ inline void fence_release() { asm volatile("fence.release.gpu;" ::: "memory"); }
#else
__device__ inline void fence_acquire() { fence_acq_rel(); }
__device__ inline void fence_release() { fence_acq_rel(); }
#endif

/// Besides, all fences of this kind have one order: for two threads that each store, fence and load what the
/// other stores, of which one must see the other's.
__device__ inline void fence_sc() { asm volatile("fence.sc.gpu;" ::: "memory"); }

}  // namespace warploom
