#include "search/settle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "search/windows.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::search {
namespace {

/// Offsets at which a pair may be, without a gap, and its distances there.
struct Stretch {
  std::int64_t first = 0;
  std::vector<double> distances;
  std::int64_t last() const { return first + std::ssize(distances) - 1; }
  std::int64_t nearest(std::int64_t offset) const { return std::clamp(offset, first, last()); }
};

/// A pair that may move.
class Movable {
 public:
  Movable(const Index& index, const Pair& pair, const Pattern& pattern)
      : channel_(index.signal()[pair.channel]),
        normalization_(index.normalization()),
        pair_(pair),
        pattern_(pattern),
        deviation_(1) {
    if (normalization_ == Normalization::z) return;
    const double scale = moments(pattern.samples, Normalization::z).scale;
    deviation_ = scale == 0 ? 0 : 1 / scale;
  }

  /// Whether distances differ by a millionth at most, or by what single precision may add to that. (Next to a
  /// candidate may be a better place that lies in the zone of another one.)
  bool near(double other, double distance, bool single) const {
    const double tolerance = single ? 3e-4 : 1e-6;
    return std::abs(other - distance) <= tolerance * std::max(distance, deviation_);
  }
  /// @param by  how much later it begins
  bool exists(std::int64_t by) const {
    const std::int64_t begin = pair_.begin + by;
    return begin >= 0 && begin + pair_.length <= std::ssize(channel_);
  }
  Stretch run(std::int64_t max_lag) const {
    const double here = distance(0);
    std::vector<double> before, from = {here};
    const auto walk = [&](std::int64_t step, std::vector<double>& distances) {
      for (std::int64_t by = step; std::abs(by) <= max_lag && exists(by); by += step) {
        check_interrupt();
        const double there = distance(by);
        if (!near(there, here, false)) break;
        distances.push_back(there);
      }
    };
    walk(-1, before);
    walk(1, from);
    std::reverse(before.begin(), before.end());
    Stretch run{pair_.offset - std::ssize(before), std::move(before)};
    run.distances.insert(run.distances.end(), from.begin(), from.end());
    return run;
  }

 private:
  /// Infinite where a sample is missing.
  double distance(std::int64_t by) const {
    const std::span<const float> window = channel_.subspan(pair_.begin + by, pair_.length);
    if (!std::ranges::all_of(window, [](float sample) { return std::isfinite(sample); }))
      return std::numeric_limits<double>::infinity();
    return dtw_distance(pattern_.samples, window, pattern_.radius, normalization_);
  }

  std::span<const float> channel_;
  Normalization normalization_;
  const Pair& pair_;
  const Pattern& pattern_;
  double deviation_;  ///< of the pattern as it is compared
};

/// The offset to which the pairs that have these runs come nearest.
std::int64_t common_offset(std::span<const Stretch> runs) {
  std::int64_t from = runs[0].first, to = runs[0].last();
  for (const Stretch& run : runs) {
    from = std::min(from, run.first);
    to = std::max(to, run.last());
  }
  std::tuple<std::int64_t, double, std::int64_t> least(std::numeric_limits<std::int64_t>::max(), 0, 0);
  for (std::int64_t offset = from; offset <= to; ++offset) {
    std::int64_t lags = 0;
    double distances = 0;
    for (const Stretch& run : runs) {
      const std::int64_t nearest = run.nearest(offset);
      lags += std::abs(nearest - offset);
      distances += run.distances[nearest - run.first];
    }
    least = std::min(least, {lags, distances, offset});
  }
  return std::get<2>(least);
}

}  // namespace

void settle(Index& index, std::span<const Unsettled> matches, std::int64_t max_lag, std::int64_t exclusion) {
  // Few pairs can move: which ones, single precision tells.
  struct Place {
    std::size_t match, pair;
    std::vector<std::int64_t> begins;
  };
  std::vector<Place> places;
  std::vector<Pattern> patterns;
  std::map<const Pattern*, std::int32_t> numbers;
  for (std::size_t m = 0; m < matches.size(); ++m) {
    const std::vector<Pair>& pairs = matches[m].match->pairs;
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      const Pattern& pattern = *matches[m].patterns[p];
      const Movable movable(index, pairs[p], pattern);
      Place place{m, p, {}};
      for (const std::int64_t by : {0, -1, 1})
        if (movable.exists(by)) place.begins.push_back(pairs[p].begin + by);
      places.push_back(std::move(place));
      if (numbers.emplace(&pattern, static_cast<std::int32_t>(patterns.size())).second)
        patterns.push_back(pattern);
    }
  }
  std::vector<Windows> windows;
  for (const Place& place : places)
    windows.push_back({numbers.at(matches[place.match].patterns[place.pair]),
                       matches[place.match].match->pairs[place.pair].channel, place.begins});
  const std::vector<std::vector<float>> distances = index.distances(patterns, windows);

  std::vector<std::vector<Stretch>> runs;  // [matches][pairs]
  for (const Unsettled& some : matches) {
    std::vector<Stretch>& of_match = runs.emplace_back();
    for (const Pair& pair : some.match->pairs) of_match.push_back({pair.offset, {0}});
  }
  parallel_for(std::ssize(places), [&](std::int64_t k) {
    const auto& [m, p, begins] = places[k];
    const Movable movable(index, matches[m].match->pairs[p], *matches[m].patterns[p]);
    const std::span<const float> around = distances[k];
    if (std::ranges::any_of(around.subspan(1), [&](float d) { return movable.near(d, around[0], true); }))
      runs[m][p] = movable.run(max_lag);
  });
  // Where matches begin now, and where they were chosen, which alternatives at a place have in common.
  std::multimap<std::int64_t, std::int64_t> begins;
  for (const Unsettled& some : matches) begins.emplace(some.match->first, some.match->first);
  const auto taken = [&](std::int64_t first, std::int64_t chosen) {
    auto near = begins.lower_bound(first - exclusion);
    while (near != begins.end() && near->first <= first + exclusion && near->second == chosen) ++near;
    return near != begins.end() && near->first <= first + exclusion;
  };
  for (std::size_t m = 0; m < matches.size(); ++m) {
    if (std::ranges::all_of(runs[m], [](const Stretch& run) { return run.distances.size() == 1; })) continue;
    Match& match = *matches[m].match;
    const std::int64_t common = common_offset(runs[m]), chosen = match.first;
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    for (const Stretch& run : runs[m]) first = std::min(first, run.nearest(common));
    if (taken(first, chosen)) continue;
    begins.extract(begins.find(chosen));
    begins.emplace(first, chosen);
    match.first = first;
    match.last = std::numeric_limits<std::int64_t>::min();
    for (std::size_t p = 0; p < match.pairs.size(); ++p) {
      Pair& pair = match.pairs[p];
      pair.begin += runs[m][p].nearest(common) - pair.offset;
      pair.offset = runs[m][p].nearest(common);
      match.last = std::max(match.last, pair.begin + pair.length);
    }
  }
}

}  // namespace warploom::search
