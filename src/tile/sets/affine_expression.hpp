#pragma once

#include <isl/cpp.h>

#include <string>
#include <vector>

#include "warploom/tile/source.hpp"

namespace warploom::tile {

/// Why an expression is not affine, and where: caught where it is known what the expression is for.
struct NotAffine {
  Position at;
  std::string why;
};

/// The names that an affine expression may hold.
struct AffineScope {
  isl::ctx context;
  const Region& region;
  std::vector<std::string> loops;  ///< iterators around, outermost first
};

/// The value of an integer expression as a piecewise affine function of loops and sizes, both of which are
/// parameters of it: products and quotients by constants, C's `/` and `%`, min, max, floord, ceild, `?:`.
/// @throws NotAffine
isl::pw_aff affine_value(const AffineScope& scope, const Expression& expression);

/// Where a condition holds: comparisons, `&&`, `||`, `!`.  @throws NotAffine
isl::set affine_condition(const AffineScope& scope, const Expression& expression);

/// The coefficients of a function that is linear: `constant + sum of coefficients[k] * names[k]`.
struct LinearForm {
  std::vector<std::int64_t> coefficients;
  std::int64_t constant = 0;
};
/// Nothing for pieces, quotients, remainders.
std::optional<LinearForm> linear_form(const isl::pw_aff& value, const std::vector<std::string>& names);

}  // namespace warploom::tile
