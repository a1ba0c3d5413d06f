#pragma once

#include "tile/order/parallelise_around.hpp"
#include "tile/sets/value_flow.hpp"

namespace warploom::tile {

/// Which dependences are false: gone where iterations have copies of their own, or reads see a snapshot.
class FalseDependences {
 public:
  /// @param shared  variables that may not get copies
  FalseDependences(const LoopsAround& around, const std::set<std::string>& shared)
      : around_(around), polyhedra_(around.polyhedra()), shared_(shared), flow_(polyhedra_) {}

  /// Each iteration of the loop writes the variable before it reads it, and nothing else reads what it
  /// writes, but for the value that the last iteration stores.
  bool may_be_private(const Group& group, const SharedLoop& loop, const std::string& variable);
  /// Where the variable lives on, the last iteration of the loop writes what it keeps.
  bool last_iteration_stores(const Group& group, const SharedLoop& loop, const std::string& variable) const;
  /// An anti-dependence of an array's read that sees values from before the region only.
  bool vanishes_with_snapshot(const Dependence& dependence);

  /// The variable's copies in a group's loops.
  PrivateVariable copies(const Group& group, const std::string& variable,
                         std::vector<SharedLoop> loops) const;
  /// A copy is a scalar where one iteration of the parallel loops touches one element, else an array, which a
  /// thread can hold if it is small, of known extents and does not live on: the variables that are too large.
  std::set<std::string> find_arrays(std::vector<PrivateVariable>& privatised) const;

 private:
  /// By the variable's lifetimes.
  bool has_its_own(const Group& group, const SharedLoop& loop, const std::string& variable) const;
  bool every_write_updates(const Group& group, const std::string& variable) const;
  isl::map same_copy(isl::map pairs, int writer, int reader, const SharedLoop& loop) const;

  const LoopsAround& around_;
  const Polyhedra& polyhedra_;
  const std::set<std::string>& shared_;
  ValueFlow flow_;
};

}  // namespace warploom::tile
