#pragma once

/// What residual_structure() does with one voxel, for CPU and CUDA alike. The residual in an orthonormal
/// basis of the directions of ln S0 and the tensor's six elements, by Gram and Schmidt's method, and what is
/// left beside them: with B the directions, B^T B = L L^T, that basis is B L^-T, so that only sums over
/// measurements are needed.

#include <array>
#include <cmath>
#include <cstdint>

#include "imaging/cholesky.hpp"
#include "imaging/eigen.hpp"
#include "imaging/rician_moments.hpp"
#include "imaging/tensor_design.hpp"

namespace warploom::imaging {

inline constexpr std::uint8_t kNoGroup = 3;

/// Isotropic, anisotropic, free water.
WARPLOOM_HOST_DEVICE inline std::uint8_t residual_group(const std::array<double, 6>& tensor) {
  constexpr double kAnisotropic = 0.25, kWater = 1.5;  // FA; mean diffusivity [um^2/ms]
  const Eigen3 decomposition = jacobi_eigen(tensor);
  const std::array<double, 3>& values = decomposition.values;
  const double mean = (values[0] + values[1] + values[2]) / 3;
  if (mean > kWater) return 2;
  double square = 0, spread = 0;
  for (int k = 0; k < 3; ++k) {
    const double value = values[static_cast<std::size_t>(k)];
    square += value * value, spread += (value - mean) * (value - mean);
  }
  return square > 0 && std::sqrt(1.5 * spread / square) >= kAnisotropic ? 1 : 0;
}

/// Of one measurement, in units of its deviation.
struct Residual {
  double value;   ///< measured less expected
  double factor;  ///< of the design's row: the direction
};
/// @param measured  in units of the noise
WARPLOOM_HOST_DEVICE inline Residual residual_of(const Unknowns& row, const Unknowns& solution,
                                                 double measured, const RicianMoments* table) {
  double exponent = 0;
  WARPLOOM_UNROLL
  for (std::size_t c = 0; c < kUnknowns; ++c) exponent += row[c] * solution[c];
  const double signal = std::exp(exponent < 30 ? exponent : 30.0);
  const RicianMoments at = rician_moments(signal, table);
  const double deviation = std::sqrt(at.variance);
  return {(measured - at.mean) / deviation, at.slope * signal / deviation};
}

/// Element k of the directions: ln S0 comes first; what is left of the others is then the tensor's alone.
WARPLOOM_HOST_DEVICE inline double in_order(const Unknowns& row, std::size_t k) {
  return row[k == 0 ? 6 : k - 1];
}

struct ResidualSplit {
  SquareMatrix<kUnknowns> products{};
  Unknowns along{};

  WARPLOOM_HOST_DEVICE void add(const Unknowns& row, const Residual& at) {
    WARPLOOM_UNROLL
    for (std::size_t k = 0; k < kUnknowns; ++k) {
      const double direction = at.factor * in_order(row, k);
      WARPLOOM_UNROLL
      for (std::size_t j = 0; j <= k; ++j) products[k][j] += direction * at.factor * in_order(row, j);
      along[k] += direction * at.value;
    }
  }
  /// @param parts  of the residual along the tensor's six directions
  /// @return false where the signals do not determine a tensor
  WARPLOOM_HOST_DEVICE bool solve(std::array<double, 6>& parts) {
    WARPLOOM_UNROLL
    for (std::size_t k = 0; k < kUnknowns; ++k) {
      const double before = products[k][k];
      WARPLOOM_UNROLL
      for (std::size_t j = 0; j < k; ++j) products[k][k] -= products[k][j] * products[k][j];
      if (!(products[k][k] > 1e-10 * before)) return false;
      products[k][k] = std::sqrt(products[k][k]);
      WARPLOOM_UNROLL
      for (std::size_t i = k + 1; i < kUnknowns; ++i) {
        WARPLOOM_UNROLL
        for (std::size_t j = 0; j < k; ++j) products[i][k] -= products[i][j] * products[k][j];
        products[i][k] /= products[k][k];
      }
      WARPLOOM_UNROLL
      for (std::size_t j = 0; j < k; ++j) along[k] -= products[k][j] * along[j];
      along[k] /= products[k][k];
      if (k > 0) parts[k - 1] = along[k];
    }
    WARPLOOM_UNROLL
    for (std::size_t step = 0; step < kUnknowns; ++step) {
      const std::size_t k = kUnknowns - 1 - step;
      WARPLOOM_UNROLL
      for (std::size_t i = k + 1; i < kUnknowns; ++i) along[k] -= products[i][k] * along[i];
      along[k] /= products[k][k];
    }
    return true;
  }
  /// After solve(): what is left of a residual.
  WARPLOOM_HOST_DEVICE double rest(const Unknowns& row, const Residual& at) const {
    double fitted = 0;
    WARPLOOM_UNROLL
    for (std::size_t k = 0; k < kUnknowns; ++k) fitted += along[k] * in_order(row, k);
    return at.value - at.factor * fitted;
  }
};

/// D times the largest b-value and ln S0 in units of the noise.
WARPLOOM_HOST_DEVICE inline Unknowns residual_solution(const std::array<double, 6>& tensor, double largest_b,
                                                       double amplitude) {
  Unknowns solution;
  WARPLOOM_UNROLL
  for (std::size_t c = 0; c < 6; ++c) solution[c] = tensor[c] * largest_b;
  solution[6] = std::log(amplitude);
  return solution;
}

/// Of neighbours' values: the products and the mean squares.
struct Products {
  double product = 0, square = 0;
  WARPLOOM_HOST_DEVICE void add(double a, double b) { product += a * b, square += (a * a + b * b) / 2; }
  void add(const Products& other) { product += other.product, square += other.square; }
  double correlation() const { return square > 0 ? product / square : 0; }
};

/// Of all pairs of neighbours of one group.
struct PairSums {
  Products tensors = {}, rest = {};
  std::int64_t pairs = 0;
  void add(const PairSums& other) {
    tensors.add(other.tensors), rest.add(other.rest);
    pairs += other.pairs;
  }
};

}  // namespace warploom::imaging
