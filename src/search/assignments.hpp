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

/// Each value becomes the largest of those at most `reach` away.
void spread(std::vector<float>& values, std::int64_t reach);

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
  /// Of each channel of the query in each of its candidates the correlations at some windows, added up, for
  /// each lag after or before them.
  struct Sums {
    std::int64_t most = 0, row = 0;             ///< the largest lag, to either side; floats of a candidate
    std::vector<std::int64_t> first = {};       ///< [query channels + 1] of `candidates`
    std::vector<std::int32_t> candidates = {};  ///< channels of the recording
    std::vector<float> values = {};             ///< [candidates][row] lags from -most to most, then zeros
  };
  Sums sums_of(Freedom freedom, std::span<const std::int64_t> windows) const;
  /// Of one window, which is only tried, channels are matched greedily.
  Reading fit_windows(Freedom freedom, std::span<const std::int64_t> windows) const;
  std::vector<float> likeness(const Reading& reading) const;

  const Correlations& correlations_;
  const Query& query_;
  bool negated_;
  std::int64_t lag_;  // [windows]
};

}  // namespace warploom::search
