#include "tile/c/wellformed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/doors.hpp"

namespace warploom::tile {
namespace {

constexpr std::size_t kAny = ~std::size_t{0};

/// Operands that an expression of this kind has.
std::size_t operands_of(Expression::Kind kind) {
  constexpr std::array<std::size_t, 9> kOperands{0, 0, 0, kAny, 1, 2, 3, kAny, 1};
  return at_enumerator(kOperands, kind, "an expression's kind");
}

void check_numbers(const Node& node, std::vector<bool>& seen) {
  if (node.kind == Node::Kind::assignment) {
    if (node.statement < 0 || static_cast<std::size_t>(node.statement) >= seen.size() || seen[node.statement])
      throw BadInput(fmt::format("an assignment is statement {} of {}: each has a number of its own, from 0",
                                 node.statement, seen.size()));
    seen[node.statement] = true;
  }
  for (const Node& child : node.children) check_numbers(child, seen);
}

}  // namespace

void check(const Expression& expression) {
  const std::size_t wanted = operands_of(expression.kind);
  if (wanted != kAny && expression.operands.size() != wanted)
    throw BadInput(fmt::format("an expression '{}' has {} operands; its kind has {}", expression.text,
                               expression.operands.size(), wanted));
  for (const Expression& operand : expression.operands) check(operand);
}

void check(const Node& node, std::size_t kernels) {
  const auto require = [](bool good, const std::string& what) {
    if (!good) throw BadInput(what);
  };
  switch (node.kind) {
    case Node::Kind::block:
      break;
    case Node::Kind::loop:
      require(
          node.comparison == "<" || node.comparison == "<=" || node.comparison == ">" ||
              node.comparison == ">=",
          fmt::format("loop {} compares with '{}'; it is <, <=, > or >=", node.iterator, node.comparison));
      require(node.step != 0, fmt::format("loop {} has the step 0", node.iterator));
      check(node.first), check(node.limit);
      break;
    case Node::Kind::branch:
      require(node.children.size() == 1 || node.children.size() == 2,
              fmt::format("a branch has {} children; it has one or two", node.children.size()));
      check(node.condition);
      break;
    case Node::Kind::assignment:
      check(node.target), check(node.value);
      break;
    case Node::Kind::launch:
      require(node.statement >= 0 && static_cast<std::size_t>(node.statement) < kernels,
              fmt::format("a launch names kernel {} of {}", node.statement, kernels));
      break;
    default:
      refuse_enumerator(node.kind, "a statement's kind");
  }
  for (const Node& child : node.children) check(child, kernels);
}

void check_locals(const Region& region, const Node& node) {
  for (const std::string& name : node.locals) {
    const Variable* variable = find_variable(region, name);
    if (node.kind != Node::Kind::loop || !variable || variable->is_parameter)
      throw BadInput(fmt::format(
          "{}: '{}' is declared within {}: that may be a variable of the region, within a loop, that does not live outside",
          region.file, name, node.kind == Node::Kind::loop ? "loop " + node.iterator : "no loop"));
  }
  for (const Node& child : node.children) check_locals(region, child);
}

namespace {

/// Sizes and loop variables, say, are not assigned.
void check_targets(const Region& region, const Node& node) {
  if (node.kind == Node::Kind::assignment && !find_variable(region, node.target.text))
    throw BadInput(
        to_text(region.file, Refusal{node.at, fmt::format("assignment to '{}'", to_text(node.target)),
                                     "it is no array and no scalar of the nest"}));
  for (const Node& child : node.children) check_targets(region, child);
}

}  // namespace

void check(const Region& region) {
  check(region.body);
  check_targets(region, region.body);
  check_locals(region, region.body);
  for (const Variable& variable : region.variables) {
    size_of(variable.type);
    for (const Expression& extent : variable.extents) check(extent);
  }
  if (region.statements < 0 || region.statements > 1 << 20)
    throw BadInput(fmt::format("{}: a region of {} statements", region.file, region.statements));
  std::vector<bool> seen(static_cast<std::size_t>(region.statements));
  check_numbers(region.body, seen);
  if (std::ranges::find(seen, false) != seen.end())
    throw BadInput(
        fmt::format("{}: a region of {} statements has fewer assignments", region.file, region.statements));
}

void check(const Nest& nest, const std::vector<int>& statements) {
  for (const int statement : statements)
    if (statement < 0 || static_cast<std::size_t>(statement) >= nest.statements().size())
      throw BadInput(fmt::format("there is no statement {}: the nest has {}, counted from 0", statement,
                                 nest.statements().size()));
}

void check(const Nest& nest, const GpuProgram& program) {
  const auto check_kernels = [&](const std::vector<Kernel>& kernels) {
    for (const Kernel& kernel : kernels) {
      check(nest, kernel.statements);
      check(kernel.tree);
      for (const auto* extents : {&kernel.grid, &kernel.block})
        for (const Expression& extent : *extents) check(extent);
      for (const Placement& placement : kernel.placements) name(placement.space);
    }
  };
  check_kernels(program.kernels);
  check(program.host, program.kernels.size());
  for (const Temporary& temporary : program.temporaries)
    for (const Expression& extent : temporary.extents) check(extent);
  if (!program.out_of_core) return;
  for (const auto* kernels :
       {&program.out_of_core->before, &program.out_of_core->update, &program.out_of_core->after})
    check_kernels(*kernels);
}

}  // namespace warploom::tile
