#include "search/own_places.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "search/assignments.hpp"
#include "search/joint_match.hpp"
#include "search/plan.hpp"
#include "search/thirds.hpp"
#include "search/turned.hpp"
#include "warploom/search/in_place.hpp"
#include "warploom/search/matching.hpp"

namespace warploom::search {
namespace {

/// The mean and the deviation of a channel.
struct Level {
  double mean = 0, deviation = 0;
};

double likeness(const Level& a, const Level& b, double sign) {
  const double size =
      a.mean * a.mean + a.deviation * a.deviation + b.mean * b.mean + b.deviation * b.deviation;
  return size > 0 ? 2 * (sign * a.mean * b.mean + a.deviation * b.deviation) / size : 1;
}

Level level_of(std::span<const float> samples) {
  const Moments all = moments(samples, Normalization::z);
  return {all.mean, all.scale == 0 ? 0 : 1 / all.scale};
}

Level level_of(const WindowMoments& windows, std::int64_t offset) {
  const float scale = windows.scale[offset];
  return {static_cast<double>(windows.mean[offset]) + windows.rest[offset], scale == 0 ? 0 : 1.0 / scale};
}

/// The least distance of each at its place and a fiftieth of the query beside it, all at once: a lane for
/// each, whose windows are those of its reading. As Seen's, the geometric mean of all channels.
void look_around(const Searched& searched, const Query& query, const FindOptions& options,
                 std::vector<OwnPlace>& places) {
  const Index& index = searched.index();
  const std::int64_t around = std::max<std::int64_t>(1, query.length() / 50);
  const std::int64_t last = index.samples() - query.length();
  InPlaceOptions in_place;
  in_place.band = options.band;
  in_place.exclusion = options.exclusion;
  const std::vector<std::int32_t> compared = compared_channels(query, index.normalization());
  const JointPattern all =
      joint_patterns(query, in_place, std::ssize(index.signal()), index.normalization())[0];
  const auto window_of = [&](std::size_t c, std::int64_t k) {
    const OwnPlace& own = places[k / 3];
    const std::int32_t channel = compared[c];
    const std::int64_t offset = own.place.offset + (k % 3 - 1) * around + own.reading.lags[channel];
    const bool there = offset >= 0 && offset <= last;
    LaneWindow window = searched.window(own.reading.channels[channel], there ? offset : 0);
    if (!there) window.scale = std::numeric_limits<float>::quiet_NaN();
    return window;
  };
  const bool sized = index.normalization() == Normalization::z;
  GeometricMean mean;
  for (std::size_t c = 0; c < compared.size(); ++c) {
    const JointPattern some{{all.samples[c]}, {all.channels[c]}, all.radius};
    const CpuQuery cpu(index.signal(), some, index.normalization());
    const std::vector<float> distances =
        lane_distances(cpu, 3 * std::ssize(places), [&](std::int64_t, std::int64_t k) {
          LaneWindow window = window_of(c, k);
          if (!sized && !std::isnan(window.scale)) window = {window.begin, 0, 0, 1};
          if (places[k / 3].reading.negated[compared[c]]) window.scale = -window.scale;
          return window;
        });
    std::vector<Sizes> sizes;  // [the recording's channels]
    for (std::int32_t r = 0; r < std::ssize(index.signal()); ++r)
      sizes.emplace_back(all.samples[c], searched.spread(r));
    mean.add(distances, [&](std::size_t k) {
      if (!sized) return 1.F;
      const Reading& reading = places[k / 3].reading;
      const LaneWindow window = window_of(c, static_cast<std::int64_t>(k));
      const float sign = reading.negated[compared[c]] ? -1 : 1;
      return sizes[reading.channels[compared[c]]].factor(sign * window.mean, sign * window.rest,
                                                         window.scale);
    });
  }
  const std::vector<float> distances = std::move(mean).values();
  for (std::size_t k = 0; k < places.size(); ++k) {
    const Nearby at = places[k].place;
    for (std::int64_t step = -1; step <= 1; ++step)
      if (const double x = logarithm_of(distances[3 * k + 1 + step]); x < places[k].place.logarithm)
        places[k].place = {at.offset + step * around, x};
  }
}

}  // namespace

std::vector<OwnPlace> own_places(const Correlations& correlations, const Searched& searched,
                                 const Query& query, const FindOptions& options, std::int64_t count) {
  const std::int64_t exclusion = samples_of(options.exclusion, query.length());
  const Assignments assignments(correlations, query, options.negated, largest_lag(query, options));
  std::vector<OwnPlace> places;
  for (const std::int64_t window :
       largest_of(assignments.most_like(kAllFreedoms), count, exclusion / correlations.step())) {
    const std::int64_t offset = window * correlations.step();
    places.push_back({.reading = assignments.fit(kAllFreedoms, std::span(&offset, 1)), .place = {offset}});
  }
  look_around(searched, query, options, places);
  std::erase_if(places, [](const OwnPlace& own) { return !std::isfinite(own.place.logarithm); });
  return places;
}

std::vector<OwnPlace> in_order(std::vector<OwnPlace> places, const Correlations& correlations,
                               const Query& query, const FindOptions& options, const Thirds& thirds) {
  for (OwnPlace& own : places) {
    const std::int64_t window = correlations.window(own.place.offset);
    own.first = own.place.offset + *std::ranges::min_element(own.reading.lags);
    const double left = 2 * (1 - static_cast<double>(thirds.alike()[window]));
    own.order = own.place.logarithm + std::log(std::max(1e-3, left)) / 2;
  }
  std::ranges::stable_sort(places, {}, &OwnPlace::order);
  const std::int64_t exclusion = samples_of(options.exclusion, query.length());
  std::vector<OwnPlace> kept;
  for (OwnPlace& own : places)
    if (std::ranges::none_of(
            kept, [&](const OwnPlace& other) { return std::abs(other.first - own.first) <= exclusion; }))
      kept.push_back(std::move(own));
  return kept;
}

double likeness_of_levels(const Searched& searched, const Query& query, const FindOptions& options,
                          const Reading& reading, std::span<const std::int64_t> offsets) {
  const std::vector<std::vector<float>> turned_query = turned(query, options.sensors, reading.turns);
  const std::int64_t last = searched.index().samples() - query.length();
  double sum = 0, count = 0;
  for (std::size_t c = 0; c < query.channels.size(); ++c) {
    if (reading.channels[c] < 0) continue;
    const Level own = level_of(turned_query[c]);
    for (const std::int64_t offset : offsets) {
      const std::int64_t there = std::clamp<std::int64_t>(offset + reading.lags[c], 0, last);
      const double alike =
          likeness(own, level_of(searched.moments(reading.channels[c]), there), reading.negated[c] ? -1 : 1);
      if (!std::isfinite(alike)) continue;
      sum += alike;
      ++count;
    }
  }
  return count > 0 ? sum / count : 0;
}

double gain_of_levels(const Correlations& correlations, const Searched& searched, const Query& query,
                      const FindOptions& options, const Reading& reading,
                      std::span<const std::int64_t> offsets) {
  const std::size_t count = query.channels.size();
  const std::vector<std::vector<float>> turned_query = turned(query, options.sensors, reading.turns);
  const std::int64_t last = searched.index().samples() - query.length();
  double as_read = 0, read = 0;
  std::vector<std::vector<std::pair<double, double>>> worth(count);  // [candidates], as it is and negated
  for (std::size_t c = 0; c < count; ++c) worth[c].resize(correlations.candidates(c).size());
  for (const std::int64_t offset : offsets)
    for (std::size_t c = 0; c < count; ++c) {
      const auto there = [&](std::int32_t channel) {
        return level_of(searched.moments(channel), std::clamp<std::int64_t>(offset, 0, last));
      };
      if (reading.channels[c] >= 0) {
        const double alike =
            likeness(level_of(turned_query[c]), there(reading.channels[c]), reading.negated[c] ? -1 : 1);
        if (std::isfinite(alike)) {
          as_read += alike;
          ++read;
        }
      }
      const Level own = level_of(query.channels[c]);
      for (std::size_t k = 0; k < worth[c].size(); ++k) {
        const Level other = there(correlations.candidates(c)[k]);
        if (!std::isfinite(other.deviation) || !std::isfinite(other.mean)) continue;
        worth[c][k].first += likeness(own, other, 1);
        worth[c][k].second += options.negated ? likeness(own, other, -1) : worth[c][k].first;
      }
    }
  if (read == 0) return 0;
  std::vector<Edge> edges;
  std::vector<double> best;
  const auto places = static_cast<double>(offsets.size());
  for (std::size_t c = 0; c < count; ++c)
    for (std::size_t k = 0; k < worth[c].size(); ++k) {
      best.push_back(std::max(worth[c][k].first, options.negated ? worth[c][k].second : -places) / places);
      edges.push_back({static_cast<std::int32_t>(c),
                       correlations.candidates(c)[k],
                       {1, static_cast<float>(std::max(0.0, 1 - best.back()))}});
    }
  double sum = 0, matched = 0;
  for (const std::int32_t edge : best_matching(edges)) {
    sum += best[edge];
    ++matched;
  }
  return sum / matched - as_read / read;
}

}  // namespace warploom::search
