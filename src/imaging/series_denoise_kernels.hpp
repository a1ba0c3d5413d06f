#pragma once

/// The GPU's principal components of patches. Its file needs nothing but this, so that it can be compiled,
/// rewritten and simulated by itself.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace warploom::imaging {

/// Most channels, and up to how many a warp has a patch, else a block of kLargeThreads.
constexpr int kMostChannels = 512, kWarpChannels = 96, kLargeThreads = 256;
/// So many vectors go through the rotations together.
constexpr int kPatchVectors = 8;
/// Fixed point of the sums over patches: additions in any order then give the same bits. Values are below
/// sqrt(512), and 4096 of them stay below 2^63.
constexpr double kPatchUnit = 1099511627776.0;  // 2^40
/// Room for a patch's rotations, times n^2 (0.9 are usual; see PatchSpectrum::room), and sweeps, times n.
constexpr int kPatchRotations = 2, kPatchSweeps = 12;

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

/// Device pointers of a run. What one launch leaves to the next is of its patches only, from `begin` on.
struct PatchBuffers {
  const float* series;          ///< [voxels, channels], scaled
  const std::int32_t* patches;  ///< those wanted: (z * patches_y + y) * patches_x + x
  /// One each of `patches`: place of its first vector. Centre: one for each of its own voxels; average:
  /// channels / 2 each, room for the eigenvectors of the smaller side.
  const std::int64_t* first_vector;
  const double* inverse_width;  ///< [spectrum] of the estimator, by noise components - 1
  float* denoised;              ///< [voxels, channels]: centre
  unsigned long long* sum;      ///< [voxels, channels]: average, in units of 1 / kPatchUnit, two's complement
  float* variance;              ///< one each of `patches`
  std::int16_t* rank;
  std::int16_t* count;  ///< eigenvectors of the smaller side; those of the noise as -1 - count
  void* reflectors;     ///< [patches of a launch, n, n]; this and the next two of the precision
  void* tridiagonal;    ///< [patches of a launch, 2 n + 1]
  void* vectors;        ///< [vectors of a launch, n]
  std::byte* scratch;   ///< matrices of reduce_patches, or rotations of the spectra
  unsigned* failed;     ///< becomes 1 where an eigenvalue does not converge
};

/// How the three kernels of a launch run on the current device.
struct PatchLaunch {
  bool double_precision = false;
  int reduce_blocks = 0, spectrum_blocks = 0, finish_blocks = 0;
  int threads = 0;  ///< of reduce and finish; the spectrum's are 32
  std::size_t reduce_shared = 0, spectrum_shared = 0, finish_shared = 0;
  std::size_t matrix_scratch = 0;    ///< of each block of reduce; 0: its matrix lies in shared memory
  std::size_t spectrum_scratch = 0;  ///< of each block of the spectrum
  bool spectrum_in_shared = true;
};
cudaError_t plan_patches(const PatchConstants& constants, bool double_precision, PatchLaunch& plan);

/// Patches [begin, end) of the list: tridiagonal matrices, their spectra, and back.
cudaError_t launch_patches(const PatchLaunch& plan, const PatchConstants& constants,
                           const PatchBuffers& buffers, std::int64_t begin, std::int64_t end,
                           cudaStream_t stream);

/// [channels, voxels] to [voxels, channels], times `scale`.
cudaError_t launch_series_to_voxels(const float* series, float* voxels, std::int64_t count, int channels,
                                    float scale, cudaStream_t stream);
/// [voxels, channels] to [channels, voxels], times `scale`.
cudaError_t launch_voxels_to_series(const float* values, float* series, std::int64_t count, int channels,
                                    float scale, cudaStream_t stream);
/// Fixed point to numbers.
cudaError_t launch_sums_to_values(const unsigned long long* sums, float* values, std::int64_t count,
                                  cudaStream_t stream);
/// [voxels, channels] by I - factor u u^T, one after the other; `back` from the last one.
/// @param u [reflectors, channels]  @param factors [reflectors]
cudaError_t launch_turn_voxels(float* values, std::int64_t count, int channels, const float* u,
                               const float* factors, int reflectors, bool back, cudaStream_t stream);

}  // namespace warploom::imaging
