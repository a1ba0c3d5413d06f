#include "search/thirds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/assignments.hpp"
#include "search/plan.hpp"

namespace warploom::search {
namespace {

float median_of(std::vector<float>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The logarithm of the distance that a correlation leaves without a path.
float logarithm_left(float alike) { return std::log(std::max(1e-3F, 2 * (1 - alike))) / 2; }

}  // namespace

Usual::Usual(std::span<const float> values) {
  constexpr std::int64_t kMost = 1024;
  const std::int64_t all = std::ssize(values), count = std::min(kMost, all);
  std::vector<float> some;
  for (std::int64_t k = 0; k < count; ++k)
    if (const float x = values[k * all / count]; std::isfinite(x)) some.push_back(x);
  middle = median_of(some);
  for (float& x : some) x = std::abs(x - middle);
  deviation = 1.4826F * median_of(some);
}

Thirds::Thirds(const Correlations& whole, const Searched& searched, const Query& query,
               const FindOptions& options, bool unusual)
    : alike_(whole.windows(), 0.F), unusual_(unusual ? whole.windows() : 0, 0.F) {
  constexpr std::int64_t kThirds = 3;
  const std::int64_t length = query.length() / kThirds, windows = whole.windows();
  if (length < 2) return;
  const Searched in_parts(searched.index(), length);
  const std::size_t channels = query.channels.size();
  const float share = 1 / static_cast<float>(kThirds * channels);
  std::vector<std::vector<float>> best(channels);  // [channels][windows] of the thirds
  for (std::int64_t third = 0; third < kThirds; ++third) {
    Query part = query;
    for (std::span<const float>& channel : part.channels) channel = channel.subspan(third * length, length);
    const Correlations correlations(in_parts, part, options, whole.step());
    const Assignments assignments(correlations, part, options.negated, largest_lag(query, options));
    const std::int64_t later = third * length / whole.step();
    for (std::size_t c = 0; c < channels; ++c) {
      std::vector<float> there = assignments.most_like(kAllFreedoms, c);
      there.erase(there.begin(), there.begin() + std::min(later, std::ssize(there)));
      there.resize(windows, 0.F);
      for (std::int64_t w = 0; w < windows; ++w) alike_[w] += share * there[w];
      if (!unusual) continue;
      for (float& x : there) x = logarithm_left(x);
      const Usual left(there);
      best[c].resize(windows, -std::numeric_limits<float>::infinity());
      for (std::int64_t w = 0; w < windows; ++w) best[c][w] = std::max(best[c][w], left.less(there[w]));
    }
  }
  for (const std::vector<float>& of_channel : best)
    for (std::size_t w = 0; w < of_channel.size(); ++w)
      unusual_[w] += of_channel[w] / static_cast<float>(channels);
}

}  // namespace warploom::search
