#pragma once

/// What a GPU does with an image as a whole before it is segmented and after. Their file needs nothing but
/// this and segment_noise.hpp, so that it can be compiled, rewritten and simulated by itself.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "segment_noise.hpp"

namespace warploom::imaging {

/// Blocks of a launch over voxels: so many parts have its sums, whose order is fixed.
inline constexpr unsigned kMostImageBlocks = 1024;
unsigned image_blocks(std::int64_t voxels);

/// Voxels [nz, ny, nx] in the device's memory, and which of them count: null, all.
struct ImageVoxels {
  std::int64_t count;
  const unsigned char* mask;
};

/// Which values of an array with strides: [first, first + count) of [channels, nz, ny, nx]. Strides of x, y,
/// z and channels [values].
struct ImageGather {
  std::int64_t nx, ny, nz;
  std::int64_t stride[4];
  std::int64_t first, count;
};
/// to[k] = the value `gather.first + k`.
cudaError_t launch_image_gather(const float* from, const ImageGather& gather, float* to, cudaStream_t stream);

/// Of those that count. @param[out] counts  [2, blocks]: how many, and how many of them are not finite
/// @param[out] ends  [2, blocks]: the least and the greatest
cudaError_t launch_image_range(const float* values, ImageVoxels voxels, unsigned long long* counts,
                               float* ends, cudaStream_t stream);
/// u = (value - low) / scale, 0 where a voxel does not count; `u` may be `values`.
/// @param[out] sums  [2, blocks]: of u and of its square
cudaError_t launch_image_scale(const float* values, ImageVoxels voxels, double low, double scale, float* u,
                               double* sums, cudaStream_t stream);
/// u becomes its root.
cudaError_t launch_image_root(ImageVoxels voxels, float* u, double* sums, cudaStream_t stream);
/// @param[out] sizes  [sample.count()]; below 0 where a voxel of the block does not count
cudaError_t launch_image_noise(const float* u, const unsigned char* mask, const NoiseSample& sample,
                               float* sizes, cudaStream_t stream);

/// By what a mask is cut out of v.
struct ImageCut {
  int found;  ///< 0: nothing is
  int dark;   ///< 1: what is darker is inside
  float threshold;
  double low, scale;  ///< of the image's values
  int roots;          ///< 1: u are roots
};
/// The mask, and v less the threshold, positive inside; 0 where a voxel does not count.
/// @param[out] counts, sums  [2, blocks]: voxels of the dark side and the bright one, and their values
cudaError_t launch_image_cut(const float* u, const float* v, ImageVoxels voxels, const ImageCut& cut,
                             unsigned char* mask, float* level_set, unsigned long long* counts, double* sums,
                             cudaStream_t stream);

/// Products of a wave along each axis. @param waves  [nx + ny + nz]
cudaError_t launch_image_waves(const double* waves, std::int64_t nx, std::int64_t ny, std::int64_t nz,
                               float* level_set, cudaStream_t stream);
/// @param[out] counts, sums  [blocks]: of voxels above 0 of the level set, and of their u
cudaError_t launch_image_content(const float* u, const float* level_set, std::int64_t voxels,
                                 unsigned long long* counts, double* sums, cudaStream_t stream);
/// The level set times `sign`, and where it is above 0.
cudaError_t launch_image_sides(float* level_set, std::int64_t voxels, float sign, unsigned char* mask,
                               cudaStream_t stream);

}  // namespace warploom::imaging
