#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "warploom/search/index.hpp"
#include "warploom/search/match.hpp"

namespace warploom::search {

struct InPlaceOptions {
  std::int64_t limit = 20;           ///< results wanted
  double band = 0.05;                ///< half-width as a share of the length; 1 and above: none
  double exclusion = 0.5;            ///< as a share of the query's length
  std::vector<double> scales = {1};  ///< of the query in time; 1.25: slower by a quarter
  Warping warping = Warping::together;
  std::optional<double> max_distance = {};  ///< of joint_distance()
};

/// Query::channels against Query::places, one pattern a scale. Channels that are constant, where samples are
/// normalised, are left out: they say nothing.
/// @throws BadInput (as find(): a query that is empty or not finite, places, options out of range; all
///         channels constant), OutOfMemory
std::vector<JointPattern> joint_patterns(const Query& query, const InPlaceOptions& options,
                                         std::int64_t channels, Normalization normalization);

/// The plain reading: the query's channels in those of their places, all at one offset, no sign turned. The
/// best places, greedily by (distance, offset).
/// @return best first. Each has a pair for each channel that was compared; Match::distance is
/// joint_distance(),
///         Pair::distance the channel's share of it: its root mean square is Match::distance
/// @throws as joint_patterns(); BadInput (query longer than the recording), Interrupted
std::vector<Match> find_in_place(Index& index, const Query& query, const InPlaceOptions& options = {});

}  // namespace warploom::search
