#include "search/assignments.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "search/cpu_correlations.hpp"
#include "search/plan.hpp"
#include "warploom/search/matching.hpp"

namespace warploom::search {
namespace {

// What the largest lag costs of a correlation; others cost as their squares. In noise some lag is always more
// alike than none.
constexpr float kLate = 0.5F;

/// Each value becomes the largest of those at most `reach` away.
void spread(std::vector<float>& values, std::int64_t reach) {
  // The largest of [w, w + width), in twice as wide steps; shifted back by `reach` in the end.
  const std::int64_t count = std::ssize(values), whole = 2 * reach + 1;
  std::vector<float> all(count + 2 * reach, 0.F);
  std::ranges::copy(values, all.begin() + reach);
  for (std::int64_t width = 1; width < whole;) {
    const std::int64_t by = std::min(width, whole - width);
    WARPLOOM_PICK(cpu_correlations)->largest(all.data() + by, false, std::ssize(all) - by, all.data());
    width += by;
  }
  std::copy_n(all.begin(), count, values.begin());
}

/// The shortest edge first, then the shortest that is left: enough to try a window with. Where an edge that
/// was taken leaves a channel none, the best matching.
Matching greedy_matching(std::span<const Edge> edges) {
  Matching order(edges.size()), taken;
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int32_t e) { return edges[e].worth.distance; });
  const auto joins = [&](std::int32_t e) {
    return std::ranges::any_of(taken, [&](std::int32_t other) {
      return edges[other].left == edges[e].left || edges[other].right == edges[e].right;
    });
  };
  std::int32_t lefts = 0;
  for (const Edge& edge : edges) lefts = std::max(lefts, edge.left + 1);
  for (const std::int32_t e : order)
    if (!joins(e)) taken.push_back(e);
  return std::ssize(taken) == lefts ? taken : best_matching(edges);
}

}  // namespace

std::int64_t largest_lag(const Query& query, const FindOptions& options) {
  return std::min(samples_of(options.max_lag, query.length()), query.length()) / 2;
}

Assignments::Assignments(const Correlations& correlations, const Query& query, bool negated,
                         std::int64_t largest_lag)
    : correlations_(correlations),
      query_(query),
      negated_(negated),
      lag_(largest_lag / correlations.step()) {}

std::vector<float> Assignments::sums_of(Freedom freedom, std::size_t channel, std::int32_t candidate,
                                        std::span<const std::int64_t> windows) const {
  const std::span<const float> all = correlations_.alike(channel, candidate);
  const std::int64_t most = freedom.lags ? lag_ : 0;
  std::vector<float> sums;
  for (std::int64_t lag = -most; lag <= most; ++lag) {
    float& sum = sums.emplace_back(0.F);
    for (const std::int64_t w : windows)
      if (w + lag >= 0 && w + lag < std::ssize(all)) sum += all[w + lag];
  }
  return sums;
}

Assignments::Choice Assignments::best_of(std::span<const float> sums, bool negated, float count,
                                         std::int64_t middle) {
  const std::int64_t most = std::ssize(sums) / 2;
  const float cost = most == 0 ? 0 : kLate * count / static_cast<float>(most * most);
  Choice best;
  for (std::int64_t lag = -most; lag <= most; ++lag) {
    const std::int64_t late = lag - middle;
    const float sum = sums[lag + most];
    const float left = std::max(0.F, std::abs(sum) - cost * static_cast<float>(late * late));
    if (left > std::abs(best.value) && (negated || sum > 0)) best = {std::copysign(left, sum), lag};
  }
  return best;
}

Reading Assignments::fit_windows(Freedom freedom, std::span<const std::int64_t> windows) const {
  Reading reading;
  reading.places = query_.places;
  reading.channels = query_.places;
  const std::size_t count = query_.channels.size();
  reading.negated.assign(count, false);
  reading.lags.assign(count, 0);
  const bool negated = freedom.map && negated_;
  const auto of_windows = static_cast<float>(windows.size());
  const auto candidates_of = [&](std::size_t c) {
    return freedom.map ? correlations_.candidates(c) : std::span(&query_.places[c], 1);
  };
  std::vector<std::vector<std::vector<float>>> sums(count);  // [query channels][candidates][lags]
  for (std::size_t c = 0; c < count; ++c)
    for (const std::int32_t k : candidates_of(c)) sums[c].push_back(sums_of(freedom, c, k, windows));
  // Lags are counted from their middle: that from which channels are worth most.
  const std::int64_t most = freedom.lags ? lag_ : 0;
  std::int64_t middle = 0;
  float largest_worth = -1;
  for (const std::int64_t from : {std::int64_t{0}, -most / 2, most / 2, -most, most}) {
    float worth = 0;
    for (const std::vector<std::vector<float>>& of_channel : sums) {
      float largest = 0;
      for (const std::vector<float>& some : of_channel)
        largest = std::max(largest, std::abs(best_of(some, negated, of_windows, from).value));
      worth += largest;
    }
    if (worth > largest_worth) {
      largest_worth = worth;
      middle = from;
    }
    if (most == 0) break;
  }
  std::vector<std::vector<Choice>> choices(count);  // [query channels][candidates]
  for (std::size_t c = 0; c < count; ++c)
    for (const std::vector<float>& some : sums[c])
      choices[c].push_back(best_of(some, negated, of_windows, middle));
  if (freedom.map) {
    float largest = 0;
    std::vector<Edge> edges;
    for (std::size_t c = 0; c < count; ++c)
      for (std::size_t k = 0; k < choices[c].size(); ++k) {
        const float value = std::abs(choices[c][k].value);
        edges.push_back({static_cast<std::int32_t>(c), candidates_of(c)[k], {1, value}});
        largest = std::max(largest, value);
      }
    for (Edge& edge : edges) edge.worth.distance = largest - edge.worth.distance;
    for (const std::int32_t edge : windows.size() == 1 ? greedy_matching(edges) : best_matching(edges))
      reading.channels[edges[edge].left] = edges[edge].right;
  }
  for (std::size_t c = 0; c < count; ++c) {
    const std::span<const std::int32_t> some = candidates_of(c);
    const Choice best = choices[c][std::ranges::find(some, reading.channels[c]) - some.begin()];
    reading.negated[c] = best.value < 0;
    reading.lags[c] = best.lag * correlations_.step();
  }
  return reading;
}

