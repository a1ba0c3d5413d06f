#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "warploom/tile/parallelise.hpp"

namespace warploom::tile {

/// Walks a tree for sizes that are known and looks at what every iteration of every parallel loop touches.
/// The first fault found, or nothing: two iterations that touch one element, one writing, where the variable
/// is not private; a private variable read before its iteration writes it; a last value that another
/// iteration than the last one writes.
std::string first_race(const ParallelNest& parallel, const std::map<std::string, std::int64_t>& sizes);

/// Whether one of them does.
inline bool mentions(const std::vector<std::string>& reasons, const std::string& text) {
  return std::any_of(reasons.begin(), reasons.end(),
                     [&](const std::string& reason) { return reason.find(text) != std::string::npos; });
}

}  // namespace warploom::tile
