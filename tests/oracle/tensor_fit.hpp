#pragma once

#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

namespace warploom::oracle {

using namespace imaging;

/// xx xy xz yy yz zz [um^2/ms], ln S0
using Unknowns = std::array<long double, 7>;

/// What one measurement says of the unknowns. @param b [s/mm^2]
inline Unknowns design_row(double b, const std::array<double, 3>& g) {
  if (b == 0) return {0, 0, 0, 0, 0, 0, 1};
  const long double k = -b / 1000.0L, x = g[0], y = g[1], z = g[2];
  return {k * x * x, 2 * k * x * y, 2 * k * x * z, k * y * y, 2 * k * y * z, k * z * z, 1};
}

inline long double dot(const Unknowns& a, const Unknowns& b) {
  long double sum = 0;
  for (std::size_t k = 0; k < 7; ++k) sum += a[k] * b[k];
  return sum;
}

/// Minimises the sum of weight (row . unknowns - ln S)^2: the normal equations by Gaussian elimination.
inline Unknowns least_squares(std::span<const Unknowns> rows, std::span<const long double> logarithms,
                              std::span<const long double> weights) {
  std::array<std::array<long double, 8>, 7> a{};
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t r = 0; r < 7; ++r) {
      for (std::size_t c = 0; c < 7; ++c) a[r][c] += weights[i] * rows[i][r] * rows[i][c];
      a[r][7] += weights[i] * rows[i][r] * logarithms[i];
    }
  for (std::size_t k = 0; k < 7; ++k) {
    std::size_t pivot = k;
    for (std::size_t r = k; r < 7; ++r)
      if (std::abs(a[r][k]) > std::abs(a[pivot][k])) pivot = r;
    std::swap(a[k], a[pivot]);
    for (std::size_t r = 0; r < 7; ++r) {
      if (r == k) continue;
      const long double factor = a[r][k] / a[k][k];
      for (std::size_t c = k; c < 8; ++c) a[r][c] -= factor * a[k][c];
    }
  }
  Unknowns solution;
  for (std::size_t k = 0; k < 7; ++k) solution[k] = a[k][7] / a[k][k];
  return solution;
}

/// The weights of least_squares: the squares of the signal that `solution` predicts.
inline std::vector<long double> predicted_squares(std::span<const Unknowns> rows, const Unknowns& solution) {
  std::vector<long double> squares;
  for (const Unknowns& row : rows) squares.push_back(std::exp(2 * dot(row, solution)));
  return squares;
}

}  // namespace warploom::oracle
