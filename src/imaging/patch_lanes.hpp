#pragma once

/// Principal components of many patches at once, a patch a lane: the CPU's inner loops of denoise_series(),
/// compiled for each instruction set in a namespace of its name.

#include <cstddef>
#include <cstdint>

namespace warploom::imaging {

/// What all patches of a series have in common.
struct PatchProblem {
  const float* series = nullptr;                ///< [channels, nz, ny, nx]
  std::int64_t nx = 0, plane = 0, channel = 0;  ///< values of a row, a plane (ny * nx) and a channel
  int channels =
      0;  ///< rows of a patch's matrix: volumes, or twice as many of complex data, real parts first
  bool complex = false;
  float scale = 1;     ///< a power of two: the series times this is about 1 at most
  int extent[3] = {};  ///< of a patch, x first [voxels]
  /// [reflectors, channels] u of I - factor u u^T, which turn each voxel's values before, and those of
  /// `denoised` back; `sum` stays turned. See SeriesReflectors.
  const float* reflectors = nullptr;
  const float* reflector_factors = nullptr;
  int reflector_count = 0;

  // The estimator. `spectrum` eigenvalues count, the smaller of volumes and voxels of a patch; the larger
  // divides them.
  int spectrum = 0;
  double inverse_larger = 0;
  const double* inverse_width = nullptr;  ///< [spectrum] 1 / (4 sqrt(gamma)), by noise components - 1
};

/// Columns of a patch's matrix, for centre output: which voxel of the patch.
struct PatchColumn {
  int x, row;  ///< row = z * extent[1] + y
};

/// Patches side by side along x.
struct PatchTask {
  std::int64_t x = 0, y = 0, z = 0;  ///< first voxel of the first patch; that of lane k is at x + k
  int lanes = 0;                     ///< so many have a place in the row; the others' results mean nothing
  const std::uint8_t* wanted = nullptr;  ///< [lanes()] for averaging: others add nothing
  const PatchColumn* columns = nullptr;
  int column_count = 0;

  double* variance = nullptr;  ///< [lanes()] of the noise, of the scaled series
  int* rank = nullptr;         ///< [lanes()] components kept
  float* denoised = nullptr;   ///< [column_count, channels, lanes()] these columns after denoising; or null
  float* sum = nullptr;        ///< [channels, rows, strip width] every column is added to it; or null
};

/// One precision's code. All of it keeps its arrays in `workspace`, aligned to 64 bytes.
struct PatchCode {
  int lanes;        ///< patches at a time
  int strip_width;  ///< voxels along x of `sum`, at least lanes + extent - 1
  std::size_t workspace_bytes;
  /// false: an eigenvalue did not converge (never seen)
  bool (*solve)(const PatchProblem& problem, const PatchTask& task, std::byte* workspace);
};
using MakePatchCode = PatchCode (*)(const PatchProblem& problem, bool double_precision);

#define WARPLOOM_DECLARE_PATCH_LANES(set)                                   \
  namespace set {                                                           \
  PatchCode patch_code(const PatchProblem& problem, bool double_precision); \
  }
WARPLOOM_DECLARE_PATCH_LANES(baseline)
WARPLOOM_DECLARE_PATCH_LANES(avx2)
WARPLOOM_DECLARE_PATCH_LANES(avx512)
#undef WARPLOOM_DECLARE_PATCH_LANES

}  // namespace warploom::imaging
