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

bool depends_on_any(const Expression& expression, const std::map<std::string, Bounds>& names) {
  return std::ranges::any_of(names, [&](const auto& n) { return depends_on(expression, n.first); });
}

/// Of min(a, min(b, c)): a, b and c.
std::vector<Expression> parts_of(const Expression& e, std::string_view function) {
  if (e.kind != Kind::call || e.text != function) {
    // min(a, b) + 1 is min(a + 1, b + 1).
    if (e.kind == Kind::binary && (e.text == "+" || e.text == "-") && e.operands[1].kind == Kind::integer) {
      std::vector<Expression> parts = parts_of(e.operands[0], function);
      if (parts.size() > 1)
        for (Expression& part : parts)
          part = plus(part, e.text == "+" ? e.operands[1].value : -e.operands[1].value);
      return parts.size() > 1 ? parts : std::vector{e};
    }
    return {e};
  }
  std::vector<Expression> all;
  for (const Expression& operand : e.operands)
    for (Expression& part : parts_of(operand, function)) all.push_back(std::move(part));
  return all;
}

struct SignedTerm {
  Expression value;
  std::int64_t sign = 1;
};
void collect_signed_terms(const Expression& e, std::int64_t sign, std::vector<SignedTerm>& into) {
  if (e.kind == Kind::binary && (e.text == "+" || e.text == "-")) {
    collect_signed_terms(e.operands[0], sign, into);
    collect_signed_terms(e.operands[1], e.text == "+" ? sign : -sign, into);
  } else if (e.kind == Kind::unary && e.text == "-") {
    collect_signed_terms(e.operands[0], -sign, into);
  } else {
    into.push_back({e, sign});
  }
}

/// Rounded down by a number, as isl writes it; "/" too, since isl divides so what is not negative.
bool is_quotient(const Expression& e) {
  return ((e.kind == Kind::call && e.text == "floord") || (e.kind == Kind::binary && e.text == "/")) &&
         e.operands[1].kind == Kind::integer && e.operands[1].value > 0;
}

/// At least the sum, without two quotients whose numerators' sum or difference is free of `outer`:
/// floord(a, d) - floord(b, d) <= floord(a - b + d - 1, d), floord(a, d) + floord(b, d) <= floord(a + b, d).
Expression without_quotients(const Expression& sum_of, const std::map<std::string, Bounds>& outer) {
  std::vector<SignedTerm> summands;
  collect_signed_terms(sum_of, 1, summands);
  for (std::size_t a = 0; a < summands.size(); ++a)
    for (std::size_t b = 0; b < summands.size(); ++b) {
      const SignedTerm &plus_a = summands[a], &other = summands[b];
      if (a == b || plus_a.sign < 0 || !is_quotient(plus_a.value) || !is_quotient(other.value) ||
          plus_a.value.operands[1] != other.value.operands[1])
        continue;
      const std::int64_t divisor = other.value.operands[1].value;
      const Expression &left = plus_a.value.operands[0], &right = other.value.operands[0];
      const Expression numerator =
          other.sign > 0 ? sum(left, right) : plus(difference(left, right), divisor - 1);
      if (depends_on_any(numerator, outer)) continue;
      Expression result = numerator.kind == Kind::integer && numerator.value >= 0
                              ? Expression::integer(numerator.value / divisor)
                              : Expression::call("floord", {numerator, Expression::integer(divisor)});
      for (std::size_t c = 0; c < summands.size(); ++c)
        if (c != a && c != b)
          result =
              summands[c].sign > 0 ? sum(result, summands[c].value) : difference(result, summands[c].value);
      return result;
    }
  return sum_of;
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

std::optional<OwnRange> own_range(const Node& loop, const std::map<std::string, Bounds>& outer) {
  OwnRange range{loop.first, loop.limit, loop.step, {}};
  if (loop.step < -1) return std::nullopt;
  if (loop.step == -1) {
    range = {loop.comparison == ">" ? plus(loop.limit, 1) : loop.limit, plus(loop.first, 1), 1, {}};
  } else if (loop.comparison == "<=") {
    range.end = plus(loop.limit, 1);
  }
  std::vector<Expression> counts;
  bool narrower = false;
  for (const Expression& end : parts_of(range.end, "min"))
    for (const Expression& first : parts_of(range.first, "max")) {
      const Expression span = without_quotients(difference(end, first), outer);
      const Bounds bounds = bounds_over(span, outer);
      if (!bounds.most) continue;
      narrower = narrower ||
                 (depends_on_any(end, outer) && depends_on_any(first, outer) && !depends_on_any(span, outer));
      const Expression count = ceil_quotient(*bounds.most, range.step);
      if (std::ranges::find(counts, count) == counts.end()) counts.push_back(count);
    }
  if (!narrower) return std::nullopt;
  range.count = counts.front();
  for (std::size_t c = 1; c < counts.size(); ++c)
    range.count = range.count.kind == Kind::integer && counts[c].kind == Kind::integer
                      ? Expression::integer(std::min(range.count.value, counts[c].value))
                      : Expression::call("min", {range.count, counts[c]});
  return range;
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
