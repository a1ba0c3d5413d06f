#pragma once

#include <cstdint>

#include "warploom/search/distance.hpp"
#include "warploom/search/match.hpp"

namespace warploom::search {

struct BoundaryOptions {
  double slack = 0.25;  ///< how far onset and end may move, each, as a share of the match's length: [0, 0.45]
};

/// Where a match begins and ends.
struct Boundaries {
  std::int64_t first = 0, last = 0;  ///< onset, and one past the last sample
  friend bool operator==(const Boundaries&, const Boundaries&) = default;
};

/// Onset and end of a match, of the free search or in place, to the sample. Match::first and Match::last are
/// those of windows as long as the query times a scale, stretched by lags.
///
/// Each pair's window is moved at its begin by a and at its end by b, the same for all pairs; the query and
/// what lies between are brought to one number of samples by linear interpolation, and normalised; a and b
/// are those of the least log(E) + 4 (a^2 + b^2) / n^2 for the mean squared difference E over all samples and
/// pairs and a match of n samples, of a grid of both, then by halving the step down to a sample: what is not
/// much like the query stays where it is. So a window is judged by its own normalisation and all are judged
/// by as many samples: no end is left out because that is cheap, as open-ended paths do. The match then
/// begins at the median of its pairs' begins, and ends at that of their ends.
///
/// Channels are compared as the match's pairs say (channel, lag, scale, sign), parts of the query as the
/// whole channel. Rotated pairs are compared with `query` as it is given: rotate it first.
/// @param signal  the recording
/// @param query  that was searched for
/// @return within the recording, first < last
/// @throws BadInput (a query or match that does not fit the recording or each other, slack out of range)
/// Cost: some 350 comparisons of min(m, 128) samples in each pair.
Boundaries refine_boundaries(const Signal& signal, const Query& query, const Match& match,
                             Normalization normalization, const BoundaryOptions& options = {});

}  // namespace warploom::search
