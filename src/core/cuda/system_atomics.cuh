#pragma once

/// Words by which GPUs tell each other what is done: as load_acquire() and store_release() of
/// device_atomics.cuh, among the threads of all GPUs and processors of the system. The word may lie in the
/// memory of a peer. Source: PTX ISA, "Memory Consistency Model"; from sm_70 on.

#include <cstdint>

namespace warploom {

/// Comes before all that follows it. Empties the L1.
__device__ inline unsigned load_acquire_system(const unsigned* from) {
  unsigned word;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];"
               : "=r"(word)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return word;
}

/// Comes after all that precedes it: of its thread, and of those with which it has met at a barrier of the
/// block.
__device__ inline void store_release_system(unsigned* to, unsigned word) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "r"(word)
               : "memory");
}

}  // namespace warploom
