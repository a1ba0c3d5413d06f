// The whole C function around a tree of loops.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "warploom/loops/transform.hpp"

namespace warploom::loops {
namespace {

std::string extents_text(const Variable& variable, bool is_parameter) {
  std::string text;
  for (std::size_t d = 0; d < variable.extents.size(); ++d)
    text += fmt::format("[{}{}]", d == 0 && is_parameter ? "restrict " : "", to_text(variable.extents[d]));
  return text;
}

std::string declaration(const Variable& variable, bool is_parameter) {
  return fmt::format("{}{} {}{}", variable.is_constant ? "const " : "", c_name(variable.type), variable.name,
                     extents_text(variable, is_parameter));
}

/// Functions of generated bounds that C has no operator for.
void collect_calls(const Expression& expression, std::set<std::string>& calls) {
  if (expression.kind == Expression::Kind::call) calls.insert(expression.text);
  for (const Expression& operand : expression.operands) collect_calls(operand, calls);
}

void collect_calls(const Node& node, std::set<std::string>& calls) {
  for (const Expression* e : {&node.first, &node.limit, &node.condition, &node.target, &node.value})
    collect_calls(*e, calls);
  for (const Node& child : node.children) collect_calls(child, calls);
}

/// Outermost parallel loops are shared among threads.
void mark_outermost(Node& node) {
  if (node.kind == Node::Kind::loop && node.parallel) {
    const auto clear = [](auto&& self, Node& below) -> void {
      for (Node& child : below.children) {
        child.parallel = false;
        self(self, child);
      }
    };
    clear(clear, node);
    return;
  }
  for (Node& child : node.children) mark_outermost(child);
}

std::string before_loop(const Node& loop) { return loop.parallel ? "#pragma omp parallel for\n" : ""; }

}  // namespace

std::string emit_c(const Nest& nest, const Node& code) {
  const Region& region = nest.region();
  std::set<std::string> calls;
  collect_calls(code, calls);
  std::string text;
  const bool mathematics = std::any_of(calls.begin(), calls.end(), [](const std::string& name) {
    return name != "min" && name != "max" && name != "floord";
  });
  if (mathematics) text += "#include <math.h>\n\n";
  if (calls.count("min")) text += "static inline int min(int a, int b) { return a < b ? a : b; }\n";
  if (calls.count("max")) text += "static inline int max(int a, int b) { return a > b ? a : b; }\n";
  if (calls.count("floord"))
    text += "static inline int floord(int a, int b) { return a < 0 ? -((-a + b - 1) / b) : a / b; }\n";
  if (!text.empty() && text.back() == '\n' && !text.ends_with("\n\n")) text += "\n";

  std::vector<std::string> parameters;
  for (const std::string& name : region.parameters) {
    const Variable* variable = find_variable(region, name);
    parameters.push_back(variable ? declaration(*variable, true) : "int " + name);
  }
  text += fmt::format("void {}({}) {{\n", region.function, fmt::join(parameters, ", "));
  for (const Variable& variable : region.variables)
    if (std::find(region.parameters.begin(), region.parameters.end(), variable.name) ==
        region.parameters.end())
      text += "  " + declaration(variable, false) + ";\n";
  Node marked = code;
  mark_outermost(marked);
  text += to_text(marked, 1, before_loop);
  return text + "}\n";
}

}  // namespace warploom::loops
