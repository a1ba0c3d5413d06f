#pragma once

/// The inner loops of registration on a CPU, compiled for each instruction set in a namespace of its name.
/// Images are [nz, ny, nx]; a strip is the rows [y_from, y_to) of plane z.

#include <array>
#include <cstdint>

namespace warploom::registration {

struct GridSize {
  std::int64_t nx, ny, nz;
  std::int64_t voxels() const { return nx * ny * nz; }
};

struct Strip {
  std::int64_t z, y_from, y_to;
};

/// An affine map of voxel indices, of one grid to another's.
using VoxelMap = std::array<std::array<float, 4>, 3>;

/// out(x) = image(map(x + sign h(x))), linear along each axis; beyond the border the border's value.
struct SampleStrip {
  GridSize grid;  ///< of `out`
  Strip strip;
  GridSize image_extents;
  const float* image;
  const std::uint8_t* mask;  ///< of the image, may be null
  VoxelMap map;
  const float* displacement;  ///< [3, nz, ny, nx] in voxels of `grid`; null: 0
  float sign;
  float* out;
  float* gradient;  ///< [3, nz, ny, nx] of the interpolated image along the image's own axes; may be null
  /// Set to 0 where the point is more than half a voxel outside of the image, or nearest to a voxel that its
  /// mask leaves out. May be null.
  std::uint8_t* counts;
};

/// Sums over windows of (2 radius + 1) voxels along each axis, cut at the border, and from them local
/// correlation: see measure_lncc.cpp.
struct LnccStrip {
  GridSize grid;
  Strip strip;
  int radius;
  float floor;  ///< added to covariance and variances
  const float *fixed, *moving;
  const std::uint8_t* counts;  ///< windows whose middle counts; null: all
  float* statistics;           ///< [5, nz, ny, nx]
};

/// Rows dI and dJ of the derivative go to `row`, one after another.
struct LnccDerivativeStrip {
  LnccStrip of;
  void (*row)(void* context, std::int64_t y, const float* d_fixed, const float* d_moving);
  void* context;
};

/// One component of out = kernel * (a + scale b), the border's value beyond it.
struct SmoothStrip {
  GridSize grid;
  Strip strip;
  const float *a, *b;  ///< b may be null
  float scale;
  int radius[3];         ///< along x, y, z, at most kMostTaps
  const float* taps[3];  ///< [2 radius + 1]
  float* out;
};
inline constexpr int kMostTaps = 32;

/// force = d_moving grad moving - d_fixed grad fixed of a row, by central differences, times `weight` of each
/// axis.
struct ForceRow {
  GridSize grid;
  std::int64_t y, z;
  const float *fixed, *moving;      ///< whole images
  const float *d_fixed, *d_moving;  ///< the row's
  float weight[3];
  float* force;  ///< [3, nz, ny, nx]
};

/// The sum of second differences of a row of f, times `weight` of each axis; none across the border.
struct LaplacianRow {
  GridSize grid;
  std::int64_t y, z;
  const float* f;  ///< the whole array
  float weight[3];
  float* out;
};

/// sums[2 i] += sum d g_i, sums[2 i + 1] += sum d g_i x over a row; g is [3, nz, ny, nx], at the row's start.
struct MomentRow {
  std::int64_t count, component;
  const float *derivative, *gradient;
};

#define WARPLOOM_DECLARE_REGISTRATION_LOOPS(set)                \
  namespace set {                                               \
  void sample_strip(const SampleStrip& strip);                  \
  double lncc_strip(const LnccStrip& strip);                    \
  void lncc_derivative_strip(const LnccDerivativeStrip& strip); \
  void smooth_strip(const SmoothStrip& strip);                  \
  void force_row(const ForceRow& row);                          \
  void laplacian_row(const LaplacianRow& row);                  \
  void moment_row(const MomentRow& row, double* sums);          \
  }
WARPLOOM_DECLARE_REGISTRATION_LOOPS(baseline)
WARPLOOM_DECLARE_REGISTRATION_LOOPS(avx2)
WARPLOOM_DECLARE_REGISTRATION_LOOPS(avx512)
#undef WARPLOOM_DECLARE_REGISTRATION_LOOPS

}  // namespace warploom::registration
