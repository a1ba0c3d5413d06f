#include <fmt/format.h>

#include <algorithm>

#include "tile/c/wellformed.hpp"
#include "warploom/core/error.hpp"
#include "warploom/tile/source.hpp"

namespace warploom::tile {

Expression Expression::integer(std::int64_t value) { return {Kind::integer, {}, value, {}, {}}; }
Expression Expression::name(std::string name) { return {Kind::name, std::move(name), 0, {}, {}}; }
Expression Expression::element(std::string array, std::vector<Expression> subscripts) {
  return {Kind::element, std::move(array), 0, std::move(subscripts), {}};
}
Expression Expression::unary(std::string op, Expression operand) {
  return {Kind::unary, std::move(op), 0, {std::move(operand)}, {}};
}
Expression Expression::binary(std::string op, Expression left, Expression right) {
  return {Kind::binary, std::move(op), 0, {std::move(left), std::move(right)}, {}};
}
Expression Expression::conditional(Expression condition, Expression yes, Expression no) {
  return {Kind::conditional, {}, 0, {std::move(condition), std::move(yes), std::move(no)}, {}};
}
Expression Expression::call(std::string function, std::vector<Expression> arguments) {
  return {Kind::call, std::move(function), 0, std::move(arguments), {}};
}

bool Expression::operator==(const Expression& other) const {
  return kind == other.kind && text == other.text && value == other.value && operands == other.operands;
}

namespace {

/// Of an expression that is well formed.
std::int64_t evaluate(const Expression& e, const std::map<std::string, std::int64_t>& names) {
  using Kind = Expression::Kind;
  const auto refuse = [&](std::string_view why) {
    return BadInput(fmt::format("'{}' cannot be evaluated: {}", to_text(e), why));
  };
  if (e.kind == Kind::integer) return e.value;
  if (e.kind == Kind::name) {
    const auto found = names.find(e.text);
    if (found == names.end())
      throw refuse(fmt::format("'{}' has no value; give `size` {}=VALUE", e.text, e.text));
    return found->second;
  }
  std::vector<std::int64_t> v;
  for (const Expression& operand : e.operands) v.push_back(evaluate(operand, names));
  if (e.kind == Kind::conditional) return v[0] ? v[1] : v[2];
  const auto fits = [&](auto operation, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (operation(a, b, &result)) throw refuse("it leaves 64 bits");
    return result;
  };
  const auto add = [](std::int64_t a, std::int64_t b, std::int64_t* sum) {
    return __builtin_add_overflow(a, b, sum);
  };
  const auto subtract = [](std::int64_t a, std::int64_t b, std::int64_t* rest) {
    return __builtin_sub_overflow(a, b, rest);
  };
  const auto multiply = [](std::int64_t a, std::int64_t b, std::int64_t* product) {
    return __builtin_mul_overflow(a, b, product);
  };
  if (e.kind == Kind::unary) return e.text == "-" ? fits(subtract, 0, v[0]) : e.text == "!" ? !v[0] : v[0];
  if (v.size() == 2 && (e.text == "/" || e.text == "%" || e.text == "floord")) {
    if (v[1] == 0) throw refuse("it divides by 0");
    if (v[1] == -1)
      return e.text == "%" ? 0 : fits(subtract, 0, v[0]);  // the processor traps at the least integer
  }
  if (e.kind == Kind::call && v.size() == 2) {
    if (e.text == "min") return std::min(v[0], v[1]);
    if (e.text == "max") return std::max(v[0], v[1]);
    if (e.text == "floord") return v[0] / v[1] - (v[0] % v[1] != 0 && (v[0] < 0) != (v[1] < 0));
  }
  if (e.kind != Kind::binary) throw refuse("it is no integer");
  if (e.text == "+") return fits(add, v[0], v[1]);
  if (e.text == "-") return fits(subtract, v[0], v[1]);
  if (e.text == "*") return fits(multiply, v[0], v[1]);
  if (e.text == "/") return v[0] / v[1];
  if (e.text == "%") return v[0] % v[1];
  if (e.text == "<") return v[0] < v[1];
  if (e.text == "<=") return v[0] <= v[1];
  if (e.text == ">") return v[0] > v[1];
  if (e.text == ">=") return v[0] >= v[1];
  if (e.text == "==") return v[0] == v[1];
  if (e.text == "!=") return v[0] != v[1];
  if (e.text == "&&") return v[0] && v[1];
  if (e.text == "||") return v[0] || v[1];
  throw refuse("it is no integer");
}

}  // namespace

std::int64_t value_of(const Expression& e, const std::map<std::string, std::int64_t>& names) {
  if (e.kind != Expression::Kind::integer && e.kind != Expression::Kind::name) check(e);
  return evaluate(e, names);
}

Expression substitute(Expression expression, const std::map<std::string, Expression>& by) {
  if (expression.kind == Expression::Kind::name) {
    const auto found = by.find(expression.text);
    if (found != by.end()) return found->second;
  }
  for (Expression& operand : expression.operands) operand = substitute(std::move(operand), by);
  return expression;
}

}  // namespace warploom::tile
