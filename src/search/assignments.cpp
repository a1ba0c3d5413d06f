#include "search/assignments.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "search/cpu_correlations.hpp"
#include "search/plan.hpp"
#include "warploom/search/matching.hpp"

namespace warploom::search {
namespace {

// What the largest lag costs of a correlation; others cost as their squares. In noise some lag is always more
// alike than none.
constexpr float kLate = 0.5F;

/// The edge of the largest value first, then that which is left: enough to try a window with. Where an edge
/// that was taken leaves a channel none, nothing.
/// @param first  [query channels + 1] of its edges; @param rights  [edges] channels of the recording
std::optional<Matching> greedy_matching(std::span<const std::int64_t> first,
                                        std::span<const std::int32_t> rights, std::span<const float> values) {
  const std::size_t lefts = first.size() - 1;
  std::vector<bool> joined(static_cast<std::size_t>(std::ranges::max(rights)) + 1);
  constexpr std::int32_t kNone = -1;
  std::vector<std::int32_t> best(lefts, kNone);  // the edge of the largest value that each has left
  const auto look = [&](std::size_t left) {
    best[left] = kNone;
    for (auto e = static_cast<std::int32_t>(first[left]); e < first[left + 1]; ++e)
      if (!joined[rights[e]] && (best[left] == kNone || values[e] > values[best[left]])) best[left] = e;
    return best[left] != kNone;
  };
  std::vector<std::size_t> open(lefts);
  for (std::size_t left = 0; left < lefts; ++left) {
    open[left] = left;
    if (!look(left)) return {};
  }
  Matching taken(lefts);
  while (!open.empty()) {
    std::size_t at = 0;
    for (std::size_t k = 1; k < open.size(); ++k)
      if (values[best[open[k]]] > values[best[open[at]]]) at = k;
    const std::int32_t edge = best[open[at]];
    taken[open[at]] = edge;
    joined[rights[edge]] = true;
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
    for (const std::size_t left : open)
      if (rights[best[left]] == rights[edge] && !look(left)) return {};
  }
  return taken;
}

}  // namespace

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

std::int64_t largest_lag(const Query& query, const FindOptions& options) {
  return std::min(samples_of(options.max_lag, query.length()), query.length()) / 2;
}

Assignments::Assignments(const Correlations& correlations, const Query& query, bool negated,
                         std::int64_t largest_lag)
    : correlations_(correlations),
      query_(query),
      negated_(negated),
      lag_(largest_lag / correlations.step()) {}

Assignments::Sums Assignments::sums_of(Freedom freedom, std::span<const std::int64_t> windows) const {
  Sums sums;
  sums.most = freedom.lags ? lag_ : 0;
  sums.row = (2 * sums.most + kCorrelationParts) / kCorrelationParts * kCorrelationParts;
  for (std::size_t c = 0; c < query_.channels.size(); ++c) {
    sums.first.push_back(std::ssize(sums.candidates));
    const std::span<const std::int32_t> some =
        freedom.map ? correlations_.candidates(c) : std::span(&query_.places[c], 1);
    sums.candidates.insert(sums.candidates.end(), some.begin(), some.end());
  }
  sums.first.push_back(std::ssize(sums.candidates));
  const CpuCorrelations& cpu = *WARPLOOM_PICK(cpu_correlations);
  sums.values = std::vector<float>(static_cast<std::size_t>(sums.first.back() * sums.row));
  for (std::size_t c = 0; c < query_.channels.size(); ++c)
    for (std::int64_t k = sums.first[c]; k < sums.first[c + 1]; ++k) {
      const std::span<const float> all = correlations_.alike(c, sums.candidates[k]);
      float* const to = sums.values.data() + k * sums.row + sums.most;
      for (const std::int64_t w : windows) {
        const std::int64_t first = std::max(-sums.most, -w),
                           last = std::min(sums.most, std::ssize(all) - 1 - w);
        if (first <= last) cpu.add(1, all.data() + w + first, last - first + 1, to + first);
      }
    }
  return sums;
}

Reading Assignments::fit_windows(Freedom freedom, std::span<const std::int64_t> windows) const {
  Reading reading;
  reading.places = query_.places;
  reading.channels = query_.places;
  const std::size_t count = query_.channels.size();
  reading.negated.assign(count, false);
  reading.lags.assign(count, 0);
  const bool negated = freedom.map && negated_;
  const Sums sums = sums_of(freedom, windows);
  const std::int64_t most = sums.most;
  // What is left beside what a lag costs.
  const float cost =
      most == 0 ? 0 : kLate * static_cast<float>(windows.size()) / static_cast<float>(most * most);
  std::vector<float> costs(static_cast<std::size_t>(sums.row), 0.F);
  const auto count_from = [&](std::int64_t middle) {
    for (std::int64_t lag = -most; lag <= most; ++lag)
      costs[lag + most] = cost * static_cast<float>((lag - middle) * (lag - middle));
  };
  const CpuCorrelations& cpu = *WARPLOOM_PICK(cpu_correlations);
  // Lags are counted from their middle: that from which channels are worth most.
  std::int64_t middle = 0;
  if (most > 0) {
    std::vector<float> largest(count * static_cast<std::size_t>(sums.row));  // of a channel's candidates
    for (std::size_t c = 0; c < count; ++c)
      for (std::int64_t k = sums.first[c]; k < sums.first[c + 1]; ++k)
        cpu.largest(sums.values.data() + k * sums.row, negated, sums.row,
                    largest.data() + static_cast<std::int64_t>(c) * sums.row);
    std::vector<float> left(count);
    float largest_worth = -1;
    for (const std::int64_t from : {std::int64_t{0}, -most / 2, most / 2, -most, most}) {
      count_from(from);
      cpu.largest_left(largest.data(), costs.data(), false, sums.row, std::ssize(left), left.data());
      float worth = 0;
      for (const float one : left) worth += one;
      if (worth > largest_worth) {
        largest_worth = worth;
        middle = from;
      }
    }
  }
  count_from(middle);
  std::vector<std::int64_t> chosen(sums.first.begin(), sums.first.end() - 1);  // [query channels]
  std::vector<float> values(sums.candidates.size());
  cpu.largest_left(sums.values.data(), costs.data(), negated, sums.row, std::ssize(values), values.data());
  if (freedom.map) {
    std::optional<Matching> taken;
    if (windows.size() == 1) taken = greedy_matching(sums.first, sums.candidates, values);
    if (!taken) {
      const float largest = std::ranges::max(values);
      std::vector<Edge> edges;
      for (std::size_t c = 0; c < count; ++c)
        for (std::int64_t k = sums.first[c]; k < sums.first[c + 1]; ++k)
          edges.push_back(
              {static_cast<std::int32_t>(c), sums.candidates[k], {1, largest - double{values[k]}}});
      taken = best_matching(edges);
    }
    // Edges are as the candidates are.
    for (const std::int32_t edge : *taken) {
      const auto c = std::ranges::upper_bound(sums.first, edge) - sums.first.begin() - 1;
      reading.channels[c] = sums.candidates[edge];
      chosen[c] = edge;
    }
  }
  for (std::size_t c = 0; c < count; ++c) {
    const float left = values[chosen[c]];
    if (left == 0) continue;
    for (std::int64_t lag = -most; lag <= most; ++lag) {
      const float sum = sums.values[chosen[c] * sums.row + lag + most];
      if ((negated ? std::abs(sum) : sum) - costs[lag + most] != left) continue;
      reading.negated[c] = sum < 0;
      reading.lags[c] = lag * correlations_.step();
      break;
    }
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
  std::vector<const float*> from;
  std::vector<float> signs;
  std::vector<std::int64_t> lags;
  for (std::size_t c = 0; c < reading.channels.size(); ++c) {
    lags.push_back(reading.lags[c] / correlations_.step());
    from.push_back(correlations_.alike(c, reading.channels[c]).data());
    signs.push_back((reading.negated[c] ? -1.F : 1.F) / static_cast<float>(reading.channels.size()));
  }
  // All channels have windows from `first` to `end`.
  const auto [least, most] = std::ranges::minmax(lags);
  const std::int64_t first = std::clamp<std::int64_t>(-least, 0, count);
  const std::int64_t end = std::clamp(count - most, first, count);
  for (std::size_t c = 0; c < from.size(); ++c) {
    const std::int64_t own_first = std::max<std::int64_t>(0, -lags[c]),
                       own_end = std::min(count, count - lags[c]);
    const auto add = [&](std::int64_t begin, std::int64_t stop) {
      if (begin < stop) cpu.add(signs[c], from[c] + (begin + lags[c]), stop - begin, sum.data() + begin);
    };
    add(own_first, std::min(first, own_end));
    add(std::max(own_first, end), own_end);
  }
  if (first == end) return sum;
  for (std::size_t c = 0; c < from.size(); ++c) from[c] += first + lags[c];
  cpu.add_all(signs.data(), from.data(), std::ssize(from), end - first, sum.data() + first);
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
