#pragma once

/// What the adaptive fit does with one voxel, for CPU and CUDA alike: the steps of fit_tensors_adaptively().

#include <algorithm>
#include <array>
#include <cmath>

#include "imaging/adaptive_pool.hpp"
#include "imaging/cholesky.hpp"
#include "imaging/eigen.hpp"
#include "imaging/rician_moments.hpp"
#include "imaging/tensor_design.hpp"

namespace warploom::imaging {

inline constexpr std::size_t kElements = 6;
using SixElements = std::array<double, kElements>;

// Logarithms need a signal above 0. In units of the noise.
inline constexpr double kLeastSignal = 0.2;
// How much the nearest neighbours' mean score must say before the guide follows it, in Kbar.
inline constexpr double kGuidePrior = 0.1;
inline constexpr double kFaceShare = 0.5;  // of a face neighbour in that mean
// In standard deviations: what is farther from its expectation counts as if it were so far.
inline constexpr double kFarthestResidual = 4;

/// How often an element stands in the tensor.
WARPLOOM_HOST_DEVICE constexpr double often(std::size_t element) {
  return element == 0 || element == 3 || element == 5 ? 1 : 2;
}

/// Of a TensorDesign.
struct DesignView {
  const Unknowns* rows = nullptr;     ///< [measurements]
  const Unknowns* inverse = nullptr;  ///< [measurements]
  int measurements = 0;
};

WARPLOOM_HOST_DEVICE inline SixElements diffusion(const Unknowns& solution) {
  SixElements elements;
  WARPLOOM_UNROLL
  for (std::size_t c = 0; c < kElements; ++c) elements[c] = solution[c];
  return elements;
}

WARPLOOM_HOST_DEVICE inline SixElements without_negative(const SixElements& tensor) {
  if (positive_definite(tensor)) return tensor;
  Eigen3 decomposition = jacobi_eigen(tensor);
  for (double& value : decomposition.values) value = value > 0 ? value : 0;
  return from_eigen(decomposition);
}

WARPLOOM_HOST_DEVICE inline double predict(const Unknowns& row, const Unknowns& solution) {
  double sum = 0;
  WARPLOOM_UNROLL
  for (std::size_t c = 0; c < kUnknowns; ++c) sum += row[c] * solution[c];
  return sum;
}

/// A residual as Huber (Ann. Math. Stat. 35, 1964) bounds it. Noise alone is hardly ever beyond, so what is
/// there is not the tensor's: a pulse, a movement, blood at the least b-values. Squared, it would move the
/// tensor more than all that the tensor does explain.
WARPLOOM_HOST_DEVICE inline double bounded_residual(double residual, double variance) {
  if (residual * residual <= kFarthestResidual * kFarthestResidual * variance) return residual;
  return std::copysign(kFarthestResidual * std::sqrt(variance), residual);
}

/// Lower triangle of N, and s; ln S0 last.
struct Equations {
  SquareMatrix<kUnknowns> information{};
  Unknowns score{};

  WARPLOOM_HOST_DEVICE void add_information(const Unknowns& row, double weight) {
    WARPLOOM_UNROLL
    for (std::size_t c = 0; c < kUnknowns; ++c) {
      WARPLOOM_UNROLL
      for (std::size_t d = 0; d <= c; ++d) information[c][d] += weight * row[c] * row[d];
    }
  }
  WARPLOOM_HOST_DEVICE void add_score(const Unknowns& row, double residual) {
    WARPLOOM_UNROLL
    for (std::size_t c = 0; c < kUnknowns; ++c) score[c] += residual * row[c];
  }
  /// The same with ln S0 eliminated.
  WARPLOOM_HOST_DEVICE SquareMatrix<kElements> reduced() const {
    SquareMatrix<kElements> result{};
    WARPLOOM_UNROLL
    for (std::size_t i = 0; i < kElements; ++i) {
      WARPLOOM_UNROLL
      for (std::size_t j = 0; j <= i; ++j)
        result[i][j] = information[i][j] - information[6][i] * information[6][j] / information[6][6];
    }
    return result;
  }
  WARPLOOM_HOST_DEVICE SixElements reduced_score(const Unknowns& of) const {
    SixElements result;
    WARPLOOM_UNROLL
    for (std::size_t i = 0; i < kElements; ++i)
      result[i] = of[i] - information[6][i] * of[6] / information[6][6];
    return result;
  }
};

/// @param lower  triangle of a symmetric matrix
WARPLOOM_HOST_DEVICE inline SixElements multiplied(const SquareMatrix<kElements>& lower,
                                                   const SixElements& d) {
  SixElements product{};
  WARPLOOM_UNROLL
  for (std::size_t i = 0; i < kElements; ++i) {
    WARPLOOM_UNROLL
    for (std::size_t j = 0; j < kElements; ++j) product[i] += (i < j ? lower[j][i] : lower[i][j]) * d[j];
  }
  return product;
}

/// The weighted fit of logarithms. @param logarithm  logarithm(i): of a signal in units of the noise
template <class Logarithm>
WARPLOOM_HOST_DEVICE Unknowns fit_logarithms(const DesignView& design, const Logarithm& logarithm) {
  Unknowns solution{};
  for (int i = 0; i < design.measurements; ++i) {
    const double value = logarithm(i);
    WARPLOOM_UNROLL
    for (std::size_t c = 0; c < kUnknowns; ++c) solution[c] += design.inverse[i][c] * value;
  }
  Equations equations;
  for (int i = 0; i < design.measurements; ++i) {
    const Unknowns& row = design.rows[i];
    const double weight = std::exp(2 * predict(row, solution));
    equations.add_information(row, weight);
    equations.add_score(row, weight * logarithm(i));
  }
  Unknowns right = equations.score;
  return solve_positive_definite(equations.information, right) ? right : solution;
}

/// What one voxel contributes, with the noise as the unit of signals. Of matrices the lower triangles.
struct VoxelTerms {
  SquareMatrix<kElements> information{}, metric{};
  SixElements score{}, measured{}, denoised{}, guide{};

