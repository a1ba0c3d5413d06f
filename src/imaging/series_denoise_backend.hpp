#pragma once

/// What series_denoise.cpp asks of a back end: denoise the patches of a checked series.

#include <array>
#include <cstdint>
#include <vector>

#include "warploom/imaging/series_denoise.hpp"

namespace warploom::imaging {

/// A patch is named by its first voxel. Along an axis of extent e on n voxels those are 0 to n - e, and the
/// voxel in the middle of patch b is b + e / 2; the first and last patch also have the voxels before and
/// after theirs.
struct PatchAxis {
  int voxels = 0, extent = 0;
  int patches() const { return voxels - extent + 1; }
  /// Voxels that patch b is the patch of: [begin, end).
  int begin(int b) const { return b == 0 ? 0 : b + extent / 2; }
  int end(int b) const { return b == patches() - 1 ? voxels : b + extent / 2 + 1; }
  /// The patch of a voxel.
  int patch_of(int voxel) const {
    const int b = voxel - extent / 2;
    return b < 0 ? 0 : b >= patches() ? patches() - 1 : b;
  }
};

/// The values of each voxel are turned by I - factor u u^T (Householder) before its patches are done, and
/// back afterwards: in exact arithmetic nothing changes. It turns the mean signal into the first channel. The
/// largest eigenvalue of a patch, which may be 10^5 to 10^6 times those of the noise, then is nearly the first
/// element of X X^T alone, which the tridiagonalisation from there never mixes with the others: rounding is
/// relative to the second eigenvalue, and single precision suffices.
struct SeriesReflector {
  std::vector<float> u = {};  ///< [channels]; empty: nothing is turned
  float factor = 0;
  const float* data() const { return u.empty() ? nullptr : u.data(); }
};

struct SeriesProblem {
  const float* series = nullptr;  ///< [channels, nz, ny, nx]
  int channels = 0;               ///< volumes, or of complex data real and then imaginary parts
  int volumes = 0;                ///< M
  bool complex = false;
  float scale = 1;  ///< a power of two: the series times this is about 1 at most
  std::array<PatchAxis, 3> axes = {};
  PatchOutput output = PatchOutput::average;
  Precision precision = Precision::float32;
  SeriesReflector reflector = {};
  std::vector<double> inverse_width = {};  ///< [spectrum] 1 / (4 sqrt(gamma)), by noise components - 1
  std::vector<std::uint8_t> wanted = {};   ///< [patches z, y, x] 1: to be done

  std::int64_t voxels() const { return std::int64_t{axes[0].voxels} * axes[1].voxels * axes[2].voxels; }
  int patch_voxels() const { return axes[0].extent * axes[1].extent * axes[2].extent; }
  int spectrum() const { return static_cast<int>(inverse_width.size()); }
  double inverse_larger() const { return 1.0 / (volumes + patch_voxels() - spectrum()); }
};

/// Of every patch that was wanted, [patches z, y, x].
struct PatchResults {
  std::vector<float> variance = {};     ///< of the noise, of the scaled series
  std::vector<std::int16_t> rank = {};  ///< components kept
  double seconds = 0, transfer_seconds = 0;
  std::uint64_t device_bytes = 0;
};

/// @param[out] denoised  [channels, nz, ny, nx]: centre: voxels of patches that were wanted; average: the
/// sums over the wanted patches that a voxel lies in; other voxels 0. All 0 before.
/// @throws Interrupted, OutOfMemory, Internal
PatchResults denoise_patches_cpu(const SeriesProblem& problem, float* denoised);
PatchResults denoise_patches_cuda(const SeriesProblem& problem, float* denoised);

}  // namespace warploom::imaging
