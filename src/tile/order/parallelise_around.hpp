#pragma once

#include <string>
#include <vector>

#include "tile/order/parallelise_groups.hpp"

namespace warploom::tile {

/// A loop of the source around one statement that has its place in the result.
struct ChosenLoop {
  int dimension = 0;
  std::string name;
  bool parallel = false;
  int group = 0;  ///< loops that are shared have the same
};

/// Which loops are chosen so far around each statement, and what there is to say of those that are left.
class LoopsAround {
 public:
  explicit LoopsAround(const Polyhedra& polyhedra)
      : polyhedra_(&polyhedra), chosen_(polyhedra.statements.size()) {}

  const Polyhedra& polyhedra() const { return *polyhedra_; }
  /// Outermost first.
  const std::vector<ChosenLoop>& of(int statement) const { return chosen_[statement]; }
  void add(int statement, ChosenLoop loop) { chosen_[statement].push_back(std::move(loop)); }
  bool is_chosen(int statement, int dimension) const;
  bool any_parallel(int statement) const;
  bool all_parallel(int statement) const;

  /// Loops of the source around all statements of the group, not chosen yet.
  std::vector<SharedLoop> candidates(const Group& group) const;

  const SourceLoop& source_loop(const SharedLoop& loop) const;
  int direction(const SharedLoop& loop) const { return source_loop(loop).direction; }
  const std::string& source_name(const SharedLoop& loop) const;
  /// "i, j"
  std::string source_names(const std::vector<SharedLoop>& loops) const;
  /// "S0, S1"
  std::string labels(const std::vector<int>& statements) const;

 private:
  const Polyhedra* polyhedra_;
  std::vector<std::vector<ChosenLoop>> chosen_;
};

}  // namespace warploom::tile
