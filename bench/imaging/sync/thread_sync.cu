// ThreadSync (section 6.4.2): a block's region is as many voxels as it has threads, one layer of 8x8 or
// 16x16. All intermediates are in global memory, where the block's threads read each other's, with a barrier
// after each step; no shared memory, "to be consistent with" UnSync. The region is one voxel high, so that
// without a halo all z differences are 0: each layer is denoised as a picture by itself. The text leaves the
// region's height open; a block of 8x8 threads with a voxel each has no other.
#include "independent.cuh"

namespace bench {

template <int kSide>
struct ThreadSync {
  using T = Tile<kSide, kSide, 1>;
  static constexpr int kThreads = kSide * kSide;
  /// Floats of scratch a block: Figure 47's arrays, and one for the sum of the TV norm.
  static constexpr int kScratch = Intermediates::kArrays * T::kSize + kThreads;
};

template <int kSide, bool kCentred, bool kHalo, bool kOnlyP>
__device__ __forceinline__ void thread_sync(Problem problem, float* scratch) {
  using T = typename ThreadSync<kSide>::T;
  constexpr int kThreads = ThreadSync<kSide>::kThreads;
  const std::size_t block = (std::size_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  float* const base = scratch + block * ThreadSync<kSide>::kScratch;
  const auto array = [=](int k) { return base + k * T::kSize; };
  const Intermediates arrays{array(0), array(1), array(2), array(3),  array(4),  array(5), array(6),
                             array(7), array(8), array(9), array(10), array(11), array(12)};
  float* const sums = array(Intermediates::kArrays);

  const int tx = threadIdx.x, ty = threadIdx.y, thread = ty * kSide + tx;
  const int x0 = blockIdx.x * kSide, y0 = blockIdx.y * kSide, z0 = blockIdx.z;
  const int x = x0 + tx, y = y0 + ty, own = (T::kY + ty + 1) * T::kX + tx + 1;
  const bool inside = x < problem.nx && y < problem.ny;

  float p[6], tv_norms[6];
  for (int c = 0; c < 6; ++c) {
    curvature_steps<T, kCentred>(arrays, problem.tensors<kSide, kSide, 1, kHalo>(x0, y0, z0, c),
                                 problem.spacing, {x0 - 1, y0 - 1, z0 - 1, thread, kThreads}, BlockBarrier());
    p[c] = divergence<T, kCentred>(arrays, own, problem.spacing);
    sums[thread] = inside ? gradient_norm(arrays, own) : 0;
    for (int half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (thread < half) sums[thread] += sums[thread + half];
    }
    __syncthreads();
    tv_norms[c] = sums[0];
  }
  if (!inside) return;
  for (int c = 0; c < 6; ++c) p[c] *= tv_weight(tv_norms, c);
  const int voxel = (z0 * problem.ny + y) * problem.nx + x;
  if constexpr (kOnlyP)
    problem.store(voxel, p);
  else
    problem.update(voxel, p);
}

}  // namespace bench

// Launch: one block of 8x8 or 16x16 threads for each layer of as many voxels, extents rounded up.
// scratch: ThreadSync<side>::kScratch floats a block, no matter what is in it. Kernels named *_only_p leave P
// in `next`.
#define THREAD_SYNC(name, side, centred, halo, only_p)                             \
  extern "C" __global__ void __launch_bounds__((side) * (side))                    \
      name(INDEPENDENT_ARGUMENTS, float* scratch) {                                \
    bench::thread_sync<side, centred, halo, only_p>(INDEPENDENT_PROBLEM, scratch); \
  }
THREAD_SYNC(thread_sync_8x8, 8, false, false, false)
THREAD_SYNC(thread_sync_8x8_halo, 8, false, true, false)
THREAD_SYNC(thread_sync_8x8_centred, 8, true, false, false)
THREAD_SYNC(thread_sync_8x8_centred_halo, 8, true, true, false)
THREAD_SYNC(thread_sync_16x16, 16, false, false, false)
THREAD_SYNC(thread_sync_16x16_halo, 16, false, true, false)
THREAD_SYNC(thread_sync_16x16_centred, 16, true, false, false)
THREAD_SYNC(thread_sync_16x16_centred_halo, 16, true, true, false)
THREAD_SYNC(thread_sync_8x8_only_p, 8, false, false, true)
THREAD_SYNC(thread_sync_16x16_only_p, 16, false, false, true)
