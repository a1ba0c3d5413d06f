// Scalars of which each iteration gets one of its own.
#include "tile/order/expanded_scalars.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tile/c/simplify.hpp"

namespace warploom::tile {
namespace {

bool names(const Node& node, const std::string& name) {
  return names(node.condition, name) || names(node.target, name) || names(node.value, name) ||
         std::ranges::any_of(node.children, [&](const Node& child) { return names(child, name); });
}

bool holds_loop_of(const Node& node, const std::string& name) {
  return std::ranges::any_of(node.children, [&](const Node& child) {
    return child.kind == Node::Kind::loop ? names(child, name) : holds_loop_of(child, name);
  });
}

/// How many values an iterator may have, from 0 on, if its bounds say so.
std::optional<Expression> extent_of(const Node& loop, const std::map<std::string, Expression>& outer) {
  const bool rises = loop.step > 0;
  const Expression& least = rises ? loop.first : loop.limit;
  const std::int64_t open = !rises && loop.comparison == ">" ? 1 : 0;
  if (least.kind != Expression::Kind::integer || least.value + open < 0) return std::nullopt;
  Expression extent = rises ? loop.limit : loop.first;
  if (!rises || loop.comparison == "<=") extent = plus(extent, 1);
  for (const auto& [iterator, values] : outer) {
    if (!names(extent, iterator)) continue;
    if (names(difference(extent, Expression::name(iterator)), iterator)) return std::nullopt;  // not i + c
    extent = simplified(substitute(extent, {{iterator, plus(values, -1)}}));
  }
  return extent;
}

class Expansions {
 public:
  explicit Expansions(const Nest& nest) : nest_(nest), region_(nest.region()) {
    for (const Variable& variable : region_.variables) taken_.insert(variable.name);
    taken_.insert(region_.sizes.begin(), region_.sizes.end());
    for (const Statement& statement : nest.statements())
      taken_.insert(statement.loops.begin(), statement.loops.end());
  }

  std::optional<Nest> run() {
    const std::vector<Variable> variables = region_.variables;  // grows
    for (const Variable& variable : variables)
      if (variable.extents.empty()) {
        scalar_ = &variable;
        for (Node& node : region_.body.children) expand(node, {});
      }
    if (!expanded_) return std::nullopt;
    int number = 0;
    renumber(region_.body, number);
    region_.statements = number;
    return Nest::analyse(std::move(region_), nest_.sizes());
  }

 private:
  void expand(Node& node, std::vector<const Node*> around) {
    const std::string& name = scalar_->name;
    if (!names(node, name)) return;
    if (node.kind == Node::Kind::block)
      for (Node& child : node.children) expand(child, around);
    if (node.kind != Node::Kind::loop || names(node.first, name) || names(node.limit, name)) return;
    around.push_back(&node);
    std::vector<Node*> users;
    for (Node& child : node.children)
      if (names(child, name)) users.push_back(&child);
    if (std::ranges::all_of(users, [](const Node* user) { return user->kind == Node::Kind::loop; })) {
      for (Node* user : users) expand(*user, around);
      return;
    }
    const Node& first = *users.front();
    const bool written_first = first.kind == Node::Kind::assignment && first.op == "=" &&
                               first.target == Expression::name(name) && !names(first.value, name);
    if (written_first && holds_loop_of(node, name)) give_each_its_own(node, around);
  }

  void give_each_its_own(Node& loop, const std::vector<const Node*>& around) {
    Variable own;
    std::map<std::string, Expression> outer;
    std::vector<Expression> subscripts;
    for (const Node* one : around) {
      const auto extent = extent_of(*one, outer);
      if (!extent) return;
      outer[one->iterator] = *extent;
      own.extents.push_back(*extent);
      subscripts.push_back(Expression::name(one->iterator));
    }
    own.type = scalar_->type;
    own.name = fresh(scalar_->name + "_each");
    const Expression element = Expression::element(own.name, subscripts);
    for (Node& child : loop.children) replace(child, element);
    region_.variables.push_back(std::move(own));
    expanded_ = true;
    if (std::erase(loop.locals, scalar_->name) > 0) return;
    Node last;  // what others may see
    last.kind = Node::Kind::assignment;
    last.op = "=";
    last.target = Expression::name(scalar_->name);
    last.value = element;
    loop.children.push_back(std::move(last));
  }

  void replace(Node& node, const Expression& by) const {
    const std::map<std::string, Expression> all{{scalar_->name, by}};
    node.condition = substitute(std::move(node.condition), all);
    node.target = substitute(std::move(node.target), all);
    node.value = substitute(std::move(node.value), all);
    for (Node& child : node.children) replace(child, by);
  }

  std::string fresh(const std::string& wanted) {
    std::string name = wanted;
    for (int number = 2; !taken_.insert(name).second; ++number) name = fmt::format("{}_{}", wanted, number);
    return name;
  }

  static void renumber(Node& node, int& number) {
    if (node.kind == Node::Kind::assignment) node.statement = number++;
    for (Node& child : node.children) renumber(child, number);
  }

  const Nest& nest_;
  Region region_;
  std::set<std::string> taken_;
  const Variable* scalar_ = nullptr;
  bool expanded_ = false;
};

}  // namespace

std::optional<Nest> with_expanded_scalars(const Nest& nest) { return Expansions(nest).run(); }

}  // namespace warploom::tile
