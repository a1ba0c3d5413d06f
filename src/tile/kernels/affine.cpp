#include "tile/kernels/affine.hpp"

#include <algorithm>

#include "tile/c/simplify.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

Expression times(std::int64_t factor, Expression value) {
  return simplified(Expression::binary("*", Expression::integer(factor), std::move(value)));
}

bool depends_on_any(const Expression& expression, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const auto& n) { return depends_on(expression, n); });
}

AffineIn combine(const AffineIn& left, const AffineIn& right, std::int64_t factor) {
  AffineIn result = left;
  for (const auto& [loop, coefficient] : right.coefficients)
    if ((result.coefficients[loop] += factor * coefficient) == 0) result.coefficients.erase(loop);
  result.rest = sum(left.rest, times(factor, right.rest));
  return result;
}

}  // namespace

bool depends_on(const Expression& expression, std::string_view name) {
  return (expression.kind == Kind::name && expression.text == name) ||
         std::ranges::any_of(expression.operands,
                             [&](const Expression& operand) { return depends_on(operand, name); });
}

std::optional<AffineIn> affine_in(const Expression& expression, const std::vector<std::string>& loops) {
  if (!depends_on_any(expression, loops)) return AffineIn{{}, expression};
  if (expression.kind == Kind::name) return AffineIn{{{expression.text, 1}}, Expression::integer(0)};
  std::vector<AffineIn> parts;
  for (const Expression& operand : expression.operands) {
    std::optional<AffineIn> part = affine_in(operand, loops);
    if (!part) return std::nullopt;
    parts.push_back(std::move(*part));
  }
  const AffineIn zero{{}, Expression::integer(0)};
  const std::string& op = expression.text;
  if (expression.kind == Kind::unary && op != "!") return combine(zero, parts[0], op == "-" ? -1 : 1);
  if (expression.kind != Kind::binary) return std::nullopt;
  if (op == "+" || op == "-") return combine(parts[0], parts[1], op == "+" ? 1 : -1);
  if (op != "*") return std::nullopt;
  for (const int side : {0, 1})
    if (parts[side].coefficients.empty() && simplified(parts[side].rest).kind == Kind::integer)
      return combine(zero, parts[1 - side], simplified(parts[side].rest).value);
  return std::nullopt;
}

std::optional<std::int64_t> stride(const Expression& element, const std::vector<Expression>& extents,
                                   const std::string& loop) {
  std::int64_t result = 0, row = 1;  // elements between neighbours along dimension d
  bool row_known = true;
  for (std::size_t d = element.operands.size(); d-- > 0;) {
    const std::optional<AffineIn> subscript = affine_in(element.operands[d], {loop});
    if (!subscript) return std::nullopt;
    if (const auto found = subscript->coefficients.find(loop); found != subscript->coefficients.end()) {
      if (!row_known) return std::nullopt;
      result += found->second * row;
    }
    const Expression extent = d < extents.size() ? simplified(extents[d]) : Expression::integer(1);
    row_known = row_known && extent.kind == Kind::integer;
    row *= extent.value;
  }
  return result;
}

Bounds bounds_over(const Expression& expression, const std::map<std::string, Bounds>& loops) {
  std::vector<std::string> names;
  for (const auto& [name, bounds] : loops) names.push_back(name);
  if (!depends_on_any(expression, names)) return {expression, expression};
  if (const std::optional<AffineIn> affine = affine_in(expression, names)) {
    Bounds result{affine->rest, affine->rest};
    for (const auto& [name, coefficient] : affine->coefficients) {
      const Bounds& loop = loops.at(name);
      const auto& least = coefficient > 0 ? loop.least : loop.most;
      const auto& most = coefficient > 0 ? loop.most : loop.least;
      if (!least) result.least.reset();
      if (!most) result.most.reset();
      if (result.least) result.least = sum(*result.least, times(coefficient, *least));
      if (result.most) result.most = sum(*result.most, times(coefficient, *most));
    }
    return result;
  }
  std::vector<Bounds> parts;
  for (const Expression& operand : expression.operands) parts.push_back(bounds_over(operand, loops));
  const auto from = [&](auto side, auto make) -> std::optional<Expression> {
    if (!(parts[0].*side) || !(parts[1].*side)) return std::nullopt;
    return make(*(parts[0].*side), *(parts[1].*side));
  };
  const std::string& op = expression.text;
  if (expression.kind == Kind::call && (op == "min" || op == "max")) {
    const auto make = [&](const Expression& a, const Expression& b) {
      return a == b ? a : Expression::call(op, {a, b});
    };
    return {from(&Bounds::least, make), from(&Bounds::most, make)};
  }
  // A quotient by a positive number grows with its numerator, rounded down or towards 0.
  const bool quotient =
      (expression.kind == Kind::binary && op == "/") || (expression.kind == Kind::call && op == "floord");
  if (quotient && expression.operands[1].kind == Kind::integer && expression.operands[1].value > 0) {
    const auto make = [&](const Expression& a, const Expression& b) {
      Expression result = expression;
      result.operands = {a, b};
      return result;
    };
    return {from(&Bounds::least, make), from(&Bounds::most, make)};
  }
  if (expression.kind == Kind::binary && op == "+")
    return {from(&Bounds::least, sum), from(&Bounds::most, sum)};
  if (expression.kind == Kind::binary && op == "-") {
    std::swap(parts[1].least, parts[1].most);
    return {from(&Bounds::least, difference), from(&Bounds::most, difference)};
  }
  return {};
}

Bounds bounds_of(const Node& loop, const std::map<std::string, Bounds>& outer) {
  Expression last = loop.limit;  // the last value, or one beyond it in steps
  if (loop.comparison == "<") last = difference(last, Expression::integer(1));
  if (loop.comparison == ">") last = sum(last, Expression::integer(1));
  const Bounds first = bounds_over(loop.first, outer), end = bounds_over(last, outer);
  return loop.step > 0 ? Bounds{first.least, end.most} : Bounds{end.least, first.most};
}

bool never_meet(const Expression& fixed, const Expression& other, const std::vector<const Node*>& loops) {
  std::map<std::string, Bounds> ranges;
  for (const Node* loop : loops) ranges[loop->iterator] = bounds_of(*loop, ranges);
  const auto known = [](const std::optional<Expression>& e) -> std::optional<std::int64_t> {
    if (!e || simplified(*e).kind != Kind::integer) return std::nullopt;
    return simplified(*e).value;
  };
  for (std::size_t d = 0; d < fixed.operands.size(); ++d) {
    const Bounds apart = bounds_over(difference(other.operands[d], fixed.operands[d]), ranges);
    if (known(apart.least).value_or(0) > 0 || known(apart.most).value_or(0) < 0) return true;
  }
  return false;
}

Expression trip_count(const Node& loop) {
  const bool up = loop.step > 0, included = loop.comparison == "<=" || loop.comparison == ">=";
  const Expression span = up ? difference(loop.limit, loop.first) : difference(loop.first, loop.limit);
  return ceil_quotient(included ? sum(span, Expression::integer(1)) : span, up ? loop.step : -loop.step);
}

Expression ceil_quotient(const Expression& value, std::int64_t divisor) {
  if (divisor == 1) return simplified(value);
  const Expression up = sum(value, Expression::integer(divisor - 1));
  if (up.kind == Kind::integer && up.value >= 0) return Expression::integer(up.value / divisor);
  return Expression::binary("/", up, Expression::integer(divisor));
}

}  // namespace warploom::tile
