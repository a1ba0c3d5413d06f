#include "imaging/positive_tensor.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "imaging/eigen.hpp"

namespace warploom::imaging {
namespace {

using Elements = std::array<double, 6>;

constexpr std::array<std::size_t, 6> kRow{0, 0, 0, 1, 1, 2}, kColumn{0, 1, 2, 1, 2, 2};
constexpr std::array<double, 6> kTwice{1, 2, 2, 1, 2, 1};  // an element off the diagonal stands for two
constexpr double kStart = 0.1;             // smallest eigenvalue to start from, relative to the largest
constexpr double kReduction = 10;          // of the barrier's weight, a step along the central path
constexpr double kLeastBarrier = 0.5e-10;  // of q(0): a barrier of weight t leaves q within 3 t of the least
constexpr double kOnPath = 0.25;           // Newton's decrement that is near enough to the path to go on
constexpr int kSteps = 200;                // 41 on average and 71 at most in the head that tests fit

// From the eigenvalues, since minors cancel where two of them are small.
SquareMatrix<3> inverse(Eigen3 decomposition) {
  for (double& value : decomposition.values) value = 1 / value;
  const auto [xx, xy, xz, yy, yz, zz] = from_eigen(decomposition);
  return {{{xx, xy, xz}, {xy, yy, yz}, {xz, yz, zz}}};
}

Elements raised(const Elements& free) {
  Eigen3 decomposition = eigen(free);
  const double largest = std::max(std::abs(decomposition.values[0]), std::abs(decomposition.values[2]));
  for (double& value : decomposition.values) value = std::max(value, kStart * largest);
  return from_eigen(decomposition);
}

Elements times(const SquareMatrix<6>& metric, const Elements& d) {
  Elements product{};
  for (std::size_t k = 0; k < 6; ++k)
    for (std::size_t j = 0; j < 6; ++j) product[k] += metric[k][j] * d[j];
  return product;
}

}  // namespace

// Follows the minimisers of q(d) / t - ln det d as t goes to 0 (Nesterov & Nemirovskii 1994). That function
// is self-concordant, so Newton's step shortened by 1 / (1 + decrement) stays inside and always makes
// progress. A triangular factor of d would need no barrier, but has local minima where its diagonal vanishes.
Elements positive_tensor(const Elements& free, const SquareMatrix<6>& metric) {
  Elements d = raised(free), inside = d;
  const Elements slope_at_zero = times(metric, free);
  double value_at_zero = 0;
  for (std::size_t k = 0; k < 6; ++k) value_at_zero += slope_at_zero[k] * free[k] / 2;
  double t = value_at_zero;
  for (int step = 0; step < kSteps && t > kLeastBarrier * value_at_zero; ++step) {
    const Eigen3 decomposition = eigen(d);
    if (!(decomposition.values[2] > 0)) break;  // by rounding: t is as small as it can be
    inside = d;
    const auto p = inverse(decomposition);
    const Elements slope = times(metric, d);
    Elements gradient;
    SquareMatrix<6> curvature;
    for (std::size_t k = 0; k < 6; ++k) {
      const std::size_t a = kRow[k], b = kColumn[k];
      gradient[k] = (slope[k] - slope_at_zero[k]) / t - kTwice[k] * p[a][b];
      for (std::size_t j = 0; j <= k; ++j) {
        const std::size_t c = kRow[j], e = kColumn[j];
        curvature[k][j] =
            metric[k][j] / t + kTwice[k] * kTwice[j] / 2 * (p[a][c] * p[b][e] + p[a][e] * p[b][c]);
      }
    }
    Elements newton = gradient;
    if (!solve_positive_definite(curvature, newton)) break;  // likewise
    double decrement = 0;
    for (std::size_t k = 0; k < 6; ++k) decrement += newton[k] * gradient[k];
    decrement = std::sqrt(std::max(0.0, decrement));
    const double length = decrement > kOnPath ? 1 / (1 + decrement) : 1;
    for (std::size_t k = 0; k < 6; ++k) d[k] -= length * newton[k];
    if (decrement <= kOnPath) t /= kReduction;
  }
  return eigen(d).values[2] > 0 ? d : inside;
}

}  // namespace warploom::imaging
