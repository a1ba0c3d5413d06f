// UnSync (section 6.4.2): a thread's region is a sub-block of 2x2x2 voxels, padded to 4x4x4, with the
// intermediates in its own local memory: no thread waits for another. The TV norms are those of eight voxels.
#include "independent.cuh"

namespace bench {

constexpr int kSub = 2;

template <bool kCentred, bool kHalo, bool kOnlyP>
__device__ __forceinline__ void un_sync(Problem problem) {
  using T = Tile<kSub, kSub, kSub>;
  const int x0 = kSub * (blockIdx.x * blockDim.x + threadIdx.x),
            y0 = kSub * (blockIdx.y * blockDim.y + threadIdx.y), z0 = kSub * blockIdx.z;
  if (x0 >= problem.nx || y0 >= problem.ny) return;

  float storage[Intermediates::kArrays][T::kSize];
  const Intermediates arrays{storage[0],  storage[1],  storage[2], storage[3], storage[4],
                             storage[5],  storage[6],  storage[7], storage[8], storage[9],
                             storage[10], storage[11], storage[12]};
  float p[kSub * kSub * kSub][6], tv_norms[6];
  const auto each_voxel = [&](auto use) {
    for (int i = 0; i < kSub * kSub * kSub; ++i) {
      const int dx = i % kSub, dy = i / kSub % kSub, dz = i / (kSub * kSub);
      if (x0 + dx < problem.nx && y0 + dy < problem.ny && z0 + dz < problem.nz) use(i, dx, dy, dz);
    }
  };
  for (int c = 0; c < 6; ++c) {
    curvature_steps<T, kCentred>(arrays, problem.tensors<kSub, kSub, kSub, kHalo>(x0, y0, z0, c),
                                 problem.spacing, {x0 - 1, y0 - 1, z0 - 1, 0, 1}, NoBarrier());
    tv_norms[c] = 0;
    each_voxel([&](int i, int dx, int dy, int dz) {
      const int own = ((dz + 1) * T::kY + dy + 1) * T::kX + dx + 1;
      p[i][c] = divergence<T, kCentred>(arrays, own, problem.spacing);
      tv_norms[c] += gradient_norm(arrays, own);
    });
  }
  each_voxel([&](int i, int dx, int dy, int dz) {
    for (int c = 0; c < 6; ++c) p[i][c] *= tv_weight(tv_norms, c);
    const int voxel = ((z0 + dz) * problem.ny + y0 + dy) * problem.nx + x0 + dx;
    if constexpr (kOnlyP)
      problem.store(voxel, p[i]);
    else
      problem.update(voxel, p[i]);
  });
}

}  // namespace bench

// Launch: blocks of 8x8 or 16x16 threads, each thread 2x2x2 voxels, extents rounded up. un_sync_only_p leaves
// P in `next`.
#define UN_SYNC(name, centred, halo, only_p)                                      \
  extern "C" __global__ void __launch_bounds__(256) name(INDEPENDENT_ARGUMENTS) { \
    bench::un_sync<centred, halo, only_p>(INDEPENDENT_PROBLEM);                   \
  }
UN_SYNC(un_sync, false, false, false)
UN_SYNC(un_sync_halo, false, true, false)
UN_SYNC(un_sync_centred, true, false, false)
UN_SYNC(un_sync_centred_halo, true, true, false)
UN_SYNC(un_sync_only_p, false, false, true)
