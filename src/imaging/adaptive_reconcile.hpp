#pragma once

/// The second pass of the adaptive fit, of one voxel, for CPU and CUDA alike: what it takes for the denoised
/// series, and how its two estimates of a tensor become one. Constants were chosen on phantoms, docs/design.

#include "imaging/adaptive_voxel.hpp"

namespace warploom::imaging {

/// Of what the first pass predicts, beside the denoised series.
inline constexpr double kPredictedShare = 0.7;
/// Bandwidth and prior of the narrow estimate, in those of the wide one.
inline constexpr double kNarrowBandwidth = 0.3, kNarrowPrior = 0.075;
/// The disagreement at which half of the way is gone from the wide estimate to the narrow one.
inline constexpr double kHalfway = 0.15;

/// A measurement's expected magnitude, in units of the noise.
/// @param tensor, s0  of the first pass
WARPLOOM_HOST_DEVICE inline double expected_signal(double denoised, const Unknowns& row,
                                                   const SixElements& tensor, double s0,
                                                   const RicianMoments* table) {
  if (!(s0 > 0)) return denoised;
  double exponent = 0;
  WARPLOOM_UNROLL
  for (std::size_t c = 0; c < kElements; ++c) exponent += row[c] * tensor[c];
  const double predicted = rician_moments(s0 * std::exp(exponent), table).mean;
  return (1 - kPredictedShare) * denoised + kPredictedShare * predicted;
}

/// How far the narrow estimate is from the wide one, squared, an element, in units of its information.
WARPLOOM_HOST_DEVICE inline double disagreement(const AdaptiveSums& narrow_sums, const SixElements& narrow,
                                                const SixElements& wide) {
  SixElements difference;
  WARPLOOM_UNROLL
  for (std::size_t i = 0; i < kElements; ++i) difference[i] = narrow[i] - wide[i];
  const SixElements product = multiplied(lower_triangle(narrow_sums.information, 1, 0), difference);
  double sum = 0;
  WARPLOOM_UNROLL
  for (std::size_t i = 0; i < kElements; ++i) sum += product[i] * difference[i];
  return sum / kElements;
}

/// The mean of a map over a voxel and those of its face neighbours that were fitted.
WARPLOOM_HOST_DEVICE inline double mean_beside(const AdaptiveView& terms, const float* map, std::int64_t v) {
  const std::int64_t steps[3] = {1, terms.nx, terms.nx * terms.ny};
  const std::int64_t at[3] = {v % terms.nx, v / terms.nx % terms.ny, v / (terms.nx * terms.ny)};
  const std::int64_t extents[3] = {terms.nx, terms.ny, terms.nz};
  double sum = static_cast<double>(map[v]), count = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (at[axis] > 0 && terms.fitted[v - steps[axis]] != 0)
      sum += static_cast<double>(map[v - steps[axis]]), ++count;
    if (at[axis] + 1 < extents[axis] && terms.fitted[v + steps[axis]] != 0)
      sum += static_cast<double>(map[v + steps[axis]]), ++count;
  }
  return sum / count;
}

/// Puts the largest eigenvalue first, with its eigenvector.
WARPLOOM_HOST_DEVICE inline void sort_descending(Eigen3& eigen) {
  const auto order = [&](std::size_t i, std::size_t j) {
    if (eigen.values[i] >= eigen.values[j]) return;
    const double value = eigen.values[i];
    eigen.values[i] = eigen.values[j], eigen.values[j] = value;
    const auto vector = eigen.vectors[i];
    eigen.vectors[i] = eigen.vectors[j], eigen.vectors[j] = vector;
  };
  order(0, 1), order(1, 2), order(0, 1);
}

/// The wide estimate's eigenvectors, with the eigenvalues of a mean of both: the narrow one's share grows
/// with the disagreement around. Directions have no bias to fear from neighbours that are a little different,
/// and much noise to lose; anisotropy has.
WARPLOOM_HOST_DEVICE inline SixElements reconciled_tensor(const SixElements& wide, const SixElements& narrow,
                                                          double disagreement) {
  const double square = disagreement * disagreement, share = square / (square + kHalfway * kHalfway);
  SixElements mean;
  WARPLOOM_UNROLL
  for (std::size_t i = 0; i < kElements; ++i) mean[i] = wide[i] + share * (narrow[i] - wide[i]);
  Eigen3 values = jacobi_eigen(mean), result = jacobi_eigen(wide);
  sort_descending(values), sort_descending(result);
  WARPLOOM_UNROLL
  for (std::size_t k = 0; k < 3; ++k) result.values[k] = values.values[k] > 0 ? values.values[k] : 0;
  return from_eigen(result);
}

}  // namespace warploom::imaging
