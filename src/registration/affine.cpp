#include "warploom/registration/affine.hpp"

#include <fmt/format.h>

#include <cmath>

#include "warploom/core/error.hpp"

namespace warploom::registration {
namespace {

// Determinant over the product of the columns' lengths: 1 where they are at right angles, whatever their
// scale.
double independence(const Affine& a) {
  double lengths = 1;
  for (std::size_t c = 0; c < 3; ++c) lengths *= std::hypot(a[0][c], a[1][c], a[2][c]);
  return lengths > 0 ? std::abs(io::determinant(a)) / lengths : 0;
}

}  // namespace

Affine identity_affine() { return {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}}; }

Affine compose(const Affine& first, const Affine& then) {
  Affine out{};
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c) {
      out[r][c] = c == 3 ? then[r][3] : 0;
      for (std::size_t k = 0; k < 3; ++k) out[r][c] += then[r][k] * first[k][c];
    }
  return out;
}

void check_affine(const Affine& affine, std::string_view what) {
  for (const auto& row : affine)
    for (const double value : row)
      if (!std::isfinite(value))
        throw BadInput(fmt::format("{} has the number {}; all twelve have to be finite", what, value));
  constexpr double kLeast = 1e-12;
  // Written so that an overflow to NaN is refused, too.
  if (const double found = independence(affine); !(found > kLeast))
    throw BadInput(fmt::format(
        "{} cannot be inverted: its determinant is {:.3g}, {:.3g} of the product of its columns' lengths",
        what, io::determinant(affine), found));
}

Affine inverse(const Affine& a) {
  check_affine(a);
  const double determinant = io::determinant(a);
  Affine out{};
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 3; ++c) {
      const std::size_t r1 = (c + 1) % 3, r2 = (c + 2) % 3, c1 = (r + 1) % 3, c2 = (r + 2) % 3;
      out[r][c] = (a[r1][c1] * a[r2][c2] - a[r1][c2] * a[r2][c1]) / determinant;
    }
    for (std::size_t k = 0; k < 3; ++k) out[r][3] -= out[r][k] * a[k][3];
  }
  return out;
}

Affine flip_world(const Affine& affine) {
  constexpr double kSign[] = {-1, -1, 1, 1};
  Affine out = affine;
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c) out[r][c] *= kSign[r] * kSign[c];
  return out;
}

}  // namespace warploom::registration
