#pragma once

/// Sums over windows in one pass over memory, on a GPU.

#include "greedy_kernels.hpp"

namespace warploom::registration {

/// A radius that is known only when the kernel runs.
inline constexpr int kAnyRadius = -1;

/// A block goes through planes [z_from, z_to) of its tile, of any radius: a window's planes are read again
/// for each of them and summed along z; from shared memory these sums are summed along y, then along x, in
/// the order of the CPU's loops and as those anew for each voxel.
///
/// A Pass has kValues values a voxel and kSums sums of them:
///   read(x, y, z, values)   also beyond the border
///   add(values, k, sums)    the k-th plane of a window
///   weight(axis, k)         of the k-th voxel of a window along x (0) or y (1)
///   use(x, y, z, sums)      once for each voxel of the tile
template <class Pass>
__device__ void for_windows(Pass& pass, const DeviceGrid& grid, const int radius, const int z_from,
                            const int z_to) {
  extern __shared__ float4 aligned[];
  constexpr int kSums = Pass::kSums, kHeight = kTileHeight;
  const int wide = kTileWidth + 2 * radius, high = kHeight + 2 * radius, area = wide * high;
  float* const columns = reinterpret_cast<float*>(aligned);  // [kSums, high, wide], summed along z
  float* const rows = columns + kSums * area;                // [kSums, kHeight, wide], and along y
  const int thread = static_cast<int>(threadIdx.x);
  const int x0 = static_cast<int>(blockIdx.x) * kTileWidth, y0 = static_cast<int>(blockIdx.y) * kHeight;

  for (int z = z_from; z < z_to; ++z) {
    for (int place = thread; place < area; place += kTileThreads) {
      float sums[kSums] = {}, values[Pass::kValues];
      for (int k = 0; k <= 2 * radius; ++k) {
        pass.read(x0 - radius + place % wide, y0 - radius + place / wide, z - radius + k, values);
        pass.add(values, k, sums);
      }
#pragma unroll
      for (int s = 0; s < kSums; ++s) columns[s * area + place] = sums[s];
    }
    __syncthreads();  // columns are whole

    for (int item = thread; item < kSums * kHeight * wide; item += kTileThreads) {
      const int s = item / (kHeight * wide), at = item % (kHeight * wide);
      const float* from = columns + s * area + at;
      float sum = 0;
      for (int k = 0; k <= 2 * radius; ++k) sum += pass.weight(1, k) * from[k * wide];
      rows[item] = sum;
    }
    __syncthreads();  // rows are whole, columns may be overwritten

    const int column = thread % kTileWidth, x = x0 + column;
    for (int row = thread / kTileWidth; row < kHeight; row += kTileThreads / kTileWidth) {
      if (x >= grid.nx || y0 + row >= grid.ny) continue;
      float sums[kSums] = {};
#pragma unroll
      for (int s = 0; s < kSums; ++s) {
        const float* from = rows + (s * kHeight + row) * wide + column;
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
