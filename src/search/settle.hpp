#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "warploom/search/index.hpp"
#include "warploom/search/match.hpp"

namespace warploom::search {

/// A match and the patterns of its pairs, in their order.
struct Unsettled {
  Match* match;
  std::vector<const Pattern*> patterns;
};

/// Moves pairs as find() defines it: less lag comes before less than a millionth of distance. In double
/// precision, on the host, wherever the candidates come from.
/// @param max_lag  no pair moves farther [samples]
/// @param exclusion  where a match would come to begin within so many samples of one that was chosen
/// elsewhere, it stays Cost: three windows of each pair by the index; of pairs that can move, a matrix for
/// each offset they can move to.
/// @throws Interrupted
void settle(Index& index, std::span<const Unsettled> matches, std::int64_t max_lag, std::int64_t exclusion);

}  // namespace warploom::search
