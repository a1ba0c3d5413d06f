#pragma once

/// Sums over windows of 5 voxels along each axis, of which only what a thread needs stays in registers.

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

/// A row's values x to x + 7 at a place that may be beyond the border, where they are 0.
class RowReader {
 public:
  __device__ explicit RowReader(const DeviceGrid& grid) : nx_(grid.nx), quads_(grid.nx % 4 == 0) {}
  /// @param row  the row's start; not read unless `there`
  /// @param x    2 below a multiple of 4
  __device__ void read(const float* row, bool there, int x, float (&v)[8]) const {
    if (quads_) {
      const auto quad = [&](int at) {
        return there && at >= 0 && at < nx_ ? *reinterpret_cast<const float4*>(row + at)
                                            : make_float4(0, 0, 0, 0);
      };
      const float4 a = quad(x - 2), b = quad(x + 2), c = quad(x + 6);
      v[0] = a.z, v[1] = a.w, v[2] = b.x, v[3] = b.y, v[4] = b.z, v[5] = b.w, v[6] = c.x, v[7] = c.y;
      return;
    }
    if (there && x >= 0 && x + 8 <= nx_) {
#pragma unroll
      for (int k = 0; k < 8; ++k) v[k] = row[x + k];
      return;
    }
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = there && x + k >= 0 && x + k < nx_ ? row[x + k] : 0.0F;
  }

 private:
  int nx_;
  bool quads_;
};

/// A block goes through planes [z_from, z_to) of its tile of 32 x kTileHeight voxels, and two more on either
/// side. Each plane is summed along x as it is read, four voxels at a time, along y from shared memory, two
/// voxels at a time, and along z in registers. Two planes' sums along x are in shared memory, so that one
/// barrier a plane does.
///
/// A Pass has kFiles groups of sums that are read together, kEach sums each, five in all:
///   read(reader, file, row, there, x, sums)   sums along x of four voxels of a row, from x on, x a multiple
///                                             of 4; `row` is where the row starts, in the grid, if it is
///                                             there
///   use(x, y, z, sums)                        once for each voxel of the tile
template <class Pass>
__device__ void for_windows_of_five(Pass& pass, const DeviceGrid& grid, const int z_from, const int z_to) {
  constexpr int kReach = 2, kHigh = kTileHeight + 2 * kReach, kSums = 5, kDown = 2, kQuads = kTileWidth / 4;
  constexpr int kItems = Pass::kFiles * kHigh * kQuads, kPlane = kSums * kHigh * kTileWidth;
  static_assert(kTileHeight / kDown * kTileWidth == kTileThreads);
  extern __shared__ float4 aligned[];
  float* const shared = reinterpret_cast<float*>(aligned);  // [2, kSums, kHigh, kTileWidth]
  const int thread = static_cast<int>(threadIdx.x);
  const int x0 = static_cast<int>(blockIdx.x) * kTileWidth, y0 = static_cast<int>(blockIdx.y) * kTileHeight;
  const int column = thread % kTileWidth, row = thread / kTileWidth * kDown, x = x0 + column, y = y0 + row;

  const RowReader reader(grid);
  FivePlanes planes[kDown][kSums];
#pragma unroll 1
  for (int z = z_from - kReach; z < z_to + kReach; ++z) {
    float* const rows = shared + (z & 1) * kPlane;
#pragma unroll 2  // in flight at a time
    for (int first = 0; first < kItems; first += kTileThreads) {
      const int item = first + thread;
      if (item >= kItems) continue;
      const int quad = item % kQuads, line = item / kQuads % kHigh, file = item / kQuads / kHigh;
      const int at = y0 - kReach + line;
      const bool there = at >= 0 && at < grid.ny && z >= 0 && z < grid.nz;
      float4 sums[Pass::kEach];
      pass.read(reader, file, grid.at(0, at, z), there, x0 + 4 * quad, sums);
#pragma unroll
      for (int s = 0; s < Pass::kEach; ++s)
        *reinterpret_cast<float4*>(rows + ((file * Pass::kEach + s) * kHigh + line) * kTileWidth + 4 * quad) =
            sums[s];
    }
    __syncthreads();  // the plane is whole; the one before is read no more after the next barrier

    float sums[kDown][kSums];
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
      const float* from = rows + (s * kHigh + row) * kTileWidth + column;
      float v[6];
#pragma unroll
      for (int k = 0; k < 6; ++k) v[k] = from[k * kTileWidth];
      const float common = (v[1] + v[2]) + (v[3] + v[4]);
      sums[0][s] = planes[0][s].push(v[0] + common), sums[1][s] = planes[1][s].push(common + v[5]);
    }
    if (z - kReach < z_from || x >= grid.nx) continue;
#pragma unroll
    for (int j = 0; j < kDown; ++j)
      if (y + j < grid.ny) pass.use(x, y + j, z - kReach, sums[j]);
  }
}

}  // namespace warploom::registration
