#include "tile/c/simplify.hpp"

#include <algorithm>
#include <limits>

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

/// A coefficient that 64 bits do not hold.
struct TooLarge {};

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product == std::numeric_limits<std::int64_t>::min())
    throw TooLarge{};
  return product;
}
void increase(std::int64_t& sum, std::int64_t by) {
  if (__builtin_add_overflow(sum, by, &sum) || sum == std::numeric_limits<std::int64_t>::min())
    throw TooLarge{};
}

/// A sum of integers times what is not a sum itself, in the order of the text.
struct Sum {
  std::vector<std::pair<Expression, std::int64_t>> terms;
  std::int64_t constant = 0;

  void add(const Expression& term, std::int64_t factor) {
    const auto same = std::ranges::find_if(terms, [&](const auto& t) { return t.first == term; });
    if (same != terms.end())
      increase(same->second, factor);
    else
      terms.emplace_back(term, factor);
  }
};

bool is_number(const Expression& e) { return e.kind == Kind::integer; }

void collect(const Expression& e, std::int64_t factor, Sum& sum) {
  if (is_number(e)) {
    increase(sum.constant, times(factor, e.value));
  } else if (e.kind == Kind::unary && e.text == "-") {
    collect(e.operands[0], -factor, sum);
  } else if (e.kind == Kind::unary && e.text == "+") {
    collect(e.operands[0], factor, sum);
  } else if (e.kind == Kind::binary && (e.text == "+" || e.text == "-")) {
    collect(e.operands[0], factor, sum);
    collect(e.operands[1], e.text == "+" ? factor : -factor, sum);
  } else if (e.kind == Kind::binary && e.text == "*") {
    const Expression left = simplified(e.operands[0]), right = simplified(e.operands[1]);
    if (is_number(left))
      collect(right, times(factor, left.value), sum);
    else if (is_number(right))
      collect(left, times(factor, right.value), sum);
    else
      sum.add(Expression::binary("*", left, right), factor);
  } else {
    Expression inside = e;
    for (Expression& operand : inside.operands) operand = simplified(operand);
    sum.add(inside, factor);
  }
}

Expression times(const Expression& term, std::int64_t factor) {
  return factor == 1 ? term : Expression::binary("*", Expression::integer(factor), term);
}

}  // namespace

Expression simplified(const Expression& integer) {
  Sum sum;
  try {
    collect(integer, 1, sum);
  } catch (const TooLarge&) {  // as it stands
    return integer;
  }
  // What is positive comes first: "n - i", not "-i + n".
  std::stable_partition(sum.terms.begin(), sum.terms.end(), [](const auto& term) { return term.second > 0; });
  Expression result;
  bool empty = true;
  for (const auto& [term, factor] : sum.terms) {
    if (factor == 0) continue;
    if (!empty) {
      result = Expression::binary(factor > 0 ? "+" : "-", result, times(term, factor > 0 ? factor : -factor));
    } else if (factor > 0 || sum.constant > 0) {
      result = factor > 0 ? times(term, factor)
                          : Expression::binary("-", Expression::integer(sum.constant), times(term, -factor));
      if (factor < 0) sum.constant = 0;
    } else {
      result = Expression::unary("-", times(term, -factor));
    }
    empty = false;
  }
  if (empty) return Expression::integer(sum.constant);
  if (sum.constant == 0) return result;
  return Expression::binary(sum.constant > 0 ? "+" : "-", result,
                            Expression::integer(sum.constant > 0 ? sum.constant : -sum.constant));
}

Expression sum(Expression left, Expression right) {
  return simplified(Expression::binary("+", std::move(left), std::move(right)));
}
Expression difference(Expression left, Expression right) {
  return simplified(Expression::binary("-", std::move(left), std::move(right)));
}
Expression plus(Expression value, std::int64_t number) {
  return sum(std::move(value), Expression::integer(number));
}

Expression with_simple_subscripts(Expression expression) {
  for (Expression& operand : expression.operands)
    operand =
        expression.kind == Kind::element ? simplified(operand) : with_simple_subscripts(std::move(operand));
  return expression;
}

bool names(const Expression& expression, const std::string& name) {
  return (expression.kind == Kind::name && expression.text == name) ||
         std::ranges::any_of(expression.operands,
                             [&](const Expression& operand) { return names(operand, name); });
}

Expression as_minimum_or_maximum(Expression conditional) {
  const Expression &c = conditional.operands[0], &yes = conditional.operands[1],
                   &no = conditional.operands[2];
  if (c.kind != Expression::Kind::binary) return conditional;
  const bool less = c.text == "<" || c.text == "<=", greater = c.text == ">" || c.text == ">=";
  const bool straight = c.operands[0] == yes && c.operands[1] == no;
  const bool crossed = c.operands[0] == no && c.operands[1] == yes;
  if (!(less || greater) || !(straight || crossed)) return conditional;
  Expression call = Expression::call(less == straight ? "min" : "max", {yes, no});
  call.at = conditional.at;
  return call;
}

}  // namespace warploom::tile
