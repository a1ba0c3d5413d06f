#include "search/thirds.hpp"

#include <algorithm>
#include <deque>
#include <optional>

#include "search/assignments.hpp"
#include "search/cpu_correlations.hpp"
#include "search/plan.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::search {

Thirds::Thirds(const Correlations& whole, const Searched& searched, const Query& query,
               const FindOptions& options)
    : alike_(whole.windows(), 0.F) {
  constexpr std::int64_t kThirds = 3;
  const std::int64_t length = query.length() / kThirds, windows = whole.windows(), step = whole.step();
  if (length < 2) return;
  const Searched in_parts(searched, length);
  const std::int64_t all_windows = (searched.index().samples() - length) / step + 1;
  std::deque<std::optional<ChannelWindows>> recorded(searched.index().signal().size());
  parallel_for(std::ssize(recorded), [&](std::int64_t channel) {
    recorded[channel].emplace(in_parts, static_cast<std::int32_t>(channel), step, all_windows);
  });
  const std::size_t channels = query.channels.size();
  const bool sized = are_sized(searched, query);
  const std::int64_t lag = largest_lag(query, options) / step;
  const CpuCorrelations& cpu = *WARPLOOM_PICK(cpu_correlations);
  const float share = 1 / static_cast<float>(kThirds * channels);
  std::vector<std::vector<float>> most(channels);
  for (std::int64_t third = 0; third < kThirds; ++third) {
    parallel_for(std::ssize(most), [&](std::int64_t c) {
      check_interrupt();
      const CorrelatedPattern part(query.channels[c].subspan(third * length, length));
      most[c].assign(static_cast<std::size_t>(all_windows), 0.F);
      std::vector<float> there(most[c].size());
      for (const std::int32_t k : whole.candidates(c)) {
        recorded[k]->correlate(part, there.data());
        if (sized) recorded[k]->weigh(there.data(), part, there.data());
        cpu.largest(there.data(), options.negated, all_windows, most[c].data());
      }
      spread(most[c], lag);
    });
    const std::int64_t later = third * length / step, end = std::min(windows, all_windows - later);
    for (const std::vector<float>& there : most)
      for (std::int64_t w = 0; w < end; ++w) alike_[w] += share * there[w + later];
  }
}

}  // namespace warploom::search
