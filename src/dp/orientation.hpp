#pragma once

/// Which way three points turn, exactly.

#include <array>
#include <cmath>
#include <cstddef>

#include "warploom/dp/polygon.hpp"

namespace warploom::dp {

/// The sign of a sum of doubles, exactly: an expansion, in which partial sums keep what rounding would lose.
/// Source: Shewchuk, Discrete & Computational Geometry 18, 1997, GROW-EXPANSION.
template <std::size_t kTerms>
int sign_of_sum(const std::array<double, kTerms>& terms) {
  std::array<double, kTerms> parts{};  // do not overlap, grow in magnitude
  for (std::size_t count = 0; count < kTerms; ++count) {
    double carry = terms[count];
    for (std::size_t k = 0; k < count; ++k) {  // Knuth's two-sum
      const double sum = carry + parts[k], virtual_part = sum - carry;
      parts[k] = (carry - (sum - virtual_part)) + (parts[k] - virtual_part);
      carry = sum;
    }
    parts[count] = carry;
  }
  for (std::size_t k = kTerms; k-- > 0;)
    if (parts[k] != 0) return parts[k] > 0 ? 1 : -1;
  return 0;
}

/// 1 if a, b, c turn left (counter-clockwise), -1 if right, 0 if they lie on one line. Exact for coordinates
/// that are 0 or of magnitude 1e-100 to 1e100, whose products neither overflow nor lose bits below the least
/// double.
inline int orientation(const Point& a, const Point& b, const Point& c) {
  // Rounded first, with Shewchuk's bound on the error: (3 + 16 u) u, u = 2^-53.
  const double left = (a.x - c.x) * (b.y - c.y), right = (a.y - c.y) * (b.x - c.x), rounded = left - right;
  if (std::abs(rounded) > 3.3306690738754716e-16 * (std::abs(left) + std::abs(right)))
    return rounded > 0 ? 1 : -1;
  std::array<double, 12> terms{};
  std::size_t count = 0;
  const auto add_product = [&](double p, double q) {
    const double product = p * q;
    terms[count++] = std::fma(p, q, -product);
    terms[count++] = product;
  };
  add_product(a.x, b.y);
  add_product(-a.x, c.y);
  add_product(-c.x, b.y);
  add_product(-a.y, b.x);
  add_product(a.y, c.x);
  add_product(c.y, b.x);
  return sign_of_sum(terms);
}

}  // namespace warploom::dp
