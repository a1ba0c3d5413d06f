#pragma once

/// Where the noise of an image is looked at, and what is seen there, for CPU and GPU alike.

#include <cstdint>

#include "warploom/core/host_device.hpp"

namespace warploom::imaging {

/// Blocks of two voxels along every axis that has more than one: what is smooth along one of them has a
/// difference of 0. Of a large image every so manieth row of them.
struct NoiseSample {
  std::int64_t nx, ny;            ///< of the image
  std::int64_t dx, dy, dz;        ///< to the block's second voxels; 0 along an axis with one
  std::int64_t first_x, first_y;  ///< blocks along x and y
  std::int64_t rows, step;        ///< of blocks, and every which one is taken
  int axes;                       ///< with more than one voxel

  WARPLOOM_HOST_DEVICE std::int64_t count() const { return (rows + step - 1) / step * first_x; }
  /// The first voxel of a block.
  WARPLOOM_HOST_DEVICE std::int64_t voxel(std::int64_t block) const {
    const std::int64_t row = block / first_x * step;
    return (row / first_y * ny + row % first_y) * nx + block % first_x;
  }
};

/// The difference over a block, without its sign; below 0 if a voxel of it does not count. @param mask  null:
/// all do
WARPLOOM_HOST_DEVICE static inline float noise_difference(const float* image, const unsigned char* mask,
                                                          const NoiseSample& sample, std::int64_t block) {
  const std::int64_t first = sample.voxel(block);
  float sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    const int x = corner & 1, y = corner >> 1 & 1, z = corner >> 2;
    if ((x != 0 && sample.dx == 0) || (y != 0 && sample.dy == 0) || (z != 0 && sample.dz == 0)) continue;
    const std::int64_t voxel = first + x * sample.dx + y * sample.dy + z * sample.dz;
    if (mask != nullptr && mask[voxel] == 0) return -1;
    sum += (x + y + z) % 2 != 0 ? -image[voxel] : image[voxel];
  }
  return sum < 0 ? -sum : sum;
}

}  // namespace warploom::imaging
