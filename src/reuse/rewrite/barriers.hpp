#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "reuse/analysis/interference.hpp"

namespace warploom::reuse {

/// The places where a barrier may be added, and the search for the fewest that an overlay needs.
class BarrierPlanner {
 public:
  explicit BarrierPlanner(const Kernel& kernel);

  /// Pairs of objects, of those in `pairs`, that hazards without any added barrier concern.
  /// With `everywhere` barriers are taken to stand at all legal places: what is left cannot be mended.
  std::vector<Hazard> hazards(const std::vector<ObjectSet>& overlap, bool everywhere) const;

  /// The fewest insertions after which no hazard is left; one in a loop counts 8 times as much for each
  /// level. Exact for up to some 20 conflicting paths, greedy beyond. nullopt when no insertion can help;
  /// `stuck` then names the hazard.
  std::optional<Insertions> plan(const std::vector<ObjectSet>& overlap, Hazard& stuck) const;

  bool legal(std::uint32_t instruction) const { return legal_[instruction]; }

 private:
  std::vector<std::uint32_t> candidates_between(const Hazard& hazard, const Insertions& present) const;

  const Kernel& kernel_;
  HazardSearch search_;
  std::vector<bool> separates_;           ///< per instruction
  std::vector<std::uint32_t> access_at_;  ///< per instruction: the first of SharedUse::accesses, or kNone
  Insertions candidates_;                 ///< ascending
  std::vector<bool> legal_;  ///< per instruction: a barrier may be added before it, and it is a candidate
  std::vector<std::uint64_t> weight_;  ///< per instruction
};

/// Least total weight that meets every constraint (a constraint is met by any one of its elements).
/// Branch and bound; after `max_nodes` the best found so far, at worst the greedy choice.
std::vector<std::uint32_t> minimum_hitting_set(const std::vector<std::vector<std::uint32_t>>& constraints,
                                               const std::vector<std::uint64_t>& weight,
                                               std::size_t max_nodes = 20000);

}  // namespace warploom::reuse
