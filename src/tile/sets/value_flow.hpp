#pragma once

#include <map>
#include <utility>

#include "tile/sets/polyhedra.hpp"

namespace warploom::tile {

/// Where one read gets its values from.
struct ReadSources {
  std::vector<std::pair<int, isl::map>> writers;  ///< statement, and its iterations -> the reading iterations
  isl::set from_before;  ///< reading iterations whose value is from before the region
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

 private:
  const Polyhedra& polyhedra_;
  std::map<std::pair<int, int>, ReadSources> known_;
};

}  // namespace warploom::tile
