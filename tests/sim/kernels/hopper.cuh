// What kernels of compute capability 9.0 are made of: mbarriers, fences, matrix descriptors, lists of
// registers.
#pragma once

#include <cstdint>

namespace {

__device__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ void init_barrier(std::uint64_t* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;\nfence.mbarrier_init.release.cluster;" ::"r"(
                   shared_address(barrier)),
               "r"(arrivals)
               : "memory");
}
__device__ void arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ void expect(std::uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}
__device__ void wait_for(std::uint64_t* barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra WAIT;\n}" ::"r"(
          shared_address(barrier)),
      "r"(parity)
      : "memory");
}

__device__ std::uint64_t descriptor(const void* tile, unsigned offset, unsigned leading, unsigned stride,
                                    unsigned layout) {
  const std::uint64_t at = shared_address(tile) + offset;
  return (at & 0x3ffff) >> 4 | std::uint64_t{leading >> 4} << 16 | std::uint64_t{stride >> 4} << 32 |
         std::uint64_t{layout} << 62;
}
__device__ void warpgroup_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void warpgroup_commit_and_wait() {
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
}

__device__ void publish() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}

}  // namespace

#define WARPLOOM_LIST_8 "{%0,%1,%2,%3,%4,%5,%6,%7}"
#define WARPLOOM_LIST_4 "{%0,%1,%2,%3}"
#define WARPLOOM_LIST_2 "{%0,%1}"
#define WARPLOOM_HELD_2(c) "+" c(d[0]), "+" c(d[1])
#define WARPLOOM_HELD_4(c) WARPLOOM_HELD_2(c), "+" c(d[2]), "+" c(d[3])
#define WARPLOOM_HELD_8(c) WARPLOOM_HELD_4(c), "+" c(d[4]), "+" c(d[5]), "+" c(d[6]), "+" c(d[7])
#define WARPLOOM_LIST_32 \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}"
#define WARPLOOM_HELD_32(c)                                                                             \
  WARPLOOM_HELD_8(c), "+" c(d[8]), "+" c(d[9]), "+" c(d[10]), "+" c(d[11]), "+" c(d[12]), "+" c(d[13]), \
      "+" c(d[14]), "+" c(d[15]), "+" c(d[16]), "+" c(d[17]), "+" c(d[18]), "+" c(d[19]), "+" c(d[20]), \
      "+" c(d[21]), "+" c(d[22]), "+" c(d[23]), "+" c(d[24]), "+" c(d[25]), "+" c(d[26]), "+" c(d[27]), \
      "+" c(d[28]), "+" c(d[29]), "+" c(d[30]), "+" c(d[31])
