#pragma once

/// Sums over windows of 5 voxels along each axis, of which only what a thread needs stays in registers, and
/// whose planes are on their way while those before them are summed.

#include <cuda_pipeline_primitives.h>

#include "greedy_kernels.hpp"

namespace warploom::registration {

/// Of eight values, the four sums over five of them in a row. All are sums of their own values alone: running
/// ones would carry their rounding along.
__device__ inline float4 sums_of_five(const float (&v)[8]) {
  const float two = v[3] + v[4], before = v[2] + two, behind = two + v[5];
  return {(v[0] + v[1]) + before, (v[1] + before) + v[5], before + (v[5] + v[6]), behind + (v[6] + v[7])};
}

/// The sums over five planes of which one, two, three and four have come. Each plane is added to all, and so
/// none has to be kept or moved.
struct FivePlanes {
  float part[4] = {};
  /// @return the sum over v and the four planes before it
  __device__ float push(float v) {
    const float sum = part[0] + v;
#pragma unroll
    for (int k = 0; k < 3; ++k) part[k] = part[k + 1] + v;
    part[3] = v;
    return sum;
  }
};

/// Eight values of a row in shared memory, from two before `at` on, which is a multiple of four.
__device__ inline void load_row(const float* at, float (&v)[8]) {
  const auto* from = reinterpret_cast<const float4*>(at - 4);
  const float4 a = from[0], b = from[1], c = from[2];
  v[0] = a.z, v[1] = a.w, v[2] = b.x, v[3] = b.y, v[4] = b.z, v[5] = b.w, v[6] = c.x, v[7] = c.y;
}

/// Planes of a tile of arrays [nz, ny, nx] and of what is around it, two voxels along y and, so that four
/// values are copied at a time, four along x: to shared memory, beside other work. Beyond the border is 0.
class TileCopies {
 public:
  __device__ TileCopies(const DeviceGrid& grid, int x0, int y0) : grid_(grid) {
    // One place a thread. The block's first threads sum along x, and so its last ones copy.
    constexpr int kQuads = kStagedWidth / 4;
    const int place = kTileThreads - 1 - static_cast<int>(threadIdx.x), line = place / kQuads;
    mine_ = line < kStagedHeight;
    x_ = x0 - 4 + place % kQuads * 4, y_ = y0 - 2 + line, to_ = 4 * place;
  }
  /// Of kArrays arrays, one after the other in either memory.
  template <int kArrays>
  __device__ void begin(const float* arrays, int z, float* shared) const {
    if (!mine_) return;
    const bool row = z >= 0 && z < grid_.nz && y_ >= 0 && y_ < grid_.ny;
    if (grid_.nx % 4 == 0) {
      copy<kArrays, 4>(arrays, row, 0, z, shared);
    } else if (grid_.nx % 2 == 0) {
      for (int i = 0; i < 4; i += 2) copy<kArrays, 2>(arrays, row, i, z, shared);
    } else {
#pragma unroll 1
      for (int i = 0; i < 4; ++i) copy<kArrays, 1>(arrays, row, i, z, shared);
    }
  }
  /// Until what this thread began is there; after a barrier all is.
  __device__ static void wait() { __pipeline_commit(), __pipeline_wait_prior(0); }

 private:
  template <int kArrays, int kValues>
  __device__ void copy(const float* arrays, bool row, int i, int z, float* shared) const {
    constexpr int kBytes = kValues * sizeof(float);
    const bool there = row && x_ + i >= 0 && x_ + i < grid_.nx;
    const float* from = arrays + (there ? grid_.at(x_ + i, y_, z) : 0);
#pragma unroll
    for (int k = 0; k < kArrays; ++k)
      __pipeline_memcpy_async(shared + k * kStagedPlane + to_ + i, from + k * grid_.voxels(), kBytes,
                              there ? 0 : kBytes);
  }

