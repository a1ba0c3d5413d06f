#pragma once

#include <cstdint>
#include <vector>

#include "warploom/core/run.hpp"
#include "warploom/search/match.hpp"

namespace warploom::search {

/// The dissertation's baseline EDT (7.5.1): at each offset the sum over the query's channels of the Euclidean
/// distance from the channel that each belongs to, divided by sqrt(m) as ours is: no lag, no switch, no
/// channel that is missing.
/// @return [samples - m + 1], infinity where a window touches a missing sample; computed on the CPU, in
/// single
///         precision: within 1e-4 (relative) of euclidean_distance. Does not depend on the number of threads
/// @throws BadInput (query longer than the recording or empty, channels of unequal length, places that the
///         recording lacks), Interrupted
/// Cost: m operations a channel and offset.
std::vector<float> euclidean_profile(const Signal& signal, const Query& query, Normalization normalization,
                                     const Run& run = {});

/// Its best places, greedily by (distance, offset), more than `exclusion` samples apart, as matches in which
/// every channel is found in its own.
/// @throws BadInput as euclidean_profile; limit < 1, exclusion < 0
std::vector<Match> find_euclidean(const Signal& signal, const Query& query, Normalization normalization,
                                  std::int64_t limit, std::int64_t exclusion, const Run& run = {});

}  // namespace warploom::search
