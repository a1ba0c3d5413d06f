// The whole C function around a tree of loops.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tile/c/mentions.hpp"
#include "tile/c/simplify.hpp"
#include "tile/order/c_text.hpp"
#include "tile/order/schedule.hpp"
#include "tile/order/thread_work.hpp"
#include "warploom/tile/index_range.hpp"
#include "warploom/tile/transform.hpp"

namespace warploom::tile {
namespace {

/// @param later  sizes that are declared after it: how many rows a parameter has, C need not be told
std::string extents_text(const Variable& variable, bool is_parameter, const std::set<std::string>& later) {
  std::string text;
  for (std::size_t d = 0; d < variable.extents.size(); ++d) {
    const Expression& extent = variable.extents[d];
    if (d == 0 && std::ranges::any_of(later, [&](const std::string& size) { return mentions(extent, size); }))
      text += "[restrict]";
    else
      text += fmt::format("[{}{}]", d == 0 && is_parameter ? "restrict " : "", to_text(extent));
  }
  return text;
}

/// The source has a pointer to the elements, and its rows are ours.
bool has_rows(const Variable& variable) { return variable.is_flat && variable.extents.size() > 1; }

std::string declaration(const Variable& variable, bool is_parameter,
                        const std::set<std::string>& later = {}) {
  if (is_parameter && variable.has_row_pointers)
    return fmt::format("{}{} {}{}", variable.is_constant ? "const " : "", c_name(variable.type),
                       std::string(variable.extents.size(), '*'), variable.name);
  if (is_parameter && (variable.is_result || variable.is_flat))
    return fmt::format("{}{} *restrict {}{}", variable.is_constant ? "const " : "", c_name(variable.type),
                       variable.name, has_rows(variable) ? "_elements" : "");
  return fmt::format("{}{} {}{}", variable.is_constant ? "const " : "", c_name(variable.type), variable.name,
                     extents_text(variable, is_parameter, later));
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

void share_nothing(Node& node) {
  node.parallel = false;
  node.reductions.clear();
  for (Node& child : node.children) share_nothing(child);
}

bool shares_a_loop(const Node& node) {
  return node.parallel || std::ranges::any_of(node.children, shares_a_loop);
}

/// Outermost parallel loops are shared among threads, where they have enough to do.
/// @param within  whether there is a loop around
void mark_outermost(Node& node, bool within) {
  if (node.kind == Node::Kind::loop && node.parallel) {
    for (Node& child : node.children) share_nothing(child);
    bound_shared_work(node);
    return;
  }
  // What strips leave over is as short as the strips.
  if (within && node.kind == Node::Kind::branch && !std::ranges::all_of(node.children, shares_a_loop))
    return share_nothing(node);
  for (Node& child : node.children) mark_outermost(child, within || node.kind == Node::Kind::loop);
}

/// Innermost loops that carry nothing are for vectors: compilers need not find that out, unless each
/// iteration has an array of its own. Within other loops they are too short to be shared among threads
/// besides.
/// @return whether there is a loop
bool mark_vectors(Node& node, const Region& region, bool within) {
  const bool is_loop = node.kind == Node::Kind::loop;
  bool loops_inside = false;
  for (Node& child : node.children)
    loops_inside = mark_vectors(child, region, within || is_loop) || loops_inside;
  const bool own_arrays = std::ranges::any_of(
      node.locals, [&](const std::string& local) { return !find_variable(region, local)->extents.empty(); });
  node.vector = is_loop && node.parallel && !loops_inside && !own_arrays && node.reductions.empty();
  if (node.vector && within) node.parallel = false;
  return loops_inside || is_loop;
}

void collect_names(const Node& node, std::set<std::string>& taken) {
  if (node.kind == Node::Kind::loop) taken.insert(node.iterator);
  for (const Node& child : node.children) collect_names(child, taken);
}

/// Elements that are alike in all iterations of a loop that carries nothing: if one iteration wrote such an
/// element, others would wait for it. What is left is that a single iteration writes it before it reads it.
class Constants {
 public:
  /// @param all  else of the arrays that the loop writes alone, which `restrict` does not set apart
  Constants(Node& loop, std::set<std::string>& taken, bool all) : loop_(loop), taken_(taken), all_(all) {
    for (const Node& child : loop.children) {
      if (child.kind != Node::Kind::assignment) return;
      written_.insert(child.target.text);
    }
    for (Node& child : loop.children) {
      child.value = named(std::move(child.value));
      before_.push_back(child.target);
    }
  }

 private:
  Expression named(Expression e) {
    if (e.kind == Expression::Kind::element && is_constant(e)) {
      const auto known = std::ranges::find(loop_.constants, e, [](const auto& one) { return one.second; });
      if (known != loop_.constants.end()) return Expression::name(known->first);
      std::string name;
      for (int number = 0; name.empty() || !taken_.insert(name).second; ++number)
        name = fmt::format("{}_{}", e.text, number);
      loop_.constants.emplace_back(name, std::move(e));
      return Expression::name(name);
    }
    for (Expression& operand : e.operands) operand = named(std::move(operand));
    return e;
  }

  bool is_constant(const Expression& element) const {
    if (!all_ && !written_.contains(element.text)) return false;
    return std::ranges::all_of(element.operands,
                               [&](const Expression& e) { return depends_on_nothing(e); }) &&
           std::ranges::all_of(before_, [&](const Expression& target) { return are_apart(element, target); });
  }
  bool depends_on_nothing(const Expression& e) const {
    return e.kind != Expression::Kind::element && e.kind != Expression::Kind::call &&
           e.text != loop_.iterator && !written_.contains(e.text) &&
           std::ranges::all_of(e.operands,
                               [&](const Expression& operand) { return depends_on_nothing(operand); });
  }
  /// What a statement before writes.
  static bool are_apart(const Expression& element, const Expression& target) {
    if (element.text != target.text) return true;
    if (element.operands.size() != target.operands.size()) return false;
    for (std::size_t d = 0; d < element.operands.size(); ++d) {
      const Expression apart = difference(element.operands[d], target.operands[d]);
      if (apart.kind == Expression::Kind::integer && apart.value != 0) return true;
    }
    return false;
  }

  Node& loop_;
  std::set<std::string>& taken_;
  bool all_ = false;
  std::set<std::string> written_;
  std::vector<Expression> before_;  ///< written by statements before
};

std::vector<Expression> operands_of(const Expression& e, std::string_view call) {
  if (e.kind != Expression::Kind::call || e.text != call) return {e};
  std::vector<Expression> all;
  for (const Expression& operand : e.operands)
    for (Expression& inner : operands_of(operand, call)) all.push_back(std::move(inner));
  return all;
}

/// Whether a loop has an iteration, by its bounds and by what those around say of theirs.
bool surely_runs(const Node& loop, const std::vector<const Node*>& around) {
  if (loop.comparison != "<" || loop.first.kind == Expression::Kind::call) return false;
  return std::ranges::all_of(operands_of(loop.limit, "min"), [&](const Expression& limit) {
    const Expression apart = difference(limit, loop.first);
    if (apart.kind == Expression::Kind::integer) return apart.value > 0;
    return std::ranges::any_of(around, [&](const Node* outer) {
      const std::vector<Expression> limits = operands_of(outer->limit, "min");
      return outer->comparison == "<" && loop.first == Expression::name(outer->iterator) &&
             std::ranges::find(limits, limit) != limits.end();
    });
  });
}

/// What threads share becomes a function of its own, in which a compiler no longer knows that arrays do not
/// overlap: it would read such elements again in each iteration. So it does of an array that is written.
void read_constants_before(Node& node, std::set<std::string>& taken, bool shared,
                           std::vector<const Node*> around) {
  if (node.kind == Node::Kind::loop) {
    if (node.vector && !node.parallel) {
      Constants(node, taken, shared);
      if (!node.constants.empty() && !surely_runs(node, around))
        node.condition = Expression::binary(node.comparison, node.first, node.limit);
    }
    around.push_back(&node);
  }
  const bool inside = shared || node.parallel;
  for (Node& child : node.children) read_constants_before(child, taken, inside, around);
}

/// Scalars that are results are reached through their pointers.
void dereference_results(Node& node, const Renamed& by) {
  node.condition = substitute(std::move(node.condition), by);
  node.target = substitute(std::move(node.target), by);
  node.value = substitute(std::move(node.value), by);
  for (auto& [name, element] : node.constants) element = substitute(std::move(element), by);
  for (Node& child : node.children) dereference_results(child, by);
}

constexpr std::int64_t kLeastTile = 32;
constexpr std::string_view kWrapping =
    "wrapping";  // sums and products of integers: how "wrapping_sum" begins

std::string before_loop(const Node& loop) {
  if (!loop.parallel) return loop.vector ? "#pragma GCC ivdep\n" : "";
  std::string text = loop.vector ? "#pragma omp parallel for simd" : "#pragma omp parallel for";
  // Tiles are many statements each, and may be cut.
  if (loop.step >= kLeastTile) text += " schedule(dynamic)";
  for (const auto& [op, variable] : loop.reductions) text += fmt::format(" reduction({}: {})", op, variable);
  if (loop.condition.kind == Expression::Kind::binary)
    text += fmt::format(" if(parallel: {})", to_text(loop.condition));
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
void write_reductions(Node& node, const Region& region, const Renamed& results,
                      std::set<std::string>& wrapping) {
  for (Reduction& reduction : node.reductions) {
    if (wraps(region, reduction)) {
      wrap_around(node, reduction.variable);
      reduction.op = fmt::format("{}_{}", kWrapping, reduction.op == "+" ? "sum" : "product");
      wrapping.insert(reduction.op);
    }
    if (results.contains(reduction.variable) || !find_variable(region, reduction.variable)->extents.empty())
      reduction.variable += "[:1]";
  }
  for (Node& child : node.children) write_reductions(child, region, results, wrapping);
}

}  // namespace

/// Of an array that no iteration may use, too, since none runs.
static std::string at_least_one(const Expression& extent) {
  if (extent.kind == Expression::Kind::integer || extent.kind == Expression::Kind::name)
    return to_text(extent);
  return to_text(Expression::conditional(Expression::binary(">", extent, Expression::integer(0)), extent,
                                         Expression::integer(1)));
}

std::string declaration(const Variable& variable) {
  if (!is_on_heap(variable)) return declaration(variable, false) + ";\n";
  std::string row;
  for (std::size_t d = 1; d < variable.extents.size(); ++d)
    row += fmt::format("[{}]", at_least_one(variable.extents[d]));
  return fmt::format("{0} (*restrict {1}){2} = __builtin_malloc(sizeof({0}[{3}]{2}));\n",
                     c_name(variable.type), variable.name, row, at_least_one(variable.extents[0]));
}

std::string release(const Variable& variable) {
  return is_on_heap(variable) ? fmt::format("__builtin_free({});\n", variable.name) : "";
}

bool needs_declaration(const Node& code, const std::string& variable) {
  if (std::ranges::find(code.locals, variable) != code.locals.end()) return false;
  Node own = code;
  own.children.clear();
  return mentions(own, variable) || std::ranges::any_of(code.children, [&](const Node& child) {
           return needs_declaration(child, variable);
         });
}

Node with_directives(const Region& region, Node code) {
  mark_vectors(code, region, false);
  mark_outermost(code, false);
  std::set<std::string> taken(region.sizes.begin(), region.sizes.end());
  for (const Variable& variable : region.variables) taken.insert(variable.name);
  collect_names(code, taken);
  read_constants_before(code, taken, false, {});
  return code;
}

std::string loops_text(const Region& region, Node code, int indentation, const std::string& index,
                       const Renamed& results, std::set<std::string>& wrapping) {
  write_reductions(code, region, results, wrapping);
  dereference_results(code, results);
  return to_text(code, indentation, before_loop, index, &region);
}

std::string reductions_text(const std::set<std::string>& wrapping) {
  std::string text;
  for (const std::string& name : wrapping) {
    const bool sum = name.ends_with("sum");
    text += fmt::format(
        "#pragma omp declare reduction({} : int : omp_out = (int)((unsigned)omp_out {} (unsigned)omp_in)) initializer(omp_priv = {})\n",
        name, sum ? "+" : "*", sum ? 0 : 1);
  }
  return text;
}

namespace {

std::string quoted(const std::string& text) { return '"' + text + '"'; }

/// Bytes of a parameter's elements.
std::string bytes_of(const Variable& variable) {
  Expression bytes = Expression::name(fmt::format("(long)sizeof({})", c_name(variable.type)));
  for (const Expression& extent : variable.extents) {
    Expression wide;
    wide.kind = Expression::Kind::cast;
    wide.text = "long";
    wide.operands = {extent};
    bytes = Expression::binary("*", std::move(bytes), std::move(wide));
  }
  return to_text(bytes);
}

/// What is assumed of the parameters, looked at.
std::string checks_text(const Region& region, const std::vector<Expression>& conditions) {
  std::string text;
  for (const Expression& condition : conditions)
    text += fmt::format("  must({}, {});\n", to_text(condition),
                        quoted(fmt::format("{}: {} is assumed", region.function, to_text(condition))));
  std::vector<const Variable*> arrays;
  for (const std::string& name : region.parameters)
    if (const Variable* variable = find_variable(region, name);
        variable && name != region.returned && !variable->has_row_pointers &&
        (variable->is_result || !variable->extents.empty()))
      arrays.push_back(variable);
  const auto start = [](const Variable& variable) {
    return variable.name + (has_rows(variable) ? "_elements" : "");
  };
  for (std::size_t a = 0; a < arrays.size(); ++a)
    for (std::size_t b = a + 1; b < arrays.size(); ++b) {
      const Variable &one = *arrays[a], &other = *arrays[b];
      if (one.is_constant && other.is_constant) continue;
      text += fmt::format("  must(are_apart({}, {}, {}, {}), {});\n", start(one), bytes_of(one), start(other),
                          bytes_of(other),
                          quoted(fmt::format("{}: {} and {} are assumed not to overlap", region.function,
                                             one.name, other.name)));
    }
  return text;
}

constexpr const char* kChecks =
    R"(static void must(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "%s\n", what);
  abort();
}
static int are_apart(const void *a, long a_bytes, const void *b, long b_bytes) {
  return a_bytes <= 0 || b_bytes <= 0 || (const char *)a + a_bytes <= (const char *)b ||
         (const char *)b + b_bytes <= (const char *)a;
}
)";

/// The function alone.
/// @param checks  its first lines
std::string function_text(const CPart& part, const std::string& index, const std::string& checks,
                          std::set<std::string>& wrapping) {
  const Region& region = part.nest.region();
  std::vector<std::string> parameters;
  std::set<std::string> later(region.sizes.begin(), region.sizes.end());
  for (const std::string& name : region.parameters) {
    later.erase(name);
    if (name == region.returned) continue;
    const Variable* variable = find_variable(region, name);
    const bool wide = !variable && region.size_declarations.at(name).wider_than_int;
    parameters.push_back(variable ? declaration(*variable, true, later) : (wide ? "long " : "int ") + name);
  }
  const Variable* returned = find_variable(region, region.returned);
  std::string text = fmt::format("{} {}({}) {{\n", returned ? c_name(returned->type) : "void",
                                 region.function, fmt::join(parameters, ", "));
  text += checks;
  std::string end;
  for (const Variable& variable : region.variables) {
    const bool is_parameter = std::ranges::find(region.parameters, variable.name) != region.parameters.end();
    if (&variable != returned && (is_parameter || !needs_declaration(part.code, variable.name))) continue;
    text += "  " + declaration(variable);
    if (is_on_heap(variable)) end += "  " + release(variable);
  }
  if (returned) end += fmt::format("  return {};\n", returned->name);
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
  Renamed results;
  for (const Variable& variable : region.variables)
    if (variable.is_result && &variable != returned)
      results[variable.name] = Expression::name("(*" + variable.name + ")");
  return text + loops_text(region, with_directives(region, part.code), 1, index, results, wrapping) + end +
         "}\n";
}

}  // namespace

std::string emit_c(const std::vector<CPart>& parts, const COptions& options) {
  std::set<std::string> calls;
  std::set<std::string> wrapping;
  std::string index = "int", functions;  // what counts with int may call with long
  for (const CPart& part : parts) {
    check_index_range(part.nest, part.code, Emitted::c);
    if (counts_with_long(part.nest.region())) index = "long";
    collect_calls(part.code, calls);
  }
  bool any_checks = false;
  for (const CPart& part : parts) {
    std::string checks;
    if (options.checks_on_entry) {
      const std::vector<Expression> conditions = conditions_on_sizes(part.nest);
      for (const Expression& condition : conditions) collect_calls(condition, calls);
      checks = checks_text(part.nest.region(), conditions);
      any_checks = any_checks || !checks.empty();
    }
    functions += (functions.empty() ? "" : "\n") +
                 function_text(part, counts_with_long(part.nest.region()) ? "long" : "int", checks, wrapping);
  }
  std::string text;
  if (any_checks) text += "#include <stdio.h>\n#include <stdlib.h>\n";
  const bool mathematics = std::ranges::any_of(
      calls, [](const std::string& name) { return name != "min" && name != "max" && name != "floord"; });
  if (mathematics) text += "#include <math.h>\n";
  if (!text.empty()) text += "\n";
  if (any_checks) text += kChecks;
  if (calls.count("min"))
    text += fmt::format("static inline {0} min({0} a, {0} b) {{ return a < b ? a : b; }}\n", index);
  if (calls.count("max"))
    text += fmt::format("static inline {0} max({0} a, {0} b) {{ return a > b ? a : b; }}\n", index);
  if (calls.count("floord"))
    text += fmt::format(
        "static inline {0} floord({0} a, {0} b) {{ return a < 0 ? -((-a + b - 1) / b) : a / b; }}\n", index);
  text += reductions_text(wrapping);
  if (!text.empty() && !text.ends_with("\n\n")) text += "\n";
  return text + functions;
}

std::string emit_c(const Nest& nest, const Node& code) { return emit_c({{nest, code}}); }

}  // namespace warploom::tile
