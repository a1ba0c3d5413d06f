#pragma once

#include <cstdint>

#include "warploom/search/distance.hpp"
#include "warploom/search/match.hpp"

namespace warploom::search {

struct BoundaryOptions {
  double slack = 0.25;  ///< how far onset and end may move, each, as a share of the match's length
  double band = 0.1;    ///< half-width of the band, as a share of the query's length
};

/// Where a match begins and ends.
struct Boundaries {
  std::int64_t first = 0, last = 0;  ///< onset, and one past the last sample
  friend bool operator==(const Boundaries&, const Boundaries&) = default;
};

/// Onset and end of a match, of the free search or in place, to the sample: Match::first and Match::last are
/// those of windows as long as the query times a scale.
///
/// Channels are compared as the match's pairs say (channel, lag, sign); rotated pairs are compared as they are
/// without rotation if `query` is not rotated already.
/// @param signal  the recording; @param query  that was searched for
/// @return within the recording, first < last; the match's own where nothing is nearer
/// @throws BadInput (a match that does not lie in the recording, or is not of this query; options below 0)
Boundaries refine_boundaries(const Signal& signal, const Query& query, const Match& match,
                             Normalization normalization, const BoundaryOptions& options = {});

}  // namespace warploom::search
