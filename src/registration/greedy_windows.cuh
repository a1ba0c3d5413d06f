#pragma once

/// Sums over windows in one pass over memory, on a GPU.

#include "greedy_kernels.hpp"

namespace warploom::registration {

/// A radius that is known only when the kernel runs.
inline constexpr int kAnyRadius = -1;

/// A block goes through planes [z_from, z_to) of its tile. Each thread keeps the last 2 radius + 1 planes of
/// a few of the tile's columns, and of those around, in registers and sums along z; from shared memory these
/// sums are summed along y, then along x, in the order of the CPU's loops and as those anew for each voxel.
/// The next plane is on its way meanwhile. With kAnyRadius all planes of a window are read again.
///
/// A Pass has tiles of kHeight rows, kValues values a voxel and kSums sums of them:
///   read(x, y, z, values)   also beyond the border
///   add(values, k, sums)    the k-th plane of a window
///   weight(axis, k)         of the k-th voxel of a window along x (0) or y (1)
///   use(x, y, z, sums)      once for each voxel of the tile
template <int kRadius, class Pass>
__device__ void for_windows(Pass& pass, const DeviceGrid& grid, const int given_radius, const int z_from,
                            const int z_to) {
  extern __shared__ float shared[];
  constexpr bool kAny = kRadius == kAnyRadius;
  constexpr int kKnown = kAny ? 0 : kRadius, kDepth = 2 * kKnown + 1, kSums = Pass::kSums;
  constexpr int kHeight = Pass::kHeight;
  constexpr int kPlaces =
      kAny ? 1 : ((kTileWidth + 2 * kKnown) * (kHeight + 2 * kKnown) + kTileThreads - 1) / kTileThreads;
  const int radius = kAny ? given_radius : kRadius;
  const int wide = kTileWidth + 2 * radius, high = kHeight + 2 * radius, area = wide * high;
  float* const columns = shared;              // [kSums, high, wide], summed along z
  float* const rows = shared + kSums * area;  // [kSums, kHeight, wide], and along y
  const int thread = static_cast<int>(threadIdx.x);
  const int x0 = static_cast<int>(blockIdx.x) * kTileWidth, y0 = static_cast<int>(blockIdx.y) * kHeight;
  const auto read = [&](int place, int z, float(&values)[Pass::kValues]) {
    pass.read(x0 - radius + place % wide, y0 - radius + place / wide, z, values);
  };

  float ring[kPlaces][kDepth][Pass::kValues];
  if constexpr (!kAny) {
#pragma unroll
    for (int p = 0; p < kPlaces; ++p)
#pragma unroll
      for (int k = 0; k < kDepth; ++k)
        if (thread + p * kTileThreads < area)
          read(thread + p * kTileThreads, z_from - kRadius + k, ring[p][k]);
  }
  for (int z = z_from; z < z_to; ++z) {
    if constexpr (kAny) {
      for (int place = thread; place < area; place += kTileThreads) {
        float sums[kSums] = {};
        for (int k = 0; k <= 2 * radius; ++k) {
          read(place, z - radius + k, ring[0][0]);
          pass.add(ring[0][0], k, sums);
        }
#pragma unroll
        for (int s = 0; s < kSums; ++s) columns[s * area + place] = sums[s];
      }
    } else {
#pragma unroll
      for (int p = 0; p < kPlaces; ++p) {
        const int place = thread + p * kTileThreads;
        if (place >= area) continue;
        float sums[kSums] = {};
#pragma unroll
        for (int k = 0; k < kDepth; ++k) pass.add(ring[p][k], k, sums);
#pragma unroll
        for (int s = 0; s < kSums; ++s) columns[s * area + place] = sums[s];
#pragma unroll
        for (int k = 0; k + 1 < kDepth; ++k)
#pragma unroll
          for (int v = 0; v < Pass::kValues; ++v) ring[p][k][v] = ring[p][k + 1][v];
        if (z + 1 < z_to) read(place, z + 1 + kRadius, ring[p][kDepth - 1]);
      }
    }
    __syncthreads();  // columns are whole

    constexpr int kStrip = 4;  // voxels along y whose windows a thread sums together
    const int strips = wide * (kHeight / kStrip);
#pragma unroll 1  // so that the ring has enough registers
    for (int item = thread; item < kSums * strips; item += kTileThreads) {
      const int s = item / strips, column = item % strips % wide, first = item % strips / wide * kStrip;
      const float* from = columns + s * area + first * wide + column;
      float sums[kStrip] = {};
#pragma unroll(kAny ? 1 : kDepth + kStrip - 1)
      for (int k = 0; k < 2 * radius + kStrip; ++k) {
        const float value = from[k * wide];
#pragma unroll
        for (int j = 0; j < kStrip; ++j)
          if (k >= j && k - j <= 2 * radius) sums[j] += pass.weight(1, k - j) * value;
      }
#pragma unroll
      for (int j = 0; j < kStrip; ++j) rows[(s * kHeight + first + j) * wide + column] = sums[j];
    }
    __syncthreads();  // rows are whole, columns may be overwritten

    const int column = thread % kTileWidth, x = x0 + column;
#pragma unroll 1
    for (int row = thread / kTileWidth; row < kHeight; row += kTileThreads / kTileWidth) {
      if (x >= grid.nx || y0 + row >= grid.ny) continue;
      float sums[kSums] = {};
#pragma unroll
      for (int s = 0; s < kSums; ++s) {
        const float* from = rows + (s * kHeight + row) * wide + column;
#pragma unroll(kAny ? 1 : kDepth)
        for (int k = 0; k <= 2 * radius; ++k) sums[s] += pass.weight(0, k) * from[k];
      }
      pass.use(x, y0 + row, z, sums);
    }
    // Rows are overwritten after the next barrier only.
  }
}

/// A block's sum in its first thread, always in the same order. @param scratch [threads / 32]
__device__ inline double block_sum(double value, double* scratch) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffU, value, offset);
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  double sum = 0;
  if (threadIdx.x == 0)
    for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) sum += scratch[warp];
  return sum;
}

}  // namespace warploom::registration
