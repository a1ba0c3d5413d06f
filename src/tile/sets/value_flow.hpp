#pragma once

#include <map>
#include <utility>

#include "tile/sets/polyhedra.hpp"

namespace warploom::tile {

/// Where one read gets its values from.
struct ReadSources {
  /// Statement, and its iterations -> the reading iterations; where data decides, all that may be.
  std::vector<std::pair<int, isl::map>> writers;
  isl::set from_before;         ///< reading iterations whose value may be from before the region
  isl::set surely_from_before;  ///< and is
};

/// Value-based dependences: the last write before a read, not all writes. Computed when asked for, and kept.
/// Source: Feautrier, "Dataflow Analysis of Array and Scalar References" (IJPP 20(1), 1991); isl's flow
/// analysis.
/// @note about a millisecond a read.
class ValueFlow {
 public:
  explicit ValueFlow(const Polyhedra& polyhedra) : polyhedra_(polyhedra) {}

  const ReadSources& sources(int statement, int reference);
  /// Every iteration of the statement reads a value from before the region there.
  bool reads_only_old_values(int statement, int reference);
  /// Iterations of the statement that write the value which an element of the variable keeps at the end.
  isl::set last_writes(int statement, const std::string& variable) const;

  /// The statement writes wherever it runs, and one element that is known.
  bool is_sure(int writer) const;

 private:
  const Polyhedra& polyhedra_;
  std::map<std::pair<int, int>, ReadSources> known_;
};

}  // namespace warploom::tile
