// A product of matrices as kernels of compute capability 9.0 make it: one warpgroup brings tiles by bulk
// copies of tensors through a ring of stages, another multiplies them by wgmma, and a bulk copy takes the
// result away.
#include <cuda.h>

#include "hopper.cuh"

namespace {

constexpr int kTile = 64, kStages = 3;  // tiles of 64 x 64 elements
constexpr unsigned kTileBytes = kTile * kTile * 2;

struct Shared {
  alignas(1024) unsigned char a[kStages][kTileBytes], b[kStages][kTileBytes];
  alignas(128) float c[kTile][kTile];
  std::uint64_t full[kStages], empty[kStages];
};

__device__ void load(unsigned char* to, const CUtensorMap* map, int x, int y, std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y)
      : "memory");
}

__device__ void produce(Shared& s, const CUtensorMap* a, const CUtensorMap* b, int steps) {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  if (threadIdx.x != 0) return;
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    wait_for(&s.empty[stage], (step / kStages & 1) ^ 1);
    expect(&s.full[stage], 2 * kTileBytes);
    load(s.a[stage], a, step * kTile, blockIdx.y * kTile, &s.full[stage]);
    load(s.b[stage], b, step * kTile, blockIdx.x * kTile, &s.full[stage]);
  }
}

__device__ void consume(Shared& s, const CUtensorMap* c, int steps) {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 152;");
  float d[32] = {};
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    wait_for(&s.full[stage], step / kStages & 1);
    warpgroup_fence();
    for (int k = 0; k < 4; ++k)
      asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " WARPLOOM_LIST_32
                   ", %32, %33, 1, 1, 1, 0, 0;"
                   : WARPLOOM_HELD_32("f")
                   : "l"(descriptor(s.a[stage], 32 * k, 16, 1024, 1)),
                     "l"(descriptor(s.b[stage], 32 * k, 16, 1024, 1)));
    warpgroup_commit_and_wait();
    if (threadIdx.x % 128 == 0) arrive(&s.empty[stage]);
  }
  const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  for (int i = 0; i < 32; ++i)
    s.c[16 * warp + lane / 4 + 8 * (i / 2 % 2)][8 * (i / 4) + 2 * (lane % 4) + i % 2] = d[i];
  asm volatile("fence.proxy.async.shared::cta;\nbar.sync 1, 128;" ::: "memory");
  if (threadIdx.x % 128 != 0) return;
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%1, {%2, %3}], [%0];\ncp.async.bulk.commit_group;\n"
      "cp.async.bulk.wait_group 0;" ::"r"(shared_address(s.c)),
      "l"(c), "r"(static_cast<int>(blockIdx.x) * kTile), "r"(static_cast<int>(blockIdx.y) * kTile)
      : "memory");
}

}  // namespace

/// C (m x n) = A (m x k) B (n x k)^T, a block 64 x 64 elements of C.
extern "C" __global__ void __launch_bounds__(256, 1)
    gemm_warp_specialised(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                          const __grid_constant__ CUtensorMap c, int k) {
  extern __shared__ unsigned char memory[];
  Shared& s = *reinterpret_cast<Shared*>(memory + (-shared_address(memory) & 1023));
  if (threadIdx.x == 0)
    for (int stage = 0; stage < kStages; ++stage)
      init_barrier(&s.full[stage], 1), init_barrier(&s.empty[stage], 1);
  __syncthreads();
  const int steps = (k + kTile - 1) / kTile;
  if (threadIdx.x < 128)
    produce(s, &a, &b, steps);
  else
    consume(s, &c, steps);
}
