// The whole C function around a tree of loops.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tile/order/c_text.hpp"
#include "warploom/tile/index_range.hpp"
#include "warploom/tile/transform.hpp"

namespace warploom::tile {
namespace {

std::string extents_text(const Variable& variable, bool is_parameter) {
  std::string text;
  for (std::size_t d = 0; d < variable.extents.size(); ++d)
    text += fmt::format("[{}{}]", d == 0 && is_parameter ? "restrict " : "", to_text(variable.extents[d]));
  return text;
}

/// The source has a pointer to the elements, and its rows are ours.
bool has_rows(const Variable& variable) { return variable.is_flat && variable.extents.size() > 1; }

std::string declaration(const Variable& variable, bool is_parameter) {
  if (is_parameter && (variable.is_result || variable.is_flat))
    return fmt::format("{}{} *restrict {}{}", variable.is_constant ? "const " : "", c_name(variable.type),
                       variable.name, has_rows(variable) ? "_elements" : "");
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

bool is_on_heap(const Variable& variable) { return variable.at.line == 0 && !variable.extents.empty(); }

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

/// Innermost loops that carry nothing are for vectors: compilers need not find that out. Within other loops
/// they are too short to be shared among threads besides.
/// @return whether there is a loop
bool mark_vectors(Node& node, bool within) {
  const bool is_loop = node.kind == Node::Kind::loop;
  bool loops_inside = false;
  for (Node& child : node.children) loops_inside = mark_vectors(child, within || is_loop) || loops_inside;
  node.vector = is_loop && node.parallel && !loops_inside;
  if (node.vector && within) node.parallel = false;
  return loops_inside || is_loop;
}

/// Scalars that are results are reached through their pointers.
void dereference_results(Node& node, const std::map<std::string, Expression>& by) {
  node.target = substitute(std::move(node.target), by);
  node.value = substitute(std::move(node.value), by);
  for (Node& child : node.children) dereference_results(child, by);
}

std::string before_loop(const Node& loop) {
  if (loop.parallel) return loop.vector ? "#pragma omp parallel for simd\n" : "#pragma omp parallel for\n";
  return loop.vector ? "#pragma GCC ivdep\n" : "";
}

}  // namespace

std::string declaration(const Variable& variable) {
  if (!is_on_heap(variable)) return declaration(variable, false) + ";\n";
  std::string row;
  for (std::size_t d = 1; d < variable.extents.size(); ++d)
    row += fmt::format("[{}]", to_text(variable.extents[d]));
  return fmt::format("{0} (*restrict {1}){2} = __builtin_malloc(sizeof({0}[{3}]{2}));\n",
                     c_name(variable.type), variable.name, row, to_text(variable.extents[0]));
}

std::string release(const Variable& variable) {
  return is_on_heap(variable) ? fmt::format("__builtin_free({});\n", variable.name) : "";
}

std::string loops_text(const Node& code, int indentation, const std::string& index) {
  Node marked = code;
  mark_vectors(marked, false);
  mark_outermost(marked);
  return to_text(marked, indentation, before_loop, index);
}

namespace {

/// The function alone.
std::string function_text(const CPart& part, const std::string& index) {
  const Region& region = part.nest.region();
  std::vector<std::string> parameters;
  for (const std::string& name : region.parameters) {
    const Variable* variable = find_variable(region, name);
    const bool wide = !variable && region.size_declarations.at(name).wider_than_int;
    parameters.push_back(variable ? declaration(*variable, true) : (wide ? "long " : "int ") + name);
  }
  std::string text = fmt::format("void {}({}) {{\n", region.function, fmt::join(parameters, ", "));
  std::string end;
  for (const Variable& variable : region.variables) {
    if (std::ranges::find(region.parameters, variable.name) != region.parameters.end()) continue;
    text += "  " + declaration(variable);
    if (is_on_heap(variable)) end += "  " + release(variable);
  }
  for (const Variable& variable : region.variables) {
    if (!has_rows(variable) || std::ranges::find(region.parameters, variable.name) == region.parameters.end())
      continue;
    std::string rows;
    for (std::size_t d = 1; d < variable.extents.size(); ++d)
      rows += "[" + to_text(variable.extents[d]) + "]";
    const std::string type =
        fmt::format("{}{} (*", variable.is_constant ? "const " : "", c_name(variable.type));
    text += fmt::format("  {0}restrict {1}){2} = ({0}){2}){1}_elements;\n", type, variable.name, rows);
  }
  Node code = part.code;
  std::map<std::string, Expression> results;
  for (const Variable& variable : region.variables)
    if (variable.is_result) results[variable.name] = Expression::name("(*" + variable.name + ")");
  dereference_results(code, results);
  return text + loops_text(code, 1, index) + end + "}\n";
}

}  // namespace

std::string emit_c(const std::vector<CPart>& parts) {
  std::set<std::string> calls;
  std::string index = "int", functions;  // what counts with int may call with long
  for (const CPart& part : parts) {
    check_index_range(part.nest, part.code, Emitted::c);
    if (counts_with_long(part.nest.region())) index = "long";
    collect_calls(part.code, calls);
  }
  for (const CPart& part : parts)
    functions += (functions.empty() ? "" : "\n") +
                 function_text(part, counts_with_long(part.nest.region()) ? "long" : "int");
  std::string text;
  const bool mathematics = std::ranges::any_of(
      calls, [](const std::string& name) { return name != "min" && name != "max" && name != "floord"; });
  if (mathematics) text += "#include <math.h>\n\n";
  if (calls.count("min"))
    text += fmt::format("static inline {0} min({0} a, {0} b) {{ return a < b ? a : b; }}\n", index);
  if (calls.count("max"))
    text += fmt::format("static inline {0} max({0} a, {0} b) {{ return a > b ? a : b; }}\n", index);
  if (calls.count("floord"))
    text += fmt::format(
        "static inline {0} floord({0} a, {0} b) {{ return a < 0 ? -((-a + b - 1) / b) : a / b; }}\n", index);
  if (!text.empty() && !text.ends_with("\n\n")) text += "\n";
  return text + functions;
}

std::string emit_c(const Nest& nest, const Node& code) { return emit_c({{nest, code}}); }

}  // namespace warploom::tile
