#pragma once

#include <chrono>
#include <cstdint>

#include "warploom/reuse/place.hpp"

namespace warploom::reuse {

/// A set of objects is one machine word in the exact search.
inline constexpr std::uint32_t kExactSearchLimit = 64;

/// The least multiple of `alignment` (a power of two) that is >= `offset`.
constexpr std::uint64_t align_up(std::uint64_t offset, std::uint64_t alignment) {
  return (offset + alignment - 1) & ~(alignment - 1);
}

/// Replaces the valid `incumbent` by a placement of the fewest bytes; where the time limit ends the
/// search first, by the best one found. Sets bytes, lower_bound, proved_optimal and timed_out.
/// The problem is valid and has at most kExactSearchLimit objects.
void place_exactly(const PlacementProblem& problem, std::chrono::milliseconds time_limit,
                   Placement& incumbent);

}  // namespace warploom::reuse
