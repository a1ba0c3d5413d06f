#include "tile/c/propagate.hpp"

#include <algorithm>
#include <set>

#include "tile/c/functions.hpp"
#include "tile/c/mentions.hpp"
#include "tile/c/scalar_types.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

constexpr int kMostOperands = 4;  // what a compiler moves out of the loop again

/// Names, elements and literals of a sum or product; more than there may be if it is anything else.
int operands_of(const Expression& e) {
  const bool sum = (e.kind == Kind::binary && (e.text == "+" || e.text == "-" || e.text == "*")) ||
                   (e.kind == Kind::unary && e.text != "!");
  if (!sum)
    return e.kind == Kind::call || e.kind == Kind::conditional || e.kind == Kind::binary ||
                   e.kind == Kind::cast || e.kind == Kind::unary
               ? kMostOperands + 1
               : 1;
  int count = 0;
  for (const Expression& operand : e.operands) count += operands_of(operand);
  return count;
}

void collect_names(const Expression& e, std::set<std::string>& names) {
  if (e.kind == Kind::name || e.kind == Kind::element) names.insert(e.text);
  for (const Expression& operand : e.operands) collect_names(operand, names);
}

bool writes_one_of(const Node& node, const std::set<std::string>& names) {
  if (node.kind == Node::Kind::assignment && names.count(node.target.text)) return true;
  return std::ranges::any_of(node.children, [&](const Node& child) { return writes_one_of(child, names); });
}

int count_writes(const Node& node, const std::string& name) {
  int count = node.kind == Node::Kind::assignment && node.target.text == name;
  for (const Node& child : node.children) count += count_writes(child, name);
  return count;
}

int count_mentions(const Expression& e, const std::string& name) {
  int count = (e.kind == Kind::name || e.kind == Kind::element) && e.text == name;
  for (const Expression& operand : e.operands) count += count_mentions(operand, name);
  return count;
}

int count_mentions(const Node& node, const std::string& name) {
  int count = 0;
  for (const Expression* e : {&node.first, &node.limit, &node.condition, &node.target, &node.value})
    count += count_mentions(*e, name);
  for (const Node& child : node.children) count += count_mentions(child, name);
  return count;
}

void replace(Node& node, const std::map<std::string, Expression>& by) {
  node.condition = substitute(std::move(node.condition), by);
  node.target = substitute(std::move(node.target), by);
  node.value = substitute(std::move(node.value), by);
  for (Node& child : node.children) replace(child, by);
}

void forget(Node& node, const std::string& variable) {
  std::erase(node.locals, variable);
  for (Node& child : node.children) forget(child, variable);
}

void number(Node& node, int& next) {
  if (node.kind == Node::Kind::assignment) node.statement = next++;
  for (Node& child : node.children) number(child, next);
}

class Propagation {
 public:
  explicit Propagation(Region& region) : region_(region) {}

  void run() {
    while (one_in(region_.body, false)) {
    }
    int next = 0;
    number(region_.body, next);
    region_.statements = next;
  }

 private:
  bool one_in(Node& node, bool in_loop) {
    in_loop = in_loop || node.kind == Node::Kind::loop;
    for (std::size_t k = 0; k < node.children.size(); ++k) {
      if (one_in(node.children[k], in_loop)) return true;
      if (!in_loop || !goes(node, k)) continue;
      const std::string name = node.children[k].target.text;
      Expression value = std::move(node.children[k].value);
      node.children.erase(node.children.begin() + static_cast<std::ptrdiff_t>(k));
      replace(node, {{name, value}});
      forget(region_.body, name);
      std::erase_if(region_.variables, [&](const Variable& v) { return v.name == name; });
      return true;
    }
    return false;
  }

  bool goes(const Node& around, std::size_t k) const {
    const Node& assignment = around.children[k];
    if (assignment.kind != Node::Kind::assignment || assignment.op != "=" ||
        assignment.target.kind != Kind::name)
      return false;
    const std::string& name = assignment.target.text;
    const Variable* variable = find_variable(region_, name);
    if (!variable || variable->is_parameter || operands_of(assignment.value) > kMostOperands ||
        type_of(region_, assignment.value) != variable->type || mentions(assignment.value, name) ||
        count_writes(region_.body, name) != 1)
      return false;
    std::set<std::string> operands;
    collect_names(assignment.value, operands);
    int reads = 0;
    std::size_t last = k;
    for (std::size_t j = k + 1; j < around.children.size(); ++j) {
      const Node& child = around.children[j];
      const int here = count_mentions(child, name);
      if (here == 0) continue;
      if (child.kind != Node::Kind::loop || mentions(child.first, name) || mentions(child.limit, name))
        return false;
      reads += here;
      last = j;
    }
    if (reads == 0 || count_mentions(region_.body, name) != reads + 1) return false;
    for (std::size_t j = k + 1; j <= last; ++j)
      if (writes_one_of(around.children[j], operands)) return false;
    return true;
  }

  Region& region_;
};

}  // namespace

ScalarType type_of(const Region& region, const Expression& e) {
  const auto of = [&](std::size_t operand) { return type_of(region, e.operands[operand]); };
  switch (e.kind) {
    case Kind::integer:
      return ScalarType::int32;
    case Kind::real:
      return e.text.ends_with('f') || e.text.ends_with('F') ? ScalarType::float32 : ScalarType::float64;
    case Kind::name:
    case Kind::element: {
      const Variable* variable = find_variable(region, e.text);
      return variable ? variable->type : ScalarType::int32;
    }
    case Kind::unary:
      return e.text == "!" ? ScalarType::int32 : promoted(of(0));
    case Kind::binary:
      if (e.text == "<<" || e.text == ">>") return promoted(of(0));
      return is_arithmetic(e.text) ? common_type(of(0), of(1)) : ScalarType::int32;
    case Kind::conditional:
      return common_type(of(1), of(2));
    case Kind::call: {
      const Function* function = find_function(e.text);
      if (!function || function->result == Function::Result::as_arguments) {
        ScalarType type = ScalarType::int32;
        for (const Expression& operand : e.operands) type = common_type(type, type_of(region, operand));
        return type;
      }
      return function->result == Function::Result::float32 ? ScalarType::float32 : ScalarType::float64;
    }
    case Kind::cast:
      return type_named(e.text);
  }
  return ScalarType::int32;
}

void propagate_scalars(Region& region) { Propagation(region).run(); }

}  // namespace warploom::tile
