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

/// The values of each voxel are turned by I - factor u u^T (Householder), one after the other, before its
/// patches are done, and back afterwards: in exact arithmetic nothing changes. They turn the largest
/// principal components of the whole series into the first channels. The largest eigenvalues of a patch,
/// which may be 10^6 times those of the noise, then lie nearly in the first rows of X X^T alone, which the
/// tridiagonalisation from there hardly mixes with the others: rounding is relative to what is left, and
/// single precision suffices.
struct SeriesReflectors {
  std::vector<float> u = {};  ///< [count, channels]
  std::vector<float> factor = {};
  int count() const { return static_cast<int>(factor.size()); }
};

/// From a sample of the voxels inside the mask.
/// @param not_finite  a byte a voxel: 1 is left out; empty: none is
SeriesReflectors series_reflectors(const ImageView& series, const Mask& mask,
                                   const std::vector<std::uint8_t>& not_finite);

struct SeriesProblem {
  const float* series = nullptr;  ///< [channels, nz, ny, nx]
  const float* on_gpu = nullptr;  ///< the same there, or null: ImageView::on_gpu
  /// As many, which may be written before the receiver's values are, and are what these are given from; null:
  /// there are none
  float* scratch = nullptr;
  bool scratch_is_zero = false;
  int channels = 0;  ///< volumes, or of complex data real and then imaginary parts
  int volumes = 0;   ///< M
  bool complex = false;
  float scale = 1;  ///< a power of two: the series times this is about 1 at most
  std::array<PatchAxis, 3> axes = {};
  PatchOutput output = PatchOutput::average;
  Precision precision = Precision::float32;
  SeriesReflectors reflectors = {};
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

/// Where a back end leaves its results, once all of them are there.
class PatchReceiver {
 public:
  virtual ~PatchReceiver() = default;
  /// Called once, before the values. It may throw.
  virtual void maps(const PatchResults& results) = 0;
  /// Values [begin, begin + count) of [channels, nz, ny, nx], on several threads at once: centre: voxels of
  /// patches that were wanted; average: the sums over the wanted patches that a voxel lies in. Others mean
  /// nothing. Once the first came, the back end stops for nothing but an error of the device.
  virtual void values(std::uint64_t begin, const float* from, std::uint64_t count) = 0;
};

/// @throws Interrupted, OutOfMemory, Internal
PatchResults denoise_patches_cpu(const SeriesProblem& problem, PatchReceiver& receiver);
PatchResults denoise_patches_cuda(const SeriesProblem& problem, PatchReceiver& receiver);

/// Makes the context of the current device, if there is none yet. An error shows in the next call.
void start_cuda();

}  // namespace warploom::imaging
