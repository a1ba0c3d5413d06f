#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "warploom/search/in_place.hpp"

namespace warploom::search {

/// Channels of the query that are compared: those that have a shape.
std::vector<std::int32_t> compared_channels(const Query& query, Normalization normalization);

/// A place that was found, with each channel's share. @param pattern  of joint_patterns()
Match match_of(const Signal& signal, Normalization normalization, const Query& query,
               const JointPattern& pattern, const Candidate& candidate,
               std::span<const std::int32_t> compared);

}  // namespace warploom::search
