#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "warploom/core/host_device.hpp"

namespace warploom::imaging {

template <std::size_t N>
using SquareMatrix = std::array<std::array<double, N>, N>;

/// Solves a x = right for a symmetric positive definite matrix, of which the lower triangle is read. Returns
/// false, and leaves `right` as it is, where a is singular to rounding or not positive definite.
template <std::size_t N>
WARPLOOM_HOST_DEVICE bool solve_positive_definite(SquareMatrix<N> a, std::array<double, N>& right) {
  constexpr double kSingular = 1e-13;  // of the diagonal before elimination
  WARPLOOM_UNROLL
  for (std::size_t k = 0; k < N; ++k) {
    double pivot = a[k][k];
    WARPLOOM_UNROLL
    for (std::size_t j = 0; j < k; ++j) pivot -= a[k][j] * a[k][j];
    if (!(pivot > kSingular * a[k][k])) return false;
    a[k][k] = std::sqrt(pivot);
    WARPLOOM_UNROLL
    for (std::size_t i = k + 1; i < N; ++i) {
      double sum = a[i][k];
      WARPLOOM_UNROLL
      for (std::size_t j = 0; j < k; ++j) sum -= a[i][j] * a[k][j];
      a[i][k] = sum / a[k][k];
    }
  }
  WARPLOOM_UNROLL
  for (std::size_t k = 0; k < N; ++k) {
    WARPLOOM_UNROLL
    for (std::size_t j = 0; j < k; ++j) right[k] -= a[k][j] * right[j];
    right[k] /= a[k][k];
  }
  WARPLOOM_UNROLL
  for (std::size_t step = 0; step < N; ++step) {
    const std::size_t k = N - 1 - step;
    WARPLOOM_UNROLL
    for (std::size_t i = k + 1; i < N; ++i) right[k] -= a[i][k] * right[i];
    right[k] /= a[k][k];
  }
  return true;
}

}  // namespace warploom::imaging