  const DeviceGrid& grid_;
  bool mine_;
  int x_, y_, to_;
};

/// Where a plane of both images is in shared memory: a plane, the next, and one that is on its way.
__device__ inline int staged_image(int z) { return (z + kStagedImages) % kStagedImages * 2 * kStagedPlane; }

/// A block goes through planes [z_from, z_to) of its tile of 32 x kTileHeight voxels, and two more on either
/// side. Each plane is summed along x, four voxels at a time, then along y, two voxels at a time, both from
/// shared memory, and along z in registers. The next plane is copied meanwhile.
///
/// A Pass has kFiles arrays, from files() on, and five sums:
///   sum_rows(from, to)          sums along x of four voxels at `from` in each array's staged plane,
///                               kStagedPlane apart, to kSummedPlane apart from `to` on
///   use(x, y, z, sums)          once for each voxel of the tile; or, with kImages,
///   use(x, y, z, sums, here, above, below)
/// where the voxel is in the fixed image's staged plane, and in the next one, the moving image's planes being
/// kStagedPlane farther on, and what both images are in the plane before.
template <class Pass>
__device__ void for_windows_of_five(Pass& pass, const DeviceGrid& grid, const int z_from, const int z_to) {
  constexpr int kReach = 2, kSums = 5, kDown = 2, kQuads = kTileWidth / 4;
  constexpr int kPlane = Pass::kFiles * kStagedPlane;
  static_assert(kTileHeight / kDown * kTileWidth == kTileThreads);
  extern __shared__ float4 aligned[];
  float* const staged = reinterpret_cast<float*>(aligned);  // [2, kFiles, kStagedHeight, kStagedWidth]
  float* const rows = staged + 2 * kPlane;                  // [kSums, kStagedHeight, kTileWidth]
  float* const images = rows + kSums * kSummedPlane;        // with kImages
  const int thread = static_cast<int>(threadIdx.x);
  const int x0 = static_cast<int>(blockIdx.x) * kTileWidth, y0 = static_cast<int>(blockIdx.y) * kTileHeight;
  const int column = thread % kTileWidth, row = thread / kTileWidth * kDown, x = x0 + column, y = y0 + row;

  const TileCopies copies(grid, x0, y0);
  const auto begin = [&](int z) {
    copies.begin<Pass::kFiles>(pass.files(), z, staged + (z & 1) * kPlane);
    if constexpr (Pass::kImages) copies.begin<2>(pass.images(), z - 1, images + staged_image(z - 1));
  };
  begin(z_from - kReach);
  FivePlanes planes[kDown][kSums];
  float below[kDown][2] = {};
#pragma unroll 1
  for (int z = z_from - kReach; z < z_to + kReach; ++z) {
    TileCopies::wait();
    __syncthreads();  // the plane is there, and what the one before left is read no more
    if (z + 1 < z_to + kReach) begin(z + 1);
    if (thread < kStagedHeight * kQuads) {
      const int line = thread / kQuads, first = thread % kQuads * 4;
      pass.sum_rows(staged + (z & 1) * kPlane + line * kStagedWidth + 4 + first,
                    rows + line * kTileWidth + first);
    }
    __syncthreads();  // rows are summed along x

    float sums[kDown][kSums];
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
      const float* from = rows + s * kSummedPlane + row * kTileWidth + column;
      float v[6];
#pragma unroll
      for (int k = 0; k < 6; ++k) v[k] = from[k * kTileWidth];
      const float common = (v[1] + v[2]) + (v[3] + v[4]);
      sums[0][s] = planes[0][s].push(v[0] + common), sums[1][s] = planes[1][s].push(common + v[5]);
    }
    const int whole = z - kReach;
    if constexpr (Pass::kImages) {
      if (whole + 1 < z_from) continue;
#pragma unroll
      for (int j = 0; j < kDown; ++j) {
        const int voxel = (row + j + kReach) * kStagedWidth + 4 + column;
        const float *here = images + staged_image(whole) + voxel,
                    *above = images + staged_image(whole + 1) + voxel;
        if (whole >= z_from && x < grid.nx && y + j < grid.ny)
          pass.use(x, y + j, whole, sums[j], here, above, below[j]);
        below[j][0] = here[0], below[j][1] = here[kStagedPlane];
      }
    } else {
      if (whole < z_from || x >= grid.nx) continue;
#pragma unroll
      for (int j = 0; j < kDown; ++j)
        if (y + j < grid.ny) pass.use(x, y + j, whole, sums[j]);
    }
  }
}

}  // namespace warploom::registration
