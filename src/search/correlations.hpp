#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "search/seen.hpp"

namespace warploom::search {

/// A channel of a query, as it is correlated.
struct CorrelatedPattern {
  std::vector<float> samples;  ///< normalised, up to whole parts
  float mean, deviation;
  explicit CorrelatedPattern(std::span<const float> channel);
};

/// Every step-th window of a recording's channel, as patterns of its length are correlated with it.
class ChannelWindows {
 public:
  ChannelWindows(const Searched& searched, std::int32_t channel, std::int64_t step, std::int64_t windows);
  ChannelWindows(const ChannelWindows&) = delete;
  std::int64_t count() const { return std::ssize(means_); }
  /// [count()] 0 where the window is constant or misses a sample.
  void correlate(const CorrelatedPattern& pattern, float* to) const;
  /// Correlations over the fourth power of Sizes::factor().
  void weigh(const float* correlations, const CorrelatedPattern& pattern, float* to) const;
  /// 0 where it is constant, NaN where a sample is missing.
  std::vector<float> take_deviations() && { return std::move(deviations_); }
  /// 0 where a sample is missing.
  std::vector<float> take_means() && { return std::move(means_); }

 private:
  std::int64_t step_;
  double spread_;
  std::vector<float> about_;                                // the channel about its mean
  std::vector<float> scales_, deviations_, there_, means_;  // there: deviations, 0 of missing windows
};

/// Whether sizes and levels of windows are compared: of several channels, where windows are normalised.
bool are_sized(const Searched& searched, const Query& query);

/// Correlations of each channel of a query with the windows of all channels in which it may be found, and
/// with the axes of its sensor: what readings are fitted by. Of every step-th window; a thirty-second of the
/// query.
class Correlations {
 public:
  /// @param step  [samples]; 0: a thirty-second of the query
  Correlations(const Searched& searched, const Query& query, const FindOptions& options,
               std::int64_t step = 0);

  std::int64_t step() const { return step_; }  ///< [samples]
  std::int64_t windows() const { return windows_; }
  /// The window that begins nearest to an offset.
  std::int64_t window(std::int64_t offset) const;

  /// Channels of the recording in which a channel of the query may be found, ascending.
  std::span<const std::int32_t> candidates(std::size_t channel) const { return candidates_[channel]; }
  /// [windows] 0 where the window is constant or misses a sample. `candidate` is one of candidates(), or on
  /// the same sensor.
  std::span<const float> of(std::size_t channel, std::int32_t candidate) const;
  /// [windows] The same of one of candidates(), over the fourth power of Sizes::factor(), of the sign of the
  /// correlation: what readings that exchange channels are fitted by. Of a query of one channel, or where
  /// windows are not normalised, of() itself.
  std::span<const float> alike(std::size_t channel, std::int32_t candidate) const;
  /// [windows] of a channel of the recording that was asked for: 0 where it is constant, NaN where a sample
  /// is missing.
  std::span<const float> deviations(std::int32_t channel) const {
    return deviations_[static_cast<std::size_t>(channel)];
  }
  /// [windows] of the same; 0 where a sample is missing.
  std::span<const float> means(std::int32_t channel) const {
    return means_[static_cast<std::size_t>(channel)];
  }
  /// spread_of() the recording's channel.
  double spread(std::int32_t channel) const { return searched_.spread(channel); }

 private:
  const Searched& searched_;
  std::int64_t step_, windows_;
  std::span<const float> row(const float* all, std::size_t channel, std::int32_t candidate) const;

  std::vector<std::vector<std::int32_t>> candidates_, computed_;  // [query channels]
  std::vector<std::int64_t> first_;  // [query channels] row of the first computed
  // [rows][windows]; alike: none where it is the same, and nothing where no candidate is
  std::unique_ptr<float[]> correlations_, alike_;
  std::vector<std::vector<float>> deviations_, means_;  // [channels][windows]
};

/// Windows of the largest values, more than `exclusion` windows apart, largest first; none whose value is not
/// above -infinity.
std::vector<std::int64_t> largest_of(std::vector<float> values, std::int64_t count, std::int64_t exclusion);

/// The sum of eighth powers of what is positive: some windows that are much alike say more than many that are
/// a little.
double agreement(std::span<const float> likeness);

/// What most of some windows agree on: a fit to one of them is tried at all others, and the best is fitted
/// again to the windows that it is most like, first to few.
/// @param seeds  windows that are tried
/// @param fit  from a list of windows
/// @param likeness  of a fit: to each window of the recording, at most 1
/// @return windows most like it, largest likeness first, at most `count`
template <class Fit, class Likeness>
std::vector<std::int64_t> agreed(std::span<const std::int64_t> seeds, std::int64_t count,
                                 std::int64_t exclusion, const Fit& fit, const Likeness& likeness) {
  std::vector<float> best;
  double most = -1;
  for (const std::int64_t seed : seeds) {
    std::vector<float> there = likeness(fit(std::span(&seed, 1)));
    const auto first = std::max<std::int64_t>(0, seed - exclusion);
    const auto own = std::min<std::int64_t>(std::ssize(there), seed + exclusion + 1) - first;
    const double sum = agreement(there) - agreement(std::span(there).subspan(first, own));
    if (sum > most) {
      most = sum;
      best = std::move(there);
    }
  }
  if (best.empty()) return {};
  constexpr int kRounds = 3;
  std::vector<std::int64_t> windows;
  for (int round = kRounds - 1;; --round) {
    windows = largest_of(std::move(best), std::max<std::int64_t>(2, count >> round), exclusion);
    if (round == 0) return windows;
    best = likeness(fit(std::span<const std::int64_t>(windows)));
  }
}

}  // namespace warploom::search
