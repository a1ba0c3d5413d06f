#include "search/sketch.hpp"

#include <algorithm>

#include "search/cpu_sketch.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::search {

std::vector<std::int64_t> nearest_by_sketch(const CpuQuery& query, const CpuRange& range, std::int64_t count,
                                            std::int64_t apart) {
  constexpr std::int64_t kParts = CpuSketch::kParts, kChunk = 2048, kLeast = 16;
  const std::int64_t length = query.length / kParts;
  if (length == 0) return {};
  const std::int64_t windows = (range.last - range.first - 1) / length + 1;
  const std::int64_t group = std::clamp(apart / length, kLeast, kChunk);  // of which one is taken
  if (windows < 4 * group || windows < 4 * kParts) return {};
  std::vector<float> parts(static_cast<std::size_t>(query.count() * kParts));
  for (std::int64_t c = 0; c < query.count(); ++c)
    for (std::int64_t t = 0; t < kParts * length; ++t)
      parts[c * kParts + t / length] += query.channels[c].samples[t];
  const std::int64_t chunk = kChunk / group * group;
  std::vector<Candidate> nearest(static_cast<std::size_t>((windows + group - 1) / group));
  parallel_for((windows + chunk - 1) / chunk, [&](std::int64_t part) {
    check_interrupt();
    const std::int64_t first = part * chunk, here = std::min(chunk, windows - first);
    Lines memory(3 * (here + 4 * kParts)), likeness(here + kMostLanes);
    for (std::int64_t c = 0; c < query.count(); ++c)
      WARPLOOM_PICK(cpu_sketch)
          ->add_likeness(query.channels[c].recorded.data() + range.first + first * length, here, length,
                         parts.data() + c * kParts, memory.data(), likeness.data());
    for (std::int64_t k = 0; k < here; k += group) {
      const float* const from = likeness.data() + k;
      const std::int64_t best = std::max_element(from, from + std::min(group, here - k)) - from;
      nearest[(first + k) / group] = {range.first + (first + k + best) * length, -from[best], 0};
    }
  });
  std::sort(nearest.begin(), nearest.end(), chosen_before);
  std::vector<std::int64_t> offsets;
  for (const Candidate& c : choose(nearest, count, apart)) offsets.push_back(c.offset);
  return offsets;
}

}  // namespace warploom::search
