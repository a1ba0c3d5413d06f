#include "imaging/tensor_design.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "warploom/core/error.hpp"

namespace warploom::imaging {
namespace {

// How far from 1 a direction's length may be: what printing it with two decimals costs.
constexpr double kUnitLength = 0.01;
// A largest b-value below this attenuates free water by 3 %: it is in another unit. [s/mm^2]
constexpr double kLeastWeighting = 10;
// A column of the design that the others leave less than this of, relative to its length, is determined by
// them: noise would be multiplied by the reciprocal.
constexpr double kDependent = 1e-3;

void require_counts(std::int64_t volumes, std::size_t b, std::size_t directions) {
  if (b != static_cast<std::size_t>(volumes) || directions != static_cast<std::size_t>(volumes))
    throw BadInput(
        fmt::format("the diffusion series has {} volumes, but there are {} b-values and {} directions",
                    volumes, b, directions));
  if (volumes < std::int64_t{kUnknowns})
    throw BadInput(fmt::format("a diffusion tensor and S0 are {} unknowns; the series has {} volumes",
                               kUnknowns, volumes));
}

void require_gradient(std::size_t volume, double b, const std::array<double, 3>& direction) {
  if (!(b >= 0) || !std::isfinite(b))
    throw BadInput(fmt::format("volume {}: b-value {} s/mm^2 is not a number from 0 up", volume, b));
  const double length = std::hypot(direction[0], direction[1], direction[2]);
  if (b > 0 && !(std::abs(length - 1) <= kUnitLength))
    throw BadInput(fmt::format("volume {}: direction ({}, {}, {}) has length {}, not 1, at b = {} s/mm^2",
                               volume, direction[0], direction[1], direction[2], length, b));
}

Unknowns row(double b, const std::array<double, 3>& direction) {
  if (b == 0) return {0, 0, 0, 0, 0, 0, 1};  // where the direction may be NaN
  const auto& [x, y, z] = direction;
  return {-b * x * x, -2 * b * x * y, -2 * b * x * z, -b * y * y, -2 * b * y * z, -b * z * z, 1};
}

// An orthonormal basis of the columns of a matrix, each vector with the combination of columns that it is.
struct Basis {
  std::vector<std::vector<double>> vectors;
  std::vector<Unknowns> combinations;
};

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Gram and Schmidt's method, the longest remaining column next, every projection twice for rounding's sake.
Basis orthonormalise(const std::vector<Unknowns>& rows) {
  Basis rest, basis;
  for (std::size_t c = 0; c < kUnknowns; ++c) {
    std::vector<double> column;
    for (const Unknowns& r : rows) column.push_back(r[c]);
    const double length = std::sqrt(dot(column, column));
    if (length == 0) continue;
    for (double& element : column) element /= length;
    rest.vectors.push_back(column);
    rest.combinations.push_back({});
    rest.combinations.back()[c] = 1 / length;
  }
  while (!rest.vectors.empty()) {
    std::size_t longest = 0;
    double square = 0;
    for (std::size_t k = 0; k < rest.vectors.size(); ++k)
      if (const double s = dot(rest.vectors[k], rest.vectors[k]); s > square) longest = k, square = s;
    if (std::sqrt(square) < kDependent) break;
    auto& vector = basis.vectors.emplace_back(rest.vectors[longest]);
    auto& combination = basis.combinations.emplace_back(rest.combinations[longest]);
    rest.vectors.erase(rest.vectors.begin() + static_cast<std::ptrdiff_t>(longest));
    rest.combinations.erase(rest.combinations.begin() + static_cast<std::ptrdiff_t>(longest));
    for (double& element : vector) element /= std::sqrt(square);
    for (double& element : combination) element /= std::sqrt(square);
    for (std::size_t k = 0; k < rest.vectors.size(); ++k)
      for (int twice = 0; twice < 2; ++twice) {
        const double projection = dot(vector, rest.vectors[k]);
        for (std::size_t i = 0; i < vector.size(); ++i) rest.vectors[k][i] -= projection * vector[i];
        for (std::size_t c = 0; c < kUnknowns; ++c) rest.combinations[k][c] -= projection * combination[c];
      }
  }
  return basis;
}

std::string reason(std::span<const double> b) {
  const auto [least, most] = std::minmax_element(b.begin(), b.end());
  if (*least > 0.99 * *most)
    return fmt::format("all b-values are {} to {} s/mm^2, which leaves S0 open; include a volume with b = 0",
                       *least, *most);
  return "it needs six directions of which none follows from the others, and two b-values";
}

}  // namespace

TensorDesign tensor_design(std::int64_t volumes, std::span<const double> b,
                           std::span<const std::array<double, 3>> directions) {
  require_counts(volumes, b.size(), directions.size());
  for (std::size_t k = 0; k < b.size(); ++k) require_gradient(k, b[k], directions[k]);
  const double largest = *std::max_element(b.begin(), b.end());
  if (largest == 0)
    throw BadInput(fmt::format("all {} b-values are 0: no volume is diffusion weighted", volumes));
  if (largest < kLeastWeighting)
    throw BadInput(
        fmt::format("the largest b-value is {} s/mm^2, below {}: are the b-values in another unit?", largest,
                    kLeastWeighting));
  TensorDesign design;
  design.largest_b = largest / 1000;
  for (std::size_t k = 0; k < b.size(); ++k) design.rows.push_back(row(b[k] / largest, directions[k]));
  const Basis basis = orthonormalise(design.rows);
  if (basis.vectors.size() < kUnknowns)
    throw BadInput(
        fmt::format("the gradient table determines {} of the {} unknowns of a diffusion tensor and S0: {}",
                    basis.vectors.size(), kUnknowns, reason(b)));
  design.inverse.resize(design.rows.size());
  for (std::size_t k = 0; k < kUnknowns; ++k)
    for (std::size_t i = 0; i < design.rows.size(); ++i)
      for (std::size_t c = 0; c < kUnknowns; ++c)
        design.inverse[i][c] += basis.combinations[k][c] * basis.vectors[k][i];
  return design;
}

}  // namespace warploom::imaging
