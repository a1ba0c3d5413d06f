// The whole C function around a tree of loops.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tile/c/mentions.hpp"
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

/// Outermost parallel loops are shared among threads.
void mark_outermost(Node& node) {
  if (node.kind == Node::Kind::loop && node.parallel) {
    const auto clear = [](auto&& self, Node& below) -> void {
      for (Node& child : below.children) {
        child.parallel = false;
        child.reductions.clear();
        self(self, child);
      }
    };
    clear(clear, node);
    return;
  }
  for (Node& child : node.children) mark_outermost(child);
}

void collect_locals(const Node& node, std::set<std::string>& locals) {
  locals.insert(node.locals.begin(), node.locals.end());
  for (const Node& child : node.children) collect_locals(child, locals);
}

/// Whether the variable is named where no loop around declares it.
bool needs_declaration(const Node& node, const std::string& variable, bool is_local) {
  if (!is_local) return true;
  if (std::ranges::find(node.locals, variable) != node.locals.end()) return false;
  Node own = node;
  own.children.clear();
  if (mentions(own, variable)) return true;
  return std::ranges::any_of(node.children,
                             [&](const Node& child) { return needs_declaration(child, variable, is_local); });
}

/// Scalars that are results are reached through their pointers.
void dereference_results(Node& node, const std::map<std::string, Expression>& by) {
  node.target = substitute(std::move(node.target), by);
  node.value = substitute(std::move(node.value), by);
  for (Node& child : node.children) dereference_results(child, by);
}

constexpr std::string_view kWrapping =
    "wrapping";  // sums and products of integers: how "wrapping_sum" begins

std::string before_loop(const Node& loop) {
  if (!loop.parallel) return "";
  std::string text = "#pragma omp parallel for";
  for (const auto& [op, variable] : loop.reductions) text += fmt::format(" reduction({}: {})", op, variable);
  return text + "\n";
}

bool wraps(const Region& region, const Reduction& reduction) {
  return find_variable(region, reduction.variable)->type == ScalarType::int32 &&
         (reduction.op == "+" || reduction.op == "*");
}

/// Sums and products of integers, in any order, do not overflow as unsigned ones.
void wrap_around(Node& node, const std::string& variable) {
  if (node.kind == Node::Kind::assignment && node.target.text == variable) {
    const auto cast = [](const char* type, Expression value) {
      Expression whole;
      whole.kind = Expression::Kind::cast;
      whole.text = type;
      whole.operands = {std::move(value)};
      return whole;
    };
    const auto as_unsigned = [&](const auto& self, const Expression& e) -> Expression {
      if (e == node.target) return cast("unsigned", e);
      if (e.kind == Expression::Kind::binary && (e.text == "+" || e.text == "-" || e.text == "*") &&
          mentions(e, variable))
        return Expression::binary(e.text, self(self, e.operands[0]), self(self, e.operands[1]));
      return cast("unsigned", e);
    };
    Expression value =
        node.op == "=" ? node.value : Expression::binary(node.op.substr(0, 1), node.target, node.value);
    node.value = cast("int", as_unsigned(as_unsigned, value));
    node.op = "=";
  }
  for (Node& child : node.children) wrap_around(child, variable);
}

/// OpenMP's words: results are behind pointers, or arrays.
void write_reductions(Node& node, const Region& region, const std::map<std::string, Expression>& behind,
                      std::set<std::string>& wrapping) {
  for (Reduction& reduction : node.reductions) {
    if (wraps(region, reduction)) {
      wrap_around(node, reduction.variable);
      reduction.op = fmt::format("{}_{}", kWrapping, reduction.op == "+" ? "sum" : "product");
      wrapping.insert(reduction.op);
    }
    if (behind.contains(reduction.variable) || !find_variable(region, reduction.variable)->extents.empty())
      reduction.variable += "[:1]";
  }
  for (Node& child : node.children) write_reductions(child, region, behind, wrapping);
}

/// The function alone.
std::string function_text(const CPart& part, const std::string& index, std::set<std::string>& wrapping) {
  const Region& region = part.nest.region();
  std::vector<std::string> parameters;
  for (const std::string& name : region.parameters) {
    if (name == region.returned) continue;
    const Variable* variable = find_variable(region, name);
    const bool wide = !variable && region.size_declarations.at(name).wider_than_int;
    parameters.push_back(variable ? declaration(*variable, true) : (wide ? "long " : "int ") + name);
  }
  const Variable* returned = find_variable(region, region.returned);
  std::string text = fmt::format("{} {}({}) {{\n", returned ? c_name(returned->type) : "void",
                                 region.function, fmt::join(parameters, ", "));
  std::set<std::string> locals;
  collect_locals(part.code, locals);
  for (const Variable& variable : region.variables)
    if ((&variable == returned ||
         std::ranges::find(region.parameters, variable.name) == region.parameters.end()) &&
        needs_declaration(part.code, variable.name, locals.count(variable.name) > 0))
      text += "  " + declaration(variable, false) + ";\n";
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
  Node marked = part.code;
  mark_outermost(marked);
  std::map<std::string, Expression> results;
  for (const Variable& variable : region.variables)
    if (variable.is_result && &variable != returned)
      results[variable.name] = Expression::name("(*" + variable.name + ")");
  write_reductions(marked, region, results, wrapping);
  dereference_results(marked, results);
  text += to_text(marked, 1, before_loop, index, &region);
  return text + (returned ? fmt::format("  return {};\n", returned->name) : "") + "}\n";
}

}  // namespace

std::string emit_c(const std::vector<CPart>& parts) {
  std::set<std::string> calls;
  std::set<std::string> wrapping;
  std::string index = "int", functions;  // what counts with int may call with long
  for (const CPart& part : parts) {
    check_index_range(part.nest, part.code, Emitted::c);
    if (counts_with_long(part.nest.region())) index = "long";
    collect_calls(part.code, calls);
  }
  for (const CPart& part : parts)
    functions += (functions.empty() ? "" : "\n") +
                 function_text(part, counts_with_long(part.nest.region()) ? "long" : "int", wrapping);
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
  for (const std::string& name : wrapping) {
    const bool sum = name.ends_with("sum");
    text += fmt::format(
        "#pragma omp declare reduction({} : int : omp_out = (int)((unsigned)omp_out {} (unsigned)omp_in)) initializer(omp_priv = {})\n",
        name, sum ? "+" : "*", sum ? 0 : 1);
  }
  if (!text.empty() && !text.ends_with("\n\n")) text += "\n";
  return text + functions;
}

std::string emit_c(const Nest& nest, const Node& code) { return emit_c({{nest, code}}); }

}  // namespace warploom::tile