Reading Assignments::fit(Freedom freedom, std::span<const std::int64_t> offsets) const {
  std::vector<std::int64_t> windows;
  for (const std::int64_t offset : offsets) windows.push_back(correlations_.window(offset));
  Reading reading = fit_windows(freedom, windows);
  if (!freedom.lags) return reading;
  // Between windows: the vertex of the parabola through the correlations about the best.
  for (std::size_t c = 0; c < reading.lags.size(); ++c) {
    const std::span<const float> all = correlations_.alike(c, reading.channels[c]);
    const std::int64_t lag = reading.lags[c] / correlations_.step();
    float sums[3] = {};
    for (const std::int64_t w : windows)
      for (std::int64_t k = -1; k <= 1; ++k)
        if (w + lag + k >= 0 && w + lag + k < std::ssize(all)) sums[k + 1] += all[w + lag + k];
    const float curved = 2 * sums[1] - sums[0] - sums[2];
    if (std::abs(sums[1]) < std::max(std::abs(sums[0]), std::abs(sums[2])) || curved == 0) continue;
    const float vertex = std::clamp((sums[2] - sums[0]) / (2 * curved), -0.5F, 0.5F);
    reading.lags[c] += std::lround(vertex * static_cast<float>(correlations_.step()));
  }
  return reading;
}

std::vector<float> Assignments::likeness(const Reading& reading) const {
  std::vector<float> sum(correlations_.windows(), 0.F);
  const std::int64_t count = std::ssize(sum);
  const CpuCorrelations& cpu = *WARPLOOM_PICK(cpu_correlations);
  for (std::size_t c = 0; c < reading.channels.size(); ++c) {
    const std::span<const float> all = correlations_.alike(c, reading.channels[c]);
    const std::int64_t lag = reading.lags[c] / correlations_.step();
    const float sign = (reading.negated[c] ? -1.F : 1.F) / static_cast<float>(reading.channels.size());
    const std::int64_t first = std::max<std::int64_t>(0, -lag), end = std::min(count, count - lag);
    if (first < end) cpu.add(sign, all.data() + first + lag, end - first, sum.data() + first);
  }
  return sum;
}

std::vector<float> Assignments::most_like(Freedom freedom) const {
  std::vector<float> sum(correlations_.windows(), 0.F);
  for (std::size_t c = 0; c < query_.channels.size(); ++c)
    WARPLOOM_PICK(cpu_correlations)->add(1, most_like(freedom, c).data(), std::ssize(sum), sum.data());
  return sum;
}

std::vector<float> Assignments::most_like(Freedom freedom, std::size_t channel) const {
  std::vector<float> best(correlations_.windows(), 0.F);
  const std::int32_t own = query_.places[channel];
  for (const std::int32_t k : freedom.map ? correlations_.candidates(channel) : std::span(&own, 1))
    WARPLOOM_PICK(cpu_correlations)
        ->largest(correlations_.alike(channel, k).data(), freedom.map && negated_, std::ssize(best),
                  best.data());
  if (freedom.lags) spread(best, lag_);
  return best;
}

std::vector<std::int64_t> Assignments::places(Freedom freedom, std::span<const std::int64_t> seeds,
                                              std::int64_t count, std::int64_t exclusion) const {
  const std::int64_t zone = exclusion / correlations_.step();
  std::vector<std::int64_t> windows = largest_of(most_like(freedom), count, zone);
  for (const std::int64_t offset : seeds) windows.push_back(correlations_.window(offset));
  std::vector<std::int64_t> offsets = agreed(
      windows, count, zone, [&](std::span<const std::int64_t> some) { return fit_windows(freedom, some); },
      [&](const Reading& reading) { return likeness(reading); });
  for (std::int64_t& offset : offsets) offset *= correlations_.step();
  return offsets;
}

}  // namespace warploom::search
