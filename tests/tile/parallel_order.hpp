#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "parallel_races.hpp"
#include "warploom/tile/interpret.hpp"
#include "warploom/tile/parallelise.hpp"

/// Orders of loops as short texts, and as what they compute.
namespace warploom::tile {

inline Region region_of(const std::string& text, const std::string& file = "test.c") {
  const std::vector<Region> regions = read_source(text, file, {});
  EXPECT_EQ(regions.size(), 1u);
  return regions.front();
}

inline Nest nest_of(const std::string& text) { return Nest::analyse(region_of(text)); }

/// "[i j S0 (k S1)]": parallel loops in brackets, sequential ones in parentheses; loops that hold one loop
/// only share them.
inline std::string skeleton(const Node& node) {
  std::string text;
  if (node.kind == Node::Kind::assignment) return "S" + std::to_string(node.statement);
  for (const Node& child : node.children) {
    const std::string inside = skeleton(child);
    if (!inside.empty()) text += (text.empty() ? "" : " ") + inside;
  }
  if (node.kind != Node::Kind::loop) return text;
  const bool chain = node.children.size() == 1 && node.children.front().kind == Node::Kind::loop &&
                     node.children.front().parallel == node.parallel;
  if (chain) text = text.substr(1, text.size() - 2);
  return (node.parallel ? "[" : "(") + node.iterator + " " + text + (node.parallel ? "]" : ")");
}

// --- running

/// Parallel loops' iterations in another order: backwards, or every second one first.
enum class Order { as_written, backwards, odd_first };

inline Node reordered(Node node, Order order) {
  for (Node& child : node.children) child = reordered(std::move(child), order);
  if (node.kind != Node::Kind::loop || !node.parallel || std::abs(node.step) != 1) return node;
  if (order == Order::backwards) {
    const bool inclusive = node.comparison == "<=" || node.comparison == ">=";
    const bool up = node.step > 0;
    const Expression first = node.first;
    node.first =
        inclusive ? node.limit : Expression::binary(up ? "-" : "+", node.limit, Expression::integer(1));
    node.limit = first;
    node.comparison = up ? ">=" : "<=";
    node.step = -node.step;
    return node;
  }
  if (order == Order::odd_first) {
    Node odd = node, both;
    odd.first = Expression::binary("+", node.first, Expression::integer(node.step));
    odd.step = 2 * node.step;
    node.step = odd.step;
    both.children = {odd, node};
    return both;
  }
  return node;
}

inline Memory copy_snapshots(Memory memory, const ParallelNest& parallel) {
  for (const Snapshot& snapshot : parallel.snapshots)
    memory.arrays[snapshot.copy] = memory.arrays.at(snapshot.array);
  return memory;
}

/// The result on the variables that live on is that of the source, bit by bit: no sum is taken in another
/// order.
inline void expect_same_result(const Nest& nest, const ParallelNest& parallel,
                               const std::map<std::string, std::int64_t>& sizes, Order order) {
  const Memory start = make_memory(nest.region(), sizes, 7);
  Memory expected = start, memory = copy_snapshots(start, parallel);
  interpret(nest.region(), nest.region().body, expected);
  interpret(parallel.nest.region(), reordered(parallel.code, order), memory);
  if (order == Order::as_written) {
    EXPECT_EQ(first_race(parallel, sizes), "");
  }
  std::set<std::string> depends_on_order;  // the last iteration is another one then
  if (order != Order::as_written)
    for (const Privatised& copy : parallel.privatised) depends_on_order.insert(copy.variable);
  for (const Variable& variable : nest.region().variables) {
    if (!variable.is_parameter || depends_on_order.count(variable.name)) continue;
    const auto value = [&](const Memory& after) {
      return variable.extents.empty() ? std::vector{after.scalars.at(variable.name)}
                                      : after.arrays.at(variable.name);
    };
    const std::vector<double> ours = value(memory), theirs = value(expected);
    for (std::size_t k = 0; k < theirs.size(); ++k)
      ASSERT_TRUE(ours[k] == theirs[k] || (std::isnan(ours[k]) && std::isnan(theirs[k])))
          << variable.name << ", element " << k << ": " << ours[k] << " instead of " << theirs[k];
  }
}

/// Sizes that differ from each other, so that exchanged extents are seen.
inline std::map<std::string, std::int64_t> sizes_from(const Region& region, std::int64_t least) {
  std::map<std::string, std::int64_t> sizes;
  for (const std::string& size : region.sizes) sizes[size] = least++;
  return sizes;
}

inline void expect_same_results(const Nest& nest, const ParallelNest& parallel,
                                std::initializer_list<std::int64_t> leasts) {
  for (const std::int64_t least : leasts)
    for (const Order order : {Order::as_written, Order::backwards, Order::odd_first}) {
      SCOPED_TRACE("sizes from " + std::to_string(least) + ", order " +
                   std::to_string(static_cast<int>(order)));
      expect_same_result(nest, parallel, sizes_from(nest.region(), least), order);
    }
}

}  // namespace warploom::tile
