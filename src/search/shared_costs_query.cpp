#include <algorithm>
#include <cmath>

#include "search/cpu_bounds_search.hpp"

namespace warploom::search {
namespace {

/// What cpu_shared_products takes.
void take_products(SharedCostsQuery& q) {
  q.most = static_cast<std::int32_t>(std::sqrt(0x1p29 / static_cast<double>(q.channels)));
  q.parts = static_cast<float>(q.most) / q.reach;
  for (std::int64_t i = 0; i < q.length; ++i) {
    std::int64_t level = 0;
    for (std::int64_t pair = 0; pair < q.pairs(); ++pair) {
      std::uint32_t two = 0;
      for (std::int64_t k = 0; k < 2 && 2 * pair + k < q.channels; ++k) {
        const auto x =
            static_cast<std::int32_t>(std::lrint(q.samples[i * q.channels + 2 * pair + k] * q.parts));
        level += std::int64_t{x} * x;
        two |= static_cast<std::uint32_t>(static_cast<std::uint16_t>(-x)) << 16 * k;
      }
      q.products.push_back(static_cast<std::int32_t>(two));
    }
    q.levels.push_back(static_cast<std::int32_t>(level / 2));
  }
}

}  // namespace

std::optional<SharedCostsQuery> shared_costs_query(const CpuQuery& query) {
  if (WARPLOOM_PICK(cpu_shared_costs)->windows == 0 || query.normalization != Normalization::z ||
      query.in_a_matrix() < 2 || query.in_a_matrix() > SharedCostsQuery::kMostChannels)
    return std::nullopt;
  SharedCostsQuery q{.length = query.length, .radius = query.radius, .channels = query.count(), .reach = 4};
  for (std::int64_t i = 0; i < q.length; ++i)
    for (const CpuChannel& channel : query.channels) {
      q.samples.push_back(channel.samples[i]);
      q.reach = std::max(q.reach, std::abs(channel.samples[i]) + 1);
    }
#if defined(__x86_64__)
  q.dot = WARPLOOM_PICK(cpu_shared_products)->windows != 0 && __builtin_cpu_supports("avx512vnni");
#endif
  if (q.dot) take_products(q);
  return q;
}

}  // namespace warploom::search