  WARPLOOM_HOST_DEVICE void store(const AdaptiveView& to, std::int64_t v) const {
    const std::int64_t voxels = to.voxels();
    WARPLOOM_UNROLL
    for (int i = 0; i < static_cast<int>(kElements); ++i) {
      const auto element = static_cast<std::size_t>(i);
      to.measured[i * voxels + v] = static_cast<float>(measured[element]);
      to.denoised[i * voxels + v] = static_cast<float>(denoised[element]);
      to.guide[i * voxels + v] = static_cast<float>(guide[element]);
      to.score[i * voxels + v] = static_cast<float>(score[element]);
      WARPLOOM_UNROLL
      for (int j = 0; j <= i; ++j) {
        const std::int64_t at = triangle(i, j) * voxels + v;
        to.information[at] = static_cast<float>(information[element][static_cast<std::size_t>(j)]);
        to.metric[at] = static_cast<float>(metric[element][static_cast<std::size_t>(j)]);
      }
    }
  }
};

/// Steps 1 and 2, and the guide of step 3.
/// @param signals  of measurement i: measured(i) and denoised(i), in units of the noise; and logarithms,
///                 unbiased(i) of rician_signal() and floored(i) of the denoised one, both at least
///                 kLeastSignal
template <class Signals>
WARPLOOM_HOST_DEVICE VoxelTerms voxel_terms(const DesignView& design, const Signals& signals,
                                            const RicianMoments* table) {
  VoxelTerms terms;
  Unknowns pilot = fit_logarithms(design, [&](int i) { return signals.unbiased(i); });
  const SixElements tensor = without_negative(diffusion(pilot));
  WARPLOOM_UNROLL
  for (std::size_t c = 0; c < kElements; ++c) pilot[c] = tensor[c];
  Equations of_measured;
  Unknowns denoised_score{};
  for (int i = 0; i < design.measurements; ++i) {
    const Unknowns& row = design.rows[i];
    const double exponent = predict(row, pilot);
    const double signal = std::exp(exponent < 30 ? exponent : 30.0);
    const RicianMoments at = rician_moments(signal, table);
    const double along = at.slope * signal / at.variance,
                 residual = along * bounded_residual(signals.denoised(i) - at.mean, at.variance);
    of_measured.add_information(row, along * at.slope * signal);
    of_measured.add_score(row, along * bounded_residual(signals.measured(i) - at.mean, at.variance));
    WARPLOOM_UNROLL
    for (std::size_t c = 0; c < kUnknowns; ++c) denoised_score[c] += residual * row[c];
  }
  terms.information = of_measured.reduced();
  terms.score = of_measured.reduced_score(of_measured.score);
  const SixElements at = multiplied(terms.information, tensor),
                    other = of_measured.reduced_score(denoised_score);
  WARPLOOM_UNROLL
  for (std::size_t k = 0; k < kElements; ++k) {
    terms.measured[k] = at[k] + terms.score[k];
    terms.denoised[k] = at[k] + other[k];
  }
  const Unknowns biased = fit_logarithms(design, [&](int i) { return signals.floored(i); });
  terms.guide = diffusion(biased);
  Equations predicted;
  for (int i = 0; i < design.measurements; ++i)
    predicted.add_information(design.rows[i], std::exp(2 * predict(design.rows[i], biased)));
  terms.metric = predicted.reduced();
  return terms;
}

/// S0 in units of the noise that fits the denoised signals best, once the tensor is known: the sum of squares
/// is least, of residuals that are bounded as above.
template <class Signals>
WARPLOOM_HOST_DEVICE double fitted_s0(const DesignView& design, const Signals& signals,
                                      const SixElements& tensor, const RicianMoments* table) {
  constexpr int kRounds = 4;
  double s0 = 0;
  bool bounded = true;
  for (int round = 0; round < kRounds && bounded; ++round) {
    double product = 0, square = 0;
    bounded = round == 0;
    for (int i = 0; i < design.measurements; ++i) {
      double exponent = 0;
      WARPLOOM_UNROLL
      for (std::size_t c = 0; c < kElements; ++c) exponent += design.rows[i][c] * tensor[c];
      const double decay = std::exp(exponent), signal = rician_signal(signals.denoised(i), table);
      const double residual = signal - s0 * decay, least = bounded_residual(residual, 1);
      const bool far = round > 0 && least != residual;
      const double weight = far ? least / residual : 1;
      bounded = bounded || far;
      product += weight * decay * signal;
      square += weight * decay * decay;
    }
    if (!(square > 0)) return 0;
    s0 = product / square;
  }
  return s0;
}

/// @param values  [21, stride], a lower triangle
WARPLOOM_HOST_DEVICE inline SquareMatrix<kElements> lower_triangle(const float* values, std::int64_t stride,
                                                                   std::int64_t v) {
  SquareMatrix<kElements> matrix{};
  WARPLOOM_UNROLL
  for (int i = 0; i < static_cast<int>(kElements); ++i) {
    WARPLOOM_UNROLL
    for (int j = 0; j <= i; ++j)
      matrix[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] =
          static_cast<double>(values[triangle(i, j) * stride + v]);
  }
  return matrix;
}

/// An element's information, of one voxel: Kbar is the median of it.
WARPLOOM_HOST_DEVICE inline double mean_information(const AdaptiveView& terms, std::int64_t v) {
  double sum = 0;
  WARPLOOM_UNROLL
  for (int i = 0; i < static_cast<int>(kElements); ++i)
    sum += static_cast<double>(terms.information[triangle(i, i) * terms.voxels() + v]) /
           often(static_cast<std::size_t>(i));
  return sum / kElements;
}

/// What the mean score of a voxel and its face neighbours adds to the guide. Principal components that stand
/// for few voxels of a patch, a thin bundle's, are lost in strong noise; here they come back in part.
/// @param typical  Kbar
WARPLOOM_HOST_DEVICE inline SixElements guide_correction(const AdaptiveView& terms, std::int64_t v,
                                                         double typical) {
  const std::int64_t voxels = terms.voxels(), steps[3] = {1, terms.nx, terms.nx * terms.ny};
  const std::int64_t at[3] = {v % terms.nx, v / terms.nx % terms.ny, v / (terms.nx * terms.ny)};
  const std::int64_t extents[3] = {terms.nx, terms.ny, terms.nz};
  SquareMatrix<kElements> matrix{};
  SixElements right{};
  for (int neighbour = 0; neighbour < 7; ++neighbour) {  // itself, then its faces
    std::int64_t u = v;
    if (neighbour > 0) {
      const int axis = (neighbour - 1) / 2;
      const bool back = neighbour % 2 == 1;
      if (back ? at[axis] == 0 : at[axis] + 1 == extents[axis]) continue;
      u += back ? -steps[axis] : steps[axis];
    }
    if (terms.fitted[u] == 0) continue;
    const double share = neighbour == 0 ? 1 : kFaceShare;
    const auto information = lower_triangle(terms.information, voxels, u);
    WARPLOOM_UNROLL
    for (std::size_t i = 0; i < kElements; ++i) {
      WARPLOOM_UNROLL
      for (std::size_t j = 0; j <= i; ++j) matrix[i][j] += share * information[i][j];
      right[i] += share * static_cast<double>(terms.score[static_cast<std::int64_t>(i) * voxels + u]);
    }
  }
  WARPLOOM_UNROLL
  for (std::size_t i = 0; i < kElements; ++i) matrix[i][i] += kGuidePrior * typical * often(i);
  return solve_positive_definite(matrix, right) ? right : SixElements{};
}

/// Step 4 of one voxel. @param prior  times Kbar
WARPLOOM_HOST_DEVICE inline SixElements combined_tensor(const AdaptiveSums& sums, double prior,
                                                        double typical) {
  const auto information = lower_triangle(sums.information, 1, 0);
  SixElements from_denoised, beyond;
  WARPLOOM_UNROLL
  for (std::size_t i = 0; i < kElements; ++i) from_denoised[i] = static_cast<double>(sums.denoised[i]);
  auto regular = information;
  WARPLOOM_UNROLL
  for (std::size_t i = 0; i < kElements; ++i) regular[i][i] += 1e-6 * typical * often(i);
  if (!solve_positive_definite(regular, from_denoised)) return {};
  const SixElements product = multiplied(information, from_denoised);
  WARPLOOM_UNROLL
  for (std::size_t i = 0; i < kElements; ++i) {
    beyond[i] = static_cast<double>(sums.measured[i]) - product[i];
    regular[i][i] += prior * typical * often(i);
  }
  if (!solve_positive_definite(regular, beyond)) beyond = {};
  WARPLOOM_UNROLL
  for (std::size_t i = 0; i < kElements; ++i) beyond[i] += from_denoised[i];
  return without_negative(beyond);
}

}  // namespace warploom::imaging
