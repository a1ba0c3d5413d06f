#include "tile/order/join_sums.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "tile/c/functions.hpp"
#include "tile/c/scalar_types.hpp"
#include "tile/sets/polyhedra.hpp"

namespace warploom::tile {
namespace {

enum class Width { integer, single, real };

Width width(ScalarType type) {
  return type == ScalarType::float64   ? Width::real
         : type == ScalarType::float32 ? Width::single
                                       : Width::integer;
}

/// The widest type in an expression: C computes in it.
Width width(const Region& region, const Expression& e) {
  if (e.kind == Expression::Kind::real)
    return e.text.ends_with('f') || e.text.ends_with('F') ? Width::single : Width::real;
  if (e.kind == Expression::Kind::element || e.kind == Expression::Kind::name) {
    const Variable* variable = find_variable(region, e.text);
    return variable ? width(variable->type) : Width::integer;
  }
  Width widest = Width::integer;
  if (e.kind == Expression::Kind::cast) widest = e.text == "float" ? Width::single : Width::real;
  if (e.kind == Expression::Kind::call) {
    const Function* function = find_function(e.text);
    if (!function || function->result == Function::Result::float64) widest = Width::real;
    if (function && function->result == Function::Result::float32) widest = Width::single;
  }
  for (const Expression& operand : e.operands) widest = std::max(widest, width(region, operand));
  return widest;
}

/// What an assignment adds to its target: `x += v`, `x -= v`, `x = x + v` or `x = x - v`.
struct Term {
  std::string op;
  const Expression* value;
};

std::optional<Term> term_of(const Node& node) {
  if (node.kind != Node::Kind::assignment) return std::nullopt;
  if (node.op == "+=" || node.op == "-=") return Term{node.op.substr(0, 1), &node.value};
  const Expression& e = node.value;
  if (node.op == "=" && e.kind == Expression::Kind::binary && (e.text == "+" || e.text == "-") &&
      e.operands[0] == node.target)
    return Term{e.text, &e.operands[1]};
  return std::nullopt;
}

/// Per statement: whether runs of it that add to one element may be joined.
class Joins {
 public:
  explicit Joins(const Nest& nest) : nest_(nest) {}

  bool operator()(int statement) {
    auto [place, fresh] = known_.try_emplace(statement, false);
    if (fresh) place->second = decide(nest_.statements()[statement]);
    return place->second;
  }

 private:
  bool decide(const Statement& statement) const {
    const Region& region = nest_.region();
    const Expression& target = statement.assignment.target;
    const Variable* variable = find_variable(region, target.text);
    if (statement.reduction != "+" || !variable || is_integer(variable->type) ||
        width(region, statement.assignment.value) > width(variable->type))
      return false;
    // No run adds what another one writes that adds to the same element.
    const Polyhedra& polyhedra = nest_.polyhedra();
    const isl::map write = polyhedra.sets[statement.number].accesses.back();
    const isl::map same = write.apply_range(write.reverse());
    return std::ranges::none_of(polyhedra.dependences, [&](const DependenceRelation& relation) {
      const Dependence& d = relation.summary;
      const auto is_target = [&](int reference) { return statement.references[reference].element == target; };
      return d.source == statement.number && d.sink == statement.number &&
             !(is_target(d.source_reference) && is_target(d.sink_reference)) &&
             !relation.pairs.intersect(same).is_empty();
    });
  }

  const Nest& nest_;
  std::map<int, bool> known_;
};

void join(Node& node, Joins& joins) {
  std::vector<Node> joined;
  for (Node& child : node.children) {
    join(child, joins);
    Node* last = joined.empty() ? nullptr : &joined.back();
    const auto term = term_of(child);
    const bool follows = term && last && last->kind == Node::Kind::assignment &&
                         last->statement == child.statement && last->target == child.target &&
                         joins(child.statement);
    if (!follows) {
      joined.push_back(std::move(child));
      continue;
    }
    if (last->op != "=") last->value = Expression::binary(last->op.substr(0, 1), last->target, last->value);
    last->op = "=";
    last->value = Expression::binary(term->op, last->value, *term->value);
  }
  node.children = std::move(joined);
}

}  // namespace

void join_sums(Node& node, const Nest& nest) {
  Joins joins(nest);
  join(node, joins);
}

}  // namespace warploom::tile
