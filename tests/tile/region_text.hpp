#pragma once

#include <algorithm>
#include <string>

#include "warploom/tile/source.hpp"

namespace warploom::tile::test {

/// The whole function again, from what was read.
inline std::string source_of(const Region& region) {
  const auto declaration = [](const Variable& variable) {
    std::string text = std::string(c_name(variable.type)) + ' ' + variable.name;
    for (const Expression& extent : variable.extents) text += '[' + to_text(extent) + ']';
    return text;
  };
  std::string text = "void " + region.function + '(';
  for (const std::string& name : region.parameters) {
    const Variable* variable = find_variable(region, name);
    text += (text.back() == '(' ? "" : ", ") + (variable ? declaration(*variable) : "int " + name);
  }
  text += ") {\n";
  for (const Variable& variable : region.variables)
    if (!variable.is_parameter) text += "  " + declaration(variable) + ";\n";
  return text + to_text(region.body, 1) + "}\n";
}

/// Whether two trees say the same, wherever they stand.
inline bool same(const Node& a, const Node& b) {
  return a.kind == b.kind && a.iterator == b.iterator && a.first == b.first && a.comparison == b.comparison &&
         a.limit == b.limit && a.step == b.step && a.condition == b.condition && a.statement == b.statement &&
         a.op == b.op && a.target == b.target && a.value == b.value &&
         std::equal(a.children.begin(), a.children.end(), b.children.begin(), b.children.end(), same);
}

}  // namespace warploom::tile::test
