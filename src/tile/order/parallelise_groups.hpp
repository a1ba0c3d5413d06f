#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tile/order/parallelise_sets.hpp"

/// Statements and the dependences between them as a graph.
namespace warploom::tile {

/// Statements that share loops of the result. No loops: one statement, all of whose loops are chosen.
struct Group {
  std::vector<int> statements;    ///< ascending
  std::vector<SharedLoop> loops;  ///< outermost first; one if not parallel
  bool parallel = false;
  /// Coefficients of `loops`, in the direction in which they run, in the value of a sequential loop outside
  /// of them all. Then the last of `loops` is no loop: the others and this value give its iteration. Empty:
  /// none.
  std::vector<std::int64_t> wave = {};
};

template <class T>
bool contains(const std::vector<T>& list, const T& value) {
  return std::ranges::find(list, value) != list.end();
}

/// Whether a path of relations leads from one group to another. O(groups^3 / 64 + relations).
class Reachability {
 public:
  Reachability(const std::vector<Group>& groups, const std::vector<Relation>& relations);
  bool operator()(std::size_t a, std::size_t b) const { return reached_[a][b / kBits] >> b % kBits & 1; }

 private:
  static constexpr std::size_t kBits = 64;
  std::vector<std::vector<std::uint64_t>> reached_;  ///< of each group, a bit for each
};
/// Sources before sinks; otherwise in the order of the text.
std::vector<Group> in_order(std::vector<Group> groups, const std::vector<Relation>& relations);
/// Strongly connected components, in that order, without loops as yet.
std::vector<Group> components(const std::vector<int>& statements, const std::vector<Relation>& relations);

/// Relations between statements of the list.
std::vector<Relation> within(const std::vector<Relation>& relations, const std::vector<int>& statements);
/// What the loops leave to the loops inside them.
std::vector<Relation> not_carried(std::vector<Relation> relations, const std::vector<SharedLoop>& loops);

}  // namespace warploom::tile
