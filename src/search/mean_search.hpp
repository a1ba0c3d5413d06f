#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/selection.hpp"
#include "search/windows.hpp"

namespace warploom::search {

/// A channel of a query, and what it is compared with.
struct MeanChannel {
  std::span<const float> query, recorded;
  double spread = 0;                       ///< spread_of() the recording's channel
  const WindowMoments* moments = nullptr;  ///< of its windows, padded; null: they are not kept
  std::int64_t first = 0;                  ///< of the moments' windows the one that is the first here
};

/// A query of one length.
struct MeanPattern {
  std::vector<MeanChannel> channels;  ///< of none is the query constant
  std::int64_t radius = 0;
};

/// The best windows by the geometric mean of channels' distances, each times Sizes::factor(), as choose()
/// finds them among all: a window is compared only if a lower bound of its distance is less than that of
/// what would be chosen. On the processor.
std::vector<Candidate> nearest_by_mean(std::span<const MeanPattern> patterns, std::int64_t limit,
                                       std::int64_t exclusion);

/// Of windows that begin `step` samples after each other the nearest in each zone of samples; infinitely far
/// where all miss samples. @param windows  of each pattern; at least 1
std::vector<Candidate> least_by_mean(std::span<const MeanPattern> patterns, std::int64_t step,
                                     std::int64_t windows, std::int64_t zone);

}  // namespace warploom::search
