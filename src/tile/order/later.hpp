#pragma once

#include "tile/order/schedule.hpp"

namespace warploom::tile {

/// LaterBy of a number; none where there is no bound, or none in 64 bits.
struct LaterBy {
  std::optional<std::int64_t> least = {}, most = {};
};

/// By how much sinks of a dependence run after their sources, as far as the bounds of its distance tell. That
/// is enough for most steps that are legal, and no set has to be looked at.
class Later {
 public:
  Later(const Polyhedra& polyhedra, const Dependence& dependence);

  /// What a component of the times is in the sink more than in the source. Functions of other shapes than
  /// sums of loops, and of quotients of such sums, have no bounds.
  LaterBy of(const TimeDimension& source, const TimeDimension& sink) const;

 private:
  LaterBy of(const isl::aff& source, const isl::aff& sink) const;
  LaterBy numerators(const isl::aff& source, const isl::aff& sink, std::int64_t denominator) const;

  const Dependence& dependence_;
  std::vector<int> directions_;  ///< of the source's loops
};

/// The pairs of which the sink runs at or before its source.
/// @param dependence  that holds them
isl::map turned_round(isl::map pairs, const Polyhedra& polyhedra, const Dependence& dependence,
                      const std::vector<TimeDimension>& source, const std::vector<TimeDimension>& sink);

}  // namespace warploom::tile
