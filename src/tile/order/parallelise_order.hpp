#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tile/order/schedule.hpp"

/// The order of loops that parallelise() gives: what is decided, before it is written as a tree.
namespace warploom::tile {

/// One loop of the result: a loop of the source for each of its statements.
struct SharedLoop {
  std::map<int, int> dimension;  ///< statement -> which of its loops
  std::string name;
  std::set<std::string> privatised;  ///< variables of which each iteration has a copy
};

/// A variable with copies, and the loops (of one group) whose iterations have them.
struct PrivateVariable {
  std::string variable;
  std::vector<int> statements;
  std::vector<SharedLoop> loops;
  bool last_value = false;
  bool is_array = false;  ///< one iteration of the parallel loops touches several elements
};

/// A sequential loop over the values of a sum of loops, or why there is none.
struct WaveChoice {
  std::string loop;  ///< its name; empty: none
  std::vector<std::string> reasons;
};

struct LoopOrder {
  std::vector<std::vector<TimeDimension>> times;
  std::vector<PrivateVariable> privatised;
  /// Reads (statement, reference) that must see a snapshot for this order to be right -> why.
  std::map<std::pair<int, int>, std::string> snapshots;
  /// Arrays with copies of more than an element for each iteration of the parallel loops.
  std::set<std::string> too_large_copies;
  std::vector<WaveChoice> waves;
  std::vector<std::string> reasons;
};

/// @param shared  variables that may not get copies
LoopOrder order_loops(const Nest& nest, const std::set<std::string>& shared);

/// What is left of a dependence where copies are private: pairs whose iterations have the same copy.
isl::map without_private(const DependenceRelation& relation, const std::string& variable,
                         const std::vector<PrivateVariable>& privatised);
/// The variable that a dependence is on.
const std::string& variable_of(const Polyhedra& polyhedra, const Dependence& dependence);

}  // namespace warploom::tile
