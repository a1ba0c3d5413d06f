#pragma once

/// Loops over one row of voxels, compiled for several instruction sets: tv_sweep.cpp takes the set that
/// the processor at hand can run. Rows in scratch memory are kRowAlignment-aligned; those of one voxel's
/// channels are `stride` floats apart. A voxel outside the mask holds NaN; `masked` says that there are any.

#include <cstdint>

namespace warploom::imaging {

inline constexpr std::size_t kRowAlignment = 64;  // [bytes] a cache line

/// The sums of one row; see TvSums.
struct TvRowSums {
  float mapping = 0, turn = 0;
};

/// Channels of a row: channel c begins at data + c * stride.
template <typename T>
struct TvRow {
  T* data = nullptr;
  std::int64_t stride = 0;
};

struct TvRows {
  /// y = x + momentum (x - before) in n voxels, and the last again behind the end: there is no difference
  /// across it.
  void (*extrapolate)(float* y, const float* x, const float* before, float momentum, std::int64_t n);

  /// D = L L^T, padded in the same way. L's elements stand as D's do: l00 l10 l20 l11 l21 l22.
  void (*square)(TvRow<float> d, TvRow<const float> l, std::int64_t n);

  /// Fluxes grad y / sqrt(|grad y|^2 + epsilon^2), over the spacing once more for the divergence, between a
  /// row and the next ones along y and z (itself at an upper edge). `flux_y` and `flux_z` hold those of the
  /// voxels one below and are replaced; `divergence` takes what y and z add to it; flux_x[-1] is there to be
  /// read.
  /// @return the sum of sqrt(|grad y|^2 + epsilon^2)
  float (*flux[2])(const float* y, const float* next_y, const float* next_z, const float* inverse_spacing,
                   float epsilon, float* flux_x, float* flux_y, float* flux_z, float* divergence,
                   std::int64_t n);

  /// move = fidelity_step (y - noisy) - flux_step * divergence, a step along the gradient; `move` may be
  /// `divergence`. @return the sum of (y - noisy)^2
  float (*gradient[2])(const float* y, const float* noisy, const float* flux_x, const float* divergence,
                       float fidelity_step, float flux_step, float* move, std::int64_t n);

  /// next = P(y - move), P the projection on positive semidefinite tensors, and the weighted sums. `move` is
  /// used up.
  TvRowSums (*project[2])(TvRow<const float> y, TvRow<float> move, TvRow<const float> x, TvRow<float> next,
                          std::int64_t n);
  /// next = y - move of one channel that is no tensor's.
  TvRowSums (*step[2])(const float* y, const float* move, const float* x, float* next, std::int64_t n);

  /// next = L - factor tril(move L)
  void (*descend)(TvRow<const float> l, TvRow<const float> move, float factor, TvRow<float> next,
                  std::int64_t n);

  /// p <- p + sigma grad(x + momentum (x - before)), cut to |p| <= alpha, in one channel; the rows of x and
  /// before are this one and the next along y and z (itself at an upper edge). @return the sum of |grad x|
  float (*dual[2])(const float* const x[3], const float* const before[3], float momentum,
                   const float* inverse_spacing, float sigma, float alpha, float* p_x, float* p_y, float* p_z,
                   std::int64_t n);
  /// div p of a row: minus the adjoint of the gradient. p_x[-1], like p_x at an upper edge, is 0.
  void (*divergence)(const float* p_x, const float* p_y, const float* p_y_below, const float* p_z,
                     const float* p_z_below, const float* inverse_spacing, float* divergence, std::int64_t n);

  /// Writes n floats past the caches: the image is larger than they are, and what is only written is not
  /// read.
  void (*store)(float* to, const float* from, std::int64_t n);
  /// After the last store of a thread: makes them visible to the others.
  void (*fence)();
};

namespace baseline {
extern const TvRows tv_rows;
}
namespace avx2 {
extern const TvRows tv_rows;
}
namespace avx512 {
extern const TvRows tv_rows;
}

}  // namespace warploom::imaging
