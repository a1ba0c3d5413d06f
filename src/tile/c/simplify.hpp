#pragma once

#include "warploom/tile/source.hpp"

namespace warploom::tile {

/// The same integer with its sums collected: "i - 1 + (j + 1)" -> "i + j". Only for integer arithmetic, where
/// order does not matter.
Expression simplified(const Expression& integer);
/// Any expression, with the subscripts in it simplified.
Expression with_simple_subscripts(Expression expression);

/// The same of left + right, of left - right.
Expression sum(Expression left, Expression right);
Expression difference(Expression left, Expression right);
Expression plus(Expression value, std::int64_t number);

/// Whether a loop, size or scalar of that name is in the expression.
bool names(const Expression& expression, const std::string& name);
/// x < y ? x : y and its like, of integers that no memory holds, as min(x, y), max(x, y): bounds as generated
/// code has them. Other expressions as they are.
Expression as_minimum_or_maximum(Expression conditional);

}  // namespace warploom::tile
