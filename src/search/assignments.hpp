#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/correlations.hpp"
#include "warploom/search/reading.hpp"

namespace warploom::search {

/// Which freedoms a reading may take.
struct Freedom {
  bool map = false;  ///< channels and signs
  bool lags = false;
};
inline constexpr Freedom kAllFreedoms = {.map = true, .lags = true};

/// How far from a place channels may lie, to either side [samples].
std::int64_t largest_lag(const Query& query, const FindOptions& options);

/// Which channels of a recording answer those of a query, with which sign and lag, by their correlations.
class Assignments {
 public:
  /// @param largest_lag  to either side [samples]
  Assignments(const Correlations& correlations, const Query& query, bool negated, std::int64_t largest_lag);

  /// The reading that most correlation at these places speaks for. Its lags are from the places, to either
  /// side.
  Reading fit(Freedom freedom, std::span<const std::int64_t> offsets) const;

  /// Offsets of at most `count` windows that agree on a reading, whatever it is. @param seeds  offsets tried
  /// beside those of the windows that are most like the query, each in a reading of its own
  std::vector<std::int64_t> places(Freedom freedom, std::span<const std::int64_t> seeds, std::int64_t count,
                                   std::int64_t exclusion) const;

  /// [windows] Of each window, the sum over channels of the largest correlation that each may have there.
  std::vector<float> most_like(Freedom freedom) const;
  /// The same of one channel.
  std::vector<float> most_like(Freedom freedom, std::size_t channel) const;

 private:
  struct Choice {
    float value = 0;       ///< correlation
    std::int64_t lag = 0;  ///< [windows]
  };
  /// [lags] The sum of correlations at windows, each lag after or before them.
  std::vector<float> sums_of(Freedom freedom, std::size_t channel, std::int32_t candidate,
                             std::span<const std::int64_t> windows) const;
  /// What is left of the largest sum beside what its lag costs. @param count  of windows; @param middle  the
  /// lag that costs nothing
  static Choice best_of(std::span<const float> sums, bool negated, float count, std::int64_t middle);
  /// Of one window, which is only tried, channels are matched greedily.
  Reading fit_windows(Freedom freedom, std::span<const std::int64_t> windows) const;
  std::vector<float> likeness(const Reading& reading) const;

  const Correlations& correlations_;
  const Query& query_;
  bool negated_;
  std::int64_t lag_;  // [windows]
};

}  // namespace warploom::search
