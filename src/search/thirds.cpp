#include "search/thirds.hpp"

#include <algorithm>

#include "search/assignments.hpp"
#include "search/plan.hpp"

namespace warploom::search {
Thirds::Thirds(const Correlations& whole, const Searched& searched, const Query& query,
               const FindOptions& options)
    : alike_(whole.windows(), 0.F) {
  constexpr std::int64_t kThirds = 3;
  const std::int64_t length = query.length() / kThirds, windows = whole.windows();
  if (length < 2) return;
  const Searched in_parts(searched.index(), length);
  const std::size_t channels = query.channels.size();
  const float share = 1 / static_cast<float>(kThirds * channels);
  for (std::int64_t third = 0; third < kThirds; ++third) {
    Query part = query;
    for (std::span<const float>& channel : part.channels) channel = channel.subspan(third * length, length);
    const Correlations correlations(in_parts, part, options, whole.step(), Correlations::Kept::alike);
    const Assignments assignments(correlations, part, options.negated, largest_lag(query, options));
    const std::int64_t later = third * length / whole.step();
    for (std::size_t c = 0; c < channels; ++c) {
      std::vector<float> there = assignments.most_like(kAllFreedoms, c);
      there.erase(there.begin(), there.begin() + std::min(later, std::ssize(there)));
      there.resize(windows, 0.F);
      for (std::int64_t w = 0; w < windows; ++w) alike_[w] += share * there[w];
    }
  }
}

}  // namespace warploom::search
