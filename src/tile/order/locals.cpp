#include "tile/order/locals.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "tile/c/mentions.hpp"

namespace warploom::tile {
namespace {

bool is_loop(const Node& node) { return node.kind == Node::Kind::loop; }

/// Loops and assignments below a node that name the variable, through blocks.
std::vector<Node*> holders(Node& node, const std::string& variable) {
  std::vector<Node*> found;
  for (Node& child : node.children) {
    if (!mentions(child, variable)) continue;
    if (child.kind != Node::Kind::block) {
      found.push_back(&child);
      continue;
    }
    const std::vector<Node*> inside = holders(child, variable);
    found.insert(found.end(), inside.begin(), inside.end());
  }
  return found;
}

void for_each_outermost_parallel_loop(Node& node, const auto& use) {
  if (is_loop(node) && node.parallel) return use(node);
  for (Node& child : node.children) for_each_outermost_parallel_loop(child, use);
}

using Lifetimes = std::map<int, Lifetime>;  // of one variable

/// Whether one of them writes the variable there: what is only read has been written outside.
bool holds_write(const Node& node, const std::string& variable, const Lifetimes& statements) {
  if (node.kind == Node::Kind::assignment && node.target.text == variable && statements.count(node.statement))
    return true;
  return std::ranges::any_of(node.children,
                             [&](const Node& child) { return holds_write(child, variable, statements); });
}

class Declarer {
 public:
  Declarer(const std::string& variable, const Lifetimes& lifetimes)
      : variable_(variable), lifetimes_(lifetimes) {}

  /// @param inside  of a parallel loop
  void place(Node& node, bool inside) const {
    const std::vector<Node*> all = holders(node, variable_);
    const bool go_on = std::ranges::all_of(all, [&](const Node* holder) {
      return is_loop(*holder) && first_use(holder->children, variable_) != FirstUse::read;
    });
    if (go_on) {
      for (Node* holder : all) place(*holder, inside || holder->parallel);
      return;
    }
    if (is_loop(node)) node.locals.push_back(variable_);
    if (inside) return;
    for (Node* holder : all)
      for_each_outermost_parallel_loop(*holder, [&](Node& loop) {
        if (holds_write(loop, variable_, lifetimes_)) place(loop, true);
      });
  }

 private:
  const std::string& variable_;
  const Lifetimes& lifetimes_;
};

void collect_statements(const Node& node, const Lifetimes& lifetimes, std::set<int>& statements) {
  if (node.kind == Node::Kind::assignment && lifetimes.count(node.statement))
    statements.insert(node.statement);
  for (const Node& child : node.children) collect_statements(child, lifetimes, statements);
}

/// The parallel loops, one within the other, that hold every mention within the outermost of them.
/// @return what holds all of them and no single part of which does
Node& collect_loops(Node& node, const std::string& variable, std::vector<std::string>& loops) {
  if (is_loop(node) && node.parallel) loops.push_back(node.iterator);
  Node* only = nullptr;
  for (Node& child : node.children) {
    if (!mentions(child, variable)) continue;
    if (only) return node;
    only = &child;
  }
  return only && only->kind != Node::Kind::assignment ? collect_loops(*only, variable, loops) : node;
}

/// Adds what iterations of a parallel loop have of their own, and of those within that have parts of it.
void add_private(const Nest& nest, const std::string& variable, const Lifetimes& lifetimes, Node& loop,
                 std::vector<Privatised>& all) {
  if (!holds_write(loop, variable, lifetimes)) return;
  std::set<int> statements;
  collect_statements(loop, lifetimes, statements);
  Privatised copies;
  copies.variable = variable;
  copies.statements.assign(statements.begin(), statements.end());
  Node& parts = collect_loops(loop, variable, copies.loops);
  copies.is_array = !find_variable(nest.region(), variable)->extents.empty();
  copies.reason = fmt::format("each iteration of {} writes {} before it reads it",
                              fmt::join(copies.loops, ", "), variable);
  const bool is_known = std::ranges::any_of(all, [&](const Privatised& p) {
    return p.variable == variable && p.statements == copies.statements && p.loops == copies.loops;
  });
  if (!is_known) all.push_back(std::move(copies));
  for (Node& part : parts.children)
    for_each_outermost_parallel_loop(
        part, [&](Node& inner) { add_private(nest, variable, lifetimes, inner, all); });
}

}  // namespace

void declare_locals(const Polyhedra& polyhedra, Node& code) {
  for (const auto& [variable, lifetimes] : polyhedra.lifetimes)
    Declarer(variable, lifetimes).place(code, false);
}

std::vector<Privatised> privatised_in(const Nest& nest, const Node& code) {
  std::vector<Privatised> all;
  Node tree = code;
  for (const auto& [variable, lifetimes] : nest.polyhedra().lifetimes)
    for_each_outermost_parallel_loop(tree,
                                     [&](Node& loop) { add_private(nest, variable, lifetimes, loop, all); });
  return all;
}

}  // namespace warploom::tile
