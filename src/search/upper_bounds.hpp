#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "warploom/search/matching.hpp"

namespace warploom::search {

/// What assembling needs of a piece, and what it found out about the matching that begins with it.
struct Place {
  static constexpr std::int32_t kAny = -1;
  std::int64_t offset = 0;
  Worth worth;  ///< weighted
  std::int32_t query_channel = 0, channel = 0;
  std::int32_t segment = -1;
  std::int32_t rotation = kAny;   ///< of an axis; other pieces go with any
  std::int32_t piece = 0;         ///< its number
  std::int32_t end = 0;           ///< of the places within the lag, which begin with this one
  Worth bound;                    ///< its matching is at most worth this...
  std::int32_t most_matched = 0;  ///< ...and has at most so many channels of the query
  bool axis() const { return rotation != kAny; }
};

/// How many of each there are.
struct PlaceLimits {
  std::int32_t channels = 0, recorded = 0, rotations = 1, segments = 0;
};

/// Places [first, last).
using PlaceRange = std::pair<std::int32_t, std::int32_t>;

/// Finds Place::bound and Place::most_matched in these ranges, on all threads: each query channel's best edge
/// in the window, whatever else it is best for, or each recorded channel's, if that is less.
/// @param places  by offset
void set_upper_bounds(std::span<Place> places, std::span<const PlaceRange> ranges, const PlaceLimits& limits);

}  // namespace warploom::search
