#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "warploom/tile/source.hpp"

/// Runs a tree's loops and tells every access to an array, in C's order: reads of the value, then the target.
/// Slow and obvious; it shares nothing with the interpreter.
namespace warploom::tile::test {

using Values = std::map<std::string, std::int64_t>;

inline std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

inline std::int64_t integer_at(const Expression& e, const Values& values) {
  const auto operand = [&](std::size_t k) { return integer_at(e.operands.at(k), values); };
  switch (e.kind) {
    case Expression::Kind::integer:
      return e.value;
    case Expression::Kind::name:
      return values.at(e.text);
    case Expression::Kind::unary:
      return e.text == "-" ? -operand(0) : operand(0);
    case Expression::Kind::conditional:
      return operand(operand(0) != 0 ? 1 : 2);
    case Expression::Kind::call:
      if (e.text == "min") return std::min(operand(0), operand(1));
      if (e.text == "max") return std::max(operand(0), operand(1));
      if (e.text == "floord") return floor_quotient(operand(0), operand(1));
      break;
    case Expression::Kind::binary: {
      const std::int64_t a = operand(0), b = operand(1);
      if (e.text == "+") return a + b;
      if (e.text == "-") return a - b;
      if (e.text == "*") return a * b;
      if (e.text == "/") return a / b;
      if (e.text == "%") return a % b;
      if (e.text == "<") return a < b;
      if (e.text == "<=") return a <= b;
      if (e.text == ">") return a > b;
      if (e.text == ">=") return a >= b;
      if (e.text == "==") return a == b;
      if (e.text == "!=") return a != b;
      if (e.text == "&&") return a != 0 && b != 0;
      if (e.text == "||") return a != 0 || b != 0;
      break;
    }
    default:
      break;
  }
  throw std::logic_error("not an integer expression: " + to_text(e));
}

/// @param visit  (array, subscripts)
using Visit = std::function<void(const std::string&, const std::vector<std::int64_t>&)>;

inline void walk_elements(const Expression& e, const Values& values, const Visit& visit) {
  if (e.kind == Expression::Kind::element) {
    std::vector<std::int64_t> subscripts;
    for (const Expression& subscript : e.operands) subscripts.push_back(integer_at(subscript, values));
    visit(e.text, subscripts);
    return;
  }
  for (const Expression& operand : e.operands) walk_elements(operand, values, visit);
}

inline void walk_accesses(const Node& node, Values& values, const Visit& visit) {
  switch (node.kind) {
    case Node::Kind::loop: {
      const auto runs = [&](std::int64_t i) {
        const std::int64_t limit = integer_at(node.limit, values);
        return node.comparison == "<"    ? i < limit
               : node.comparison == "<=" ? i <= limit
               : node.comparison == ">"  ? i > limit
                                         : i >= limit;
      };
      for (std::int64_t i = integer_at(node.first, values); runs(i); i += node.step) {
        values[node.iterator] = i;
        for (const Node& child : node.children) walk_accesses(child, values, visit);
      }
      values.erase(node.iterator);
      break;
    }
    case Node::Kind::branch:
      if (integer_at(node.condition, values) != 0)
        walk_accesses(node.children.at(0), values, visit);
      else if (node.children.size() > 1)
        walk_accesses(node.children[1], values, visit);
      break;
    case Node::Kind::assignment:
      walk_elements(node.value, values, visit);
      if (node.op != "=") walk_elements(node.target, values, visit);
      walk_elements(node.target, values, visit);
      break;
    default:
      for (const Node& child : node.children) walk_accesses(child, values, visit);
  }
}

}  // namespace warploom::tile::test
