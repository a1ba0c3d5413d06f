#include "selection.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace warploom::search {

Selection::Selection(std::int64_t limit, std::int64_t exclusion, float max_distance)
    : limit_(limit),
      exclusion_(std::min(exclusion, kLargestZone)),
      bound_(std::min(max_distance, std::numeric_limits<float>::max())),
      tighten_at_(static_cast<std::size_t>(limit)) {}

void Selection::add(const Candidate& candidate) {
  if (!(candidate.distance <= bound_)) return;
  kept_.push_back(candidate);
  if (kept_.size() >= tighten_at_) tighten();
}

void Selection::add(std::span<const Candidate> candidates) {
  for (const Candidate& candidate : candidates)
    if (candidate.distance <= bound_) kept_.push_back(candidate);
  if (kept_.size() >= tighten_at_) tighten();
}

std::vector<Candidate> Selection::finish() {
  std::sort(kept_.begin(), kept_.end(), chosen_before);
  return choose(std::exchange(kept_, {}), limit_, exclusion_);
}

std::vector<Candidate> Selection::kept() { return std::exchange(kept_, {}); }

void Selection::tighten() {
  std::sort(kept_.begin(), kept_.end(), chosen_before);
  const std::vector<Candidate> apart = choose(kept_, limit_, 2 * exclusion_);
  if (std::ssize(apart) == limit_) {
    bound_ = apart.back().distance;
    kept_.erase(std::upper_bound(kept_.begin(), kept_.end(), apart.back(), chosen_before), kept_.end());
  }
  tighten_at_ = std::max(static_cast<std::size_t>(limit_), kept_.size() + kept_.size() / 4 + 1);
}

std::vector<Candidate> choose(std::span<const Candidate> candidates, std::int64_t limit,
                              std::int64_t exclusion) {
  std::vector<Candidate> chosen;
  std::set<std::int64_t> offsets;
  for (const Candidate& c : candidates) {
    if (std::ssize(chosen) == limit) break;
    const auto near = offsets.lower_bound(c.offset - exclusion);
    if (near != offsets.end() && *near <= c.offset + exclusion) continue;
    offsets.insert(c.offset);
    chosen.push_back(c);
  }
  return chosen;
}

}  // namespace warploom::search
