#pragma once

#include <cstdint>
#include <string>

#include "warploom/search/index.hpp"

namespace warploom::search {

/// What was decided for the comparisons of patterns with channels, and why.
struct BoundsChoice {
  Prune asked = Prune::automatic;
  bool too_little = false;       ///< all matrices are less work than a trial
  std::int64_t pruned = 0;       ///< comparisons of which lower bounds left a list
  std::int64_t windows = 0;      ///< theirs
  std::int64_t left = 0;         ///< of them: not excluded
  std::int64_t refused = 0;      ///< a sample of whose windows spoke against bounds
  std::int64_t sampled = 0;      ///< windows of these samples
  std::int64_t sample_left = 0;  ///< of them: not excluded
  std::int64_t boundless =
      0;  ///< of whose tasks no largest distance could be known before, or without room for lists

  std::string text() const;
};

}  // namespace warploom::search
