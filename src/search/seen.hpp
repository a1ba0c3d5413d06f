#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "search/lanes.hpp"
#include "search/mean_search.hpp"
#include "search/sizes.hpp"
#include "search/windows.hpp"
#include "warploom/search/in_place.hpp"
#include "warploom/search/reading.hpp"

namespace warploom::search {

/// Where a query may be, and the logarithm of its distance there.
struct Nearby {
  std::int64_t offset = 0;
  double logarithm = std::numeric_limits<double>::infinity();
};

/// The nearest `count`, of finite distance, in order of their offsets; of those closer than `exclusion` the
/// nearer.
std::vector<Nearby> nearest(std::vector<Nearby> places, std::int64_t count, std::int64_t exclusion);

std::vector<std::int64_t> offsets_of(std::span<const Nearby> places);

/// Of a distance; of none less than 1e-7.
double logarithm_of(double distance);

Reading plain_reading(const Query& query);

/// A recording, or a part of one, and the moments of all its windows of a query's length.
class Searched {
 public:
  /// Without moments: to be searched, and asked for no single windows.
  explicit Searched(Index& index);
  Searched(Index& index, std::int64_t length);
  /// Windows of another length.
  Searched(const Searched& other, std::int64_t length);
  Searched(const Searched&) = delete;
  Index& index() const { return index_; }
  std::int64_t length() const { return length_; }
  /// spread_of() a channel.
  double spread(std::int32_t channel) const { return spreads_[static_cast<std::size_t>(channel)]; }
  /// Of every window; there may be more behind these, of which samples are missing.
  const WindowMoments& moments(std::int32_t channel) const {
    return *moments_[static_cast<std::size_t>(channel)];
  }
  LaneWindow window(std::int32_t channel, std::int64_t offset) const {
    const WindowMoments& all = moments(channel);
    return {index_.signal()[static_cast<std::size_t>(channel)].data() + offset, all.mean[offset],
            all.rest[offset], all.scale[offset]};
  }

 private:
  void find_moments();

  Index& index_;
  std::int64_t length_ = 0;
  std::vector<double> spreads_;                // [channels]
  std::vector<WindowMoments> own_;             // [channels] that the index does not keep
  std::vector<const WindowMoments*> moments_;  // [channels]
};

/// A recording and a query as a reading takes them: ready to be searched in place.
///
/// Each channel has a path of its own at the one onset; its distance is that of normalised windows times what
/// Sizes say, and the distance is the geometric mean of all: a channel that is far everywhere takes part in
/// no decision, and one that is near counts. Of a query of one channel it is the distance without sizes.
class Seen {
 public:
  Seen(const Searched& searched, const Query& query, const Reading& reading, const FindOptions& options);
  Seen(const Seen&) = delete;

  /// The best places, in the time of a reading's lag 0.
  std::vector<Nearby> best(std::int64_t limit);

  /// The least distance at each place and `around` samples beside it; of places where the query does not fit
  /// an infinite one.
  std::vector<Nearby> at(std::span<const Nearby> places, std::int64_t around) const;

  /// The logarithm of the usual distance: the median over evenly spaced windows.
  double usual() const;

  /// The nearest place in each zone, of every window that lies a thirty-second of the query after another.
  std::vector<Nearby> minima() const;

  /// Logarithms of distances of one of the reading's channels.
  std::vector<double> of_channel(std::size_t channel, std::span<const Nearby> places) const;

  /// Channels of the query that the reading has.
  const std::vector<std::int32_t>& of_query() const { return of_query_; }
  /// `count` places, evenly spaced.
  std::vector<Nearby> evenly(std::int64_t count) const;

  /// The best places, at any distance, and their patterns: as find_in_place() finds them, but of two
  /// channels.
  std::vector<Candidate> candidates(std::int64_t limit);
  /// In the time of a reading's lag 0.
  Nearby place_of(const Candidate& candidate) const;
  /// Of the whole query.
  Match match_of(const Query& whole, const Candidate& candidate) const;
  /// Of the whole query, at a place of at(), where it fits.
  Match match_at(const Query& whole, const Nearby& place) const;

 private:
  std::int64_t samples_of_signal() const { return std::ssize(signal_[0]); }
  /// Distances of windows here and there, as many at once as a vector has lanes, whatever device the index is
  /// on: infinite where a window leaves the recording or misses a sample.
  std::vector<float> distances(const JointPattern& pattern, std::span<const std::int64_t> offsets) const;
  /// Those of `length` samples, of a channel of signal_: NaN where one leaves the recording or misses a
  /// sample.
  std::vector<LaneWindow> windows(std::int32_t channel, std::int64_t length,
                                  std::span<const std::int64_t> offsets) const;
  /// What the sizes of a channel's windows say. @param channel  of a pattern's
  Sizes sizes(const JointPattern& pattern, std::size_t channel) const;
  /// The reading's distance there, of channels together.
  std::vector<float> together_at(const JointPattern& pattern, std::span<const std::int64_t> offsets) const;
  /// Of `count` windows side by side.
  std::vector<float> profile(const JointPattern& pattern, std::int64_t first, std::int64_t count);
  /// Views of patterns_, as they are searched.
  std::vector<MeanPattern> mean_patterns() const;
  /// candidates() of channels apart, of every length.
  std::vector<Candidate> chosen(std::int64_t limit);
  std::int64_t longest() const;
  /// A match of this query, as one of the whole query in the whole recording.
  void tell_of(const Query& whole, Match& match) const;
  /// Made when it is first needed, where channels are shifted against each other.
  Index& index();

  const Reading reading_;
  InPlaceOptions in_place_;
  std::int64_t earliest_ = 0;
  std::vector<std::vector<float>> samples_;
  std::vector<std::int32_t> of_query_;  // [of the reading's channels]
  Query query_;
  bool shifted_ = false, apart_ = false;  // apart: the query has several channels
  Signal signal_;                         // as the reading's channels are numbered
  std::vector<std::pair<std::int32_t, std::int64_t>>
      recorded_;  // of these: the recording's channel, and how much later
  const Searched& searched_;
  std::optional<Index> own_;
  std::vector<JointPattern> patterns_;
};

}  // namespace warploom::search
