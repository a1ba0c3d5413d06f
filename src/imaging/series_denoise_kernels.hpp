#pragma once

/// The GPU's principal components of patches. Its file needs nothing but this, so that it can be compiled,
/// rewritten and simulated by itself.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace warploom::imaging {

/// So many vectors go through the rotations together.
constexpr int kPatchVectors = 8;
/// Fixed point of the sums over patches: additions in any order then give the same bits. Values are below
/// sqrt(512), and 4096 of them stay below 2^63.
constexpr double kPatchUnit = 1099511627776.0;  // 2^40
/// Rotations that are kept of a patch, times n^2 (0.9 are usual), and sweeps, times n.
constexpr int kPatchRotations = 3, kPatchSweeps = 12;

/// What all patches have in common.
struct PatchConstants {
  int channels;  ///< n
  int complex;
  int nx, ny, nz;
  int extent[3];
  int spectrum;  ///< eigenvalues that count
  int average;   ///< else centre
  double inverse_larger;
};

/// Device pointers of a run.
struct PatchBuffers {
  const float* series;          ///< [voxels, channels], scaled
  const std::int32_t* patches;  ///< those wanted: (z * patches_y + y) * patches_x + x
  const double* inverse_width;  ///< [spectrum] of the estimator, by noise components - 1
  float* denoised;              ///< [voxels, channels]: centre
  unsigned long long* sum;      ///< [voxels, channels] average, in units of 1 / kPatchUnit; two's complement
  float* variance;              ///< one each of `patches`
  std::int16_t* rank;
  std::byte* scratch;  ///< patch_scratch_bytes() for each block
  unsigned* failed;    ///< becomes 1 where an eigenvalue does not converge
};

struct PatchLaunch {
  int blocks = 0, threads = 0;
  std::size_t shared_bytes = 0, scratch_bytes = 0;  ///< scratch: of each block
  bool matrix_in_shared = true;
  bool double_precision = false;
};

/// Blocks and memory of every launch on the current device.
cudaError_t plan_patches(const PatchConstants& constants, bool double_precision, PatchLaunch& plan);

/// Patches [begin, end) of the list.
cudaError_t launch_patches(const PatchLaunch& plan, const PatchConstants& constants, const PatchBuffers& buffers,
                           std::int64_t begin, std::int64_t end, cudaStream_t stream);

/// [channels, voxels] to [voxels, channels], times `scale`.
cudaError_t launch_series_to_voxels(const float* series, float* voxels, std::int64_t count, int channels, float scale,
                                    cudaStream_t stream);
/// [voxels, channels] to [channels, voxels], times `scale`; `values` or, where that is null, `sum`.
cudaError_t launch_voxels_to_series(const float* values, const unsigned long long* sum, float* series,
                                    std::int64_t count, int channels, double scale, cudaStream_t stream);

}  // namespace warploom::imaging
