#include <fmt/format.h>

#include <algorithm>

#include "warploom/core/error.hpp"
#include "warploom/tile/source.hpp"

namespace warploom::tile {

Expression Expression::integer(std::int64_t value) {
  Expression e;
  e.value = value;
  return e;
}

Expression Expression::name(std::string name) {
  Expression e;
  e.kind = Kind::name;
  e.text = std::move(name);
  return e;
}

Expression Expression::element(std::string array, std::vector<Expression> subscripts) {
  Expression e;
  e.kind = Kind::element;
  e.text = std::move(array);
  e.operands = std::move(subscripts);
  return e;
}

Expression Expression::binary(std::string op, Expression left, Expression right) {
  Expression e;
  e.kind = Kind::binary;
  e.text = std::move(op);
  e.operands = {std::move(left), std::move(right)};
  return e;
}

Expression Expression::call(std::string function, std::vector<Expression> arguments) {
  Expression e;
  e.kind = Kind::call;
  e.text = std::move(function);
  e.operands = std::move(arguments);
  return e;
}

bool Expression::operator==(const Expression& other) const {
  return kind == other.kind && text == other.text && value == other.value && operands == other.operands;
}

std::int64_t value_of(const Expression& e, const std::map<std::string, std::int64_t>& names) {
  using Kind = Expression::Kind;
  const auto refuse = [&](std::string_view why) {
    return BadInput(fmt::format("'{}' cannot be evaluated: {}", to_text(e), why));
  };
  if (e.kind == Kind::integer) return e.value;
  if (e.kind == Kind::name) {
    const auto found = names.find(e.text);
    if (found == names.end())
      throw refuse(fmt::format("'{}' has no value; give --size {}=VALUE", e.text, e.text));
    return found->second;
  }
  std::vector<std::int64_t> v;
  for (const Expression& operand : e.operands) v.push_back(value_of(operand, names));
  if (e.kind == Kind::conditional) return v[0] ? v[1] : v[2];
  if (e.kind == Kind::unary) return e.text == "-" ? -v[0] : e.text == "!" ? !v[0] : v[0];
  const bool divides = e.text == "/" || e.text == "%" || e.text == "floord";
  if (divides && v[1] == 0) throw refuse("it divides by 0");
  if (e.kind == Kind::call && v.size() == 2) {
    if (e.text == "min") return std::min(v[0], v[1]);
    if (e.text == "max") return std::max(v[0], v[1]);
    if (e.text == "floord") return v[0] / v[1] - (v[0] % v[1] != 0 && (v[0] < 0) != (v[1] < 0));
  }
  if (e.kind != Kind::binary) throw refuse("it is no integer");
  if (e.text == "+") return v[0] + v[1];
  if (e.text == "-") return v[0] - v[1];
  if (e.text == "*") return v[0] * v[1];
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

Expression substitute(Expression expression, const std::map<std::string, Expression>& by) {
  if (expression.kind == Expression::Kind::name) {
    const auto found = by.find(expression.text);
    if (found != by.end()) return found->second;
  }
  for (Expression& operand : expression.operands) operand = substitute(std::move(operand), by);
  return expression;
}

}  // namespace warploom::tile
