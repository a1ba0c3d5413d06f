#pragma once

#include <cstdint>
#include <optional>

#include "reuse/analysis/covered_region.hpp"

namespace warploom::reuse {

/// Follows all threads of the block through a region and finds out whether every byte that a load of the
/// object may read has been stored since the region's start, visible to the reading thread: by itself, or
/// by any thread with a block-wide barrier in between.
///
/// It runs the threads together, as the hardware does: each value is a Cell, a branch splits the threads
/// by what they know of its condition (who does not know it goes both ways), and they meet again where
/// the arms do. After the arms counts as stored what is stored on both, or under the condition. A loop whose
/// end some thread does not know is run once with unknown loop variables: the bytes stored before the loop
/// are what is certain in any iteration.
///
/// @param budget  evaluations left for this kernel; what is used up is subtracted
/// @return why not: the first load that is not covered, or what could not be followed; none when proved
std::optional<Reason> find_uncovered(const Region& region, std::uint64_t& budget);

}  // namespace warploom::reuse
