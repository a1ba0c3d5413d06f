#include "search/seen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "search/joint_match.hpp"
#include "search/mean_search.hpp"
#include "search/plan.hpp"
#include "search/selection.hpp"
#include "search/turned.hpp"
#include "search/windows.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::search {
namespace {

const std::vector<double> kScales = {0.8, 0.8944271909999159, 1, 1.118033988749895, 1.25};

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Samples of all channels and lengths, up to which bounds of all windows, and moments, are in memory: some
// 16 bytes for each.
constexpr std::int64_t kBounded = std::int64_t{1} << 25;

/// Of a length whose moments are not kept.
LaneWindow window_of(const float* samples, const Moments& all) {
  const auto mean = static_cast<float>(all.mean);
  const bool whole = std::isfinite(all.mean);
  return {samples, mean, static_cast<float>(all.mean - mean), whole ? static_cast<float>(all.scale) : kNaN};
}

double middle_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

std::vector<Nearby> nearest(std::vector<Nearby> places, std::int64_t count, std::int64_t exclusion) {
  std::ranges::sort(places, {}, &Nearby::logarithm);
  std::vector<Nearby> kept;
  for (const Nearby& place : places) {
    if (std::ssize(kept) == count || !std::isfinite(place.logarithm)) break;
    if (std::ranges::none_of(
            kept, [&](const Nearby& other) { return std::abs(other.offset - place.offset) <= exclusion; }))
      kept.push_back(place);
  }
  std::ranges::sort(kept, {}, &Nearby::offset);
  return kept;
}

std::vector<std::int64_t> offsets_of(std::span<const Nearby> places) {
  std::vector<std::int64_t> offsets;
  for (const Nearby& one : places) offsets.push_back(one.offset);
  return offsets;
}

double logarithm_of(double distance) { return std::log(std::max(1e-7, distance)); }

Reading plain_reading(const Query& query) {
  Reading plain;
  plain.channels = plain.places = query.places;
  plain.negated.assign(query.channels.size(), false);
  plain.lags.assign(query.channels.size(), 0);
  return plain;
}

Searched::Searched(Index& index) : index_(index), spreads_(index.signal().size()) {
  parallel_for(std::ssize(spreads_), [&](std::int64_t c) { spreads_[c] = spread_of(index.signal()[c]); });
}

Searched::Searched(Index& index, std::int64_t length) : Searched(index) {
  length_ = length;
  find_moments();
}

Searched::Searched(const Searched& other, std::int64_t length)
    : index_(other.index_), length_(length), spreads_(other.spreads_) {
  find_moments();
}

void Searched::find_moments() {
  const Signal& signal = index_.signal();
  for (std::size_t c = 0; c < signal.size(); ++c)
    moments_.push_back(index_.keep_moments(static_cast<std::int32_t>(c), length_));
  own_.resize(signal.size());
  parallel_for(std::ssize(signal), [&](std::int64_t c) {
    check_interrupt();
    if (moments_[c] != nullptr) return;
    own_[c] = window_moments(signal[c], length_, 0, std::ssize(signal[c]) - length_ + 1);
    pad(own_[c]);
    moments_[c] = &own_[c];
  });
}

Seen::Seen(const Searched& searched, const Query& query, const Reading& reading, const FindOptions& options)
    : reading_(reading), apart_(query.channels.size() > 1), searched_(searched) {
  const Index& index = searched.index();
  in_place_.band = options.band;
  in_place_.exclusion = options.exclusion;
  in_place_.scales = reading.stretched ? kScales : options.scales;
  std::vector<std::vector<float>> samples = turned(query, options.sensors, reading.turns);
  earliest_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t latest = std::numeric_limits<std::int64_t>::min();
  for (std::size_t c = 0; c < samples.size(); ++c) {
    if (reading.channels[c] < 0) continue;
    earliest_ = std::min(earliest_, reading.lags[c]);
    latest = std::max(latest, reading.lags[c]);
  }
  shifted_ = latest > earliest_;
  if (!shifted_) {
    signal_ = index.signal();
    for (std::size_t c = 0; c < signal_.size(); ++c) recorded_.emplace_back(static_cast<std::int32_t>(c), 0);
  }
  query_.label = query.label;
  for (std::size_t c = 0; c < samples.size(); ++c) {
    if (reading.channels[c] < 0) continue;
    if (reading.negated[c])
      for (float& x : samples[c]) x = -x;
    if (shifted_) {
      const std::int64_t later = reading.lags[c] - earliest_;
      signal_.push_back(
          index.signal()[reading.channels[c]].subspan(later, index.samples() - (latest - earliest_)));
      recorded_.emplace_back(reading.channels[c], later);
    }
    query_.places.push_back(shifted_ ? static_cast<std::int32_t>(signal_.size() - 1) : reading.channels[c]);
    if (c < query.names.size()) query_.names.push_back(query.names[c]);
    of_query_.push_back(static_cast<std::int32_t>(c));
    samples_.push_back(std::move(samples[c]));
  }
  query_.channels = {samples_.begin(), samples_.end()};
  patterns_ = joint_patterns(query_, in_place_, std::ssize(signal_), index.normalization());
}

std::vector<LaneWindow> Seen::windows(std::int32_t channel, std::int64_t length,
                                      std::span<const std::int64_t> offsets) const {
  const bool normalised = searched_.index().normalization() == Normalization::z;
  const bool kept = length == searched_.length();
  const std::int64_t last = samples_of_signal() - length;
  const auto [recorded, later] = recorded_[channel];
  const float* const samples = signal_[channel].data();
  std::vector<LaneWindow> all;
  std::vector<const float*> others;
  for (const std::int64_t offset : offsets) {
    LaneWindow& one = all.emplace_back(samples, 0.F, 0.F, kNaN);
    if (offset < 0 || offset > last) continue;
    if (kept)
      one = searched_.window(recorded, offset + later);
    else
      others.push_back(samples + offset);
    one.begin = samples + offset;
  }
  if (!kept) {
    const std::vector<Moments> of = moments_of_each(others, length);
    for (std::size_t k = 0, next = 0; k < offsets.size(); ++k)
      if (offsets[k] >= 0 && offsets[k] <= last) all[k] = window_of(others[next], of[next]), ++next;
  }
  if (!normalised)
    for (LaneWindow& one : all)
      if (!std::isnan(one.scale)) one = {one.begin, 0, 0, 1};
  return all;
}

Sizes Seen::sizes(const JointPattern& pattern, std::size_t channel) const {
  return {pattern.samples[channel], searched_.spread(recorded_[pattern.channels[channel]].first)};
}

std::vector<float> Seen::together_at(const JointPattern& pattern,
                                     std::span<const std::int64_t> offsets) const {
  if (!apart_) return distances(pattern, offsets);
  const bool sized = searched_.index().normalization() == Normalization::z;
  GeometricMean mean;
  for (std::size_t c = 0; c < pattern.channels.size(); ++c) {
    const std::vector<LaneWindow> some = windows(pattern.channels[c], pattern.length(), offsets);
    const CpuQuery query(signal_, {{pattern.samples[c]}, {pattern.channels[c]}, pattern.radius},
                         searched_.index().normalization());
    const Sizes of = sizes(pattern, c);
    mean.add(
        lane_distances(query, std::ssize(offsets), [&](std::int64_t, std::int64_t k) { return some[k]; }),
        [&](std::size_t k) { return sized ? of.factor(some[k].mean, some[k].rest, some[k].scale) : 1.F; });
  }
  return std::move(mean).values();
}

std::vector<float> Seen::profile(const JointPattern& pattern, std::int64_t first, std::int64_t count) {
  if (!apart_) return index().profile(pattern, first, count);
  GeometricMean mean;
  for (std::size_t c = 0; c < pattern.channels.size(); ++c) {
    const std::vector<float> distances =
        index().profile({{pattern.samples[c]}, {pattern.channels[c]}, pattern.radius}, first, count);
    if (searched_.index().normalization() != Normalization::z) {
      mean.add(distances, [](std::size_t) { return 1.F; });
      continue;
    }
    const Sizes of = sizes(pattern, c);
    const std::int32_t recorded = recorded_[pattern.channels[c]].first;
    const bool known = !shifted_ && pattern.length() == searched_.length();  // to the last bit
    WindowMoments own;
    if (!known) own = window_moments(signal_[pattern.channels[c]], pattern.length(), first, count);
    const WindowMoments& there = known ? searched_.moments(recorded) : own;
    const std::int64_t begin = known ? first : 0;
    mean.add(distances, [&](std::size_t k) {
      const std::size_t w = begin + k;
      return of.factor(there.mean[w], there.rest[w], there.scale[w]);
    });
  }
  return std::move(mean).values();
}

std::vector<MeanPattern> Seen::mean_patterns() const {
  std::vector<MeanPattern> all;
  for (const JointPattern& pattern : patterns_) {
    MeanPattern& one = all.emplace_back();
    one.radius = pattern.radius;
    const bool kept = pattern.length() == searched_.length();
    for (std::size_t c = 0; c < pattern.channels.size(); ++c) {
      const auto [recorded, later] = recorded_[pattern.channels[c]];
      one.channels.push_back({pattern.samples[c], signal_[pattern.channels[c]], searched_.spread(recorded),
                              kept ? &searched_.moments(recorded) : nullptr, later});
    }
  }
  return all;
}

std::vector<Candidate> Seen::chosen(std::int64_t limit) {
  const Index& searched = searched_.index();
  const std::int64_t samples = samples_of_signal() * std::ssize(patterns_) * std::ssize(query_.channels);
  if (searched.normalization() == Normalization::z && !searched.device().is_gpu() && samples <= kBounded) {
    return nearest_by_mean(mean_patterns(), limit, samples_of(in_place_.exclusion, query_.length()));
  }
  constexpr std::int64_t kBlock = std::int64_t{1} << 20;
  Selection selection(limit, samples_of(in_place_.exclusion, query_.length()),
                      std::numeric_limits<float>::max());
  for (std::size_t p = 0; p < patterns_.size(); ++p) {
    const std::int64_t windows = samples_of_signal() - patterns_[p].length() + 1;
    for (std::int64_t first = 0; first < windows; first += kBlock) {
      const std::vector<float> all = profile(patterns_[p], first, std::min(kBlock, windows - first));
      for (std::int64_t w = 0; w < std::ssize(all); ++w)
        selection.add({first + w, all[w], static_cast<std::int32_t>(p)});
    }
  }
  return selection.finish();
}

std::vector<Candidate> Seen::candidates(std::int64_t limit) {
  if (apart_) return chosen(limit);
  // A length at which the query is longer than the recording finds nothing there.
  std::vector<JointPattern> patterns;
  std::vector<std::int32_t> numbers;
  for (std::size_t p = 0; p < patterns_.size(); ++p)
    if (patterns_[p].length() <= samples_of_signal()) {
      patterns.push_back(patterns_[p]);
      numbers.push_back(static_cast<std::int32_t>(p));
    }
  if (patterns.empty())
    throw BadInput(fmt::format("the query has {} samples and the recording {}: give a shorter query",
                               query_.length(), samples_of_signal()));
  JointTask task;
  task.patterns = static_cast<std::int32_t>(patterns.size());
  task.limit = limit;
  task.exclusion = samples_of(in_place_.exclusion, query_.length());
  std::vector<Candidate> found = std::move(index().best(patterns, std::span(&task, 1))[0]);
  for (Candidate& one : found) one.pattern = numbers[static_cast<std::size_t>(one.pattern)];
  return found;
}

Nearby Seen::place_of(const Candidate& candidate) const {
  return {candidate.offset - earliest_, logarithm_of(candidate.distance)};
}

std::vector<Nearby> Seen::best(std::int64_t limit) {
  std::vector<Nearby> places;
  for (const Candidate& one : candidates(limit)) places.push_back(place_of(one));
  return places;
}

std::vector<float> Seen::distances(const JointPattern& pattern, std::span<const std::int64_t> offsets) const {
  const CpuQuery query(signal_, pattern, searched_.index().normalization());
  std::vector<std::vector<LaneWindow>> all;
  for (const std::int32_t channel : pattern.channels) all.push_back(windows(channel, query.length, offsets));
  return lane_distances(query, std::ssize(offsets),
                        [&](std::int64_t c, std::int64_t k) { return all[c][k]; });
}

std::vector<Nearby> Seen::at(std::span<const Nearby> places, std::int64_t around) const {
  const std::int64_t steps = around == 0 ? 0 : 1;
  std::vector<Nearby> least;
  for (const Nearby& place : places) least.push_back({place.offset});
  for (const JointPattern& pattern : patterns_) {
    // A longer window that fits begins earlier.
    const std::int64_t shift = (query_.length() - pattern.length()) / 2;
    std::vector<std::int64_t> offsets;
    for (const Nearby& place : places)
      for (std::int64_t step = -steps; step <= steps; ++step)
        offsets.push_back(place.offset + shift + step * around + earliest_);
    const std::vector<float> all = together_at(pattern, offsets);
    for (std::size_t k = 0; k < all.size(); ++k)
      if (const double x = logarithm_of(all[k]); x < least[k / (2 * steps + 1)].logarithm)
        least[k / (2 * steps + 1)] = {offsets[k] - earliest_, x};
  }
  return least;
}

std::vector<Nearby> Seen::evenly(std::int64_t count) const {
  const std::int64_t last = samples_of_signal() - longest();
  std::vector<Nearby> places;
  for (std::int64_t k = 0; k < count; ++k) places.push_back({k * last / (count - 1) - earliest_});
  return places;
}

double Seen::usual() const {
  constexpr std::int64_t kMany = 128;
  std::vector<double> all;
  for (const Nearby& place : at(evenly(kMany), 0))
    if (std::isfinite(place.logarithm)) all.push_back(place.logarithm);
  return middle_of(std::move(all));
}

std::vector<Nearby> Seen::minima() const {
  const std::int64_t zone = samples_of(in_place_.exclusion, query_.length()) + 1;
  const std::int64_t windows = samples_of_signal() - longest() + 1;
  const std::int64_t step = std::max<std::int64_t>(1, query_.length() / 32);
  if (apart_ && searched_.index().normalization() == Normalization::z && windows > 0) {
    std::vector<Nearby> least;
    for (const Candidate& one : least_by_mean(mean_patterns(), step, (windows - 1) / step + 1, zone))
      if (std::isfinite(one.distance)) least.push_back({one.offset - earliest_, logarithm_of(one.distance)});
    return least;
  }
  std::vector<std::int64_t> offsets;
  for (std::int64_t w = 0; w < windows; w += step) offsets.push_back(w);
  std::vector<Nearby> least((windows + zone - 1) / zone);
  for (const JointPattern& pattern : patterns_) {
    const std::vector<float> all = together_at(pattern, offsets);
    for (std::size_t k = 0; k < all.size(); ++k)
      if (const double x = logarithm_of(all[k]); x < least[offsets[k] / zone].logarithm)
        least[offsets[k] / zone] = {offsets[k] - earliest_, x};
  }
  std::erase_if(least, [](const Nearby& place) { return !std::isfinite(place.logarithm); });
  return least;
}

std::vector<double> Seen::of_channel(std::size_t channel, std::span<const Nearby> places) const {
  std::vector<std::int64_t> offsets;
  for (const Nearby& place : places) offsets.push_back(place.offset + earliest_);
  const JointPattern pattern{{samples_[channel]}, {query_.places[channel]}, patterns_[0].radius};
  std::vector<double> all;
  for (const float x : together_at(pattern, offsets))
    if (std::isfinite(x)) all.push_back(logarithm_of(x));
  return all;
}

Match Seen::match_of(const Query& whole, const Candidate& candidate) const {
  const Normalization normalization = searched_.index().normalization();
  JointPattern pattern = patterns_[static_cast<std::size_t>(candidate.pattern)];
  if (apart_) pattern.warping = Warping::each;
  Match match = search::match_of(signal_, normalization, query_, pattern, candidate,
                                 compared_channels(query_, normalization));
  tell_of(whole, match);
  return match;
}

Match Seen::match_at(const Query& whole, const Nearby& place) const {
  return match_of(whole, {place.offset + earliest_, static_cast<float>(std::exp(place.logarithm)), 0});
}

void Seen::tell_of(const Query& whole, Match& match) const {
  match.channels = static_cast<std::int32_t>(whole.channels.size());
  match.first = std::numeric_limits<std::int64_t>::max();
  match.last = 0;
  std::int64_t covered = 0;
  for (Pair& pair : match.pairs) {
    pair.query_channel = of_query_[pair.query_channel];
    pair.channel = reading_.channels[pair.query_channel];
    pair.switched = pair.channel != whole.places[pair.query_channel];
    pair.negated = reading_.negated[pair.query_channel];
    pair.offset += reading_.lags[pair.query_channel] - earliest_;
    pair.begin += reading_.lags[pair.query_channel] - earliest_;
    match.first = std::min(match.first, pair.offset);
    match.last = std::max(match.last, pair.begin + pair.length);
    covered += pair.coverage;
  }
  match.coverage = static_cast<double>(covered) / static_cast<double>(whole.length() * match.channels);
}

Index& Seen::index() {
  if (!shifted_) return searched_.index();
  if (!own_) {
    IndexOptions same;
    same.run = searched_.index().run();
    same.normalization = searched_.index().normalization();
    own_.emplace(signal_, same);
  }
  return *own_;
}

std::int64_t Seen::longest() const {
  std::int64_t longest = 0;
  for (const JointPattern& pattern : patterns_) longest = std::max(longest, pattern.length());
  return longest;
}

}  // namespace warploom::search
