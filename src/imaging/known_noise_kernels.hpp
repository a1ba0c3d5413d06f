#pragma once

/// The GPU's kernels before and after the adaptive fit: the noise map without its bias, and the residual's
/// structure. A thread a voxel.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "imaging/residual_split.hpp"

namespace warploom::imaging {

/// Mean over volumes of the variance of magnitudes, whose means are `series`.
cudaError_t launch_mean_variance(const float* series, const float* noise, double usual, int volumes,
                                 std::int64_t voxels, const RicianMoments* table, double* variance,
                                 cudaStream_t stream);
/// Means over the voxels up to `reach` off along one axis, whose voxels are `step` apart.
cudaError_t launch_box_means(const double* from, double* to, std::int64_t voxels, std::int64_t extent,
                             std::int64_t step, std::int64_t reach, cudaStream_t stream);
/// noise = measured / sqrt(variance) where it is above 0.
cudaError_t launch_divide_noise(const float* measured, const double* variance, float* noise,
                                std::int64_t voxels, cudaStream_t stream);

/// Device pointers of a residual's run.
struct ResidualBuffers {
  std::int64_t nx = 0, ny = 0, nz = 0;
  int volumes = 0;
  double largest_b = 0;
  const float *series = nullptr, *noise = nullptr, *tensor = nullptr, *s0 = nullptr;
  const std::uint8_t* mask = nullptr;
  const Unknowns* rows = nullptr;
  const RicianMoments* table = nullptr;
  float* rest = nullptr;          ///< [volumes, nz, ny, nx]
  float* removed = nullptr;       ///< [6, nz, ny, nx]
  std::uint8_t* group = nullptr;  ///< [nz, ny, nx]
  PairSums* sums = nullptr;       ///< [residual_blocks(), 3]
  WARPLOOM_HOST_DEVICE std::int64_t voxels() const { return nx * ny * nz; }
};
std::int64_t residual_blocks(std::int64_t voxels);
/// Fills `rest`, `removed` and `group`, and then `sums`, a part of the pairs each.
cudaError_t launch_residual(const ResidualBuffers& buffers, cudaStream_t stream);

}  // namespace warploom::imaging
