#pragma once

#include <cstdint>
#include <span>

#include "warploom/search/distance.hpp"
#include "warploom/search/match.hpp"

namespace warploom::search {

struct BoundaryOptions {
  double slack = 0.25;  ///< how far onset and end may move, each, as a share of the match's length: [0, 0.45]
};

/// Onset and end of a match, of the free search or in place, to the sample. Match::first and Match::last are
/// those of windows as long as the query times a scale, stretched by lags.
///
/// Each pair's window is moved at its begin by a and at its end by b, the same for all pairs; the query and
/// what lies between are brought to one number of samples by linear interpolation, and normalised; a and b
/// are those of the least log(E) + 4 (a^2 + b^2) / n^2 for the mean squared difference E over all samples and
/// pairs and a match of n samples, of a grid of both (with fewer samples), then by halving the step down to a
/// sample: what is not much like the query stays where it is. So a window is judged by its own normalisation
/// and all are judged by as many samples: no end is left out because that is cheap, as open-ended paths do.
/// The match then begins at the median of its pairs' begins, and ends at that of their ends.
///
/// Channels are compared as the match's pairs say (channel, lag, scale, sign), parts of the query as the
/// whole channel. Rotated pairs are compared with `query` as it is given: rotate it first.
/// @param signal  the recording
/// @param query  that was searched for
/// @return within the recording, first < last
/// @throws BadInput (a query or match that does not fit the recording or each other, slack out of range)
/// Cost: in each pair some 290 comparisons of min(m, 32) samples and 60 of min(m, 128).
Boundaries refine_boundaries(const Signal& signal, const Query& query, const Match& match,
                             Normalization normalization, const BoundaryOptions& options = {});

/// What refined matches keep from each other, as the search that found them did.
struct Apart {
  double exclusion = 0.5;  ///< matches of one query begin farther apart than this share of its length...
  bool shared = false;  ///< ...or, as find_labels() has it, of all queries no two overlap by more than half
                        ///< of the shorter
};

/// Sets Match::refined of all, best first. A begin moves no nearer to another's, as that was found or refined
/// before, than the exclusion; of labels one that would overlap another by too much stays as it was found.
/// Matches at one place (FindOptions::alternatives) do not count as near each other.
/// @param queries  [matches] that each is a match of, as it was compared
/// @param matches  best first
/// @throws as refine_boundaries(); BadInput (not as many queries as matches, one that is none, an exclusion
///         outside [0, 1000], a match beyond 2^60), Interrupted
/// Cost: that of refine_boundaries() for each, on all threads.
void refine_all(const Signal& signal, std::span<const Query* const> queries, std::span<Match> matches,
                Normalization normalization, const Apart& apart = {}, const BoundaryOptions& options = {});

}  // namespace warploom::search
