#pragma once

#include <map>
#include <optional>

#include "warploom/tile/source.hpp"

/// Subscripts and bounds as sums of loops times integers, for what writes kernels. Exact sets are
/// polyhedra.hpp's.
namespace warploom::tile {

/// Whether an expression is affine in `loops` with integer coefficients; the rest (sizes, constants and other
/// names) is left as an expression.
struct AffineIn {
  std::map<std::string, std::int64_t> coefficients;  ///< of those loops that occur, never 0
  Expression rest;
};
std::optional<AffineIn> affine_in(const Expression& expression, const std::vector<std::string>& loops);

/// Whether the name occurs in the expression.
bool depends_on(const Expression& expression, std::string_view name);

/// Elements between neighbours along a loop in a row-major array; absent where it is not a number (a size
/// enters: many) or where the subscripts are not affine.
std::optional<std::int64_t> stride(const Expression& element, const std::vector<Expression>& extents,
                                   const std::string& loop);

/// Least and greatest value; absent where the form is not known.
struct Bounds {
  std::optional<Expression> least, most;
};
/// Of an expression over loops whose bounds are given, free of those loops.
Bounds bounds_over(const Expression& expression, const std::map<std::string, Bounds>& loops);
/// Of the values that a loop's iterator takes, free of the loops in `outer`: the box around a triangle.
Bounds bounds_of(const Node& loop, const std::map<std::string, Bounds>& outer);

/// The values of a counting loop whose bounds depend on outer ones, numbered from its own first value:
/// [first, end) in steps of `step`, at most `count` of them whatever the outer iterators are.
struct OwnRange {
  Expression first, end;
  std::int64_t step = 1;
  Expression count;
};
/// None where the box around all its values is no larger: no difference of its bounds is free of `outer`.
std::optional<OwnRange> own_range(const Node& loop, const std::map<std::string, Bounds>& outer);

/// Whether two elements of one array differ for sure in all iterations of these loops (outermost first),
/// which do not change the first.
bool never_meet(const Expression& fixed, const Expression& other, const std::vector<const Node*>& loops);

/// How many iterations, not below 0 only where the loop runs at all: "n - i".
Expression trip_count(const Node& loop);
/// (value + divisor - 1) / divisor, simplified.
Expression ceil_quotient(const Expression& value, std::int64_t divisor);

}  // namespace warploom::tile
