#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "warploom/search/index.hpp"

namespace warploom::search {

/// A larger exclusion zone is taken for this one, twice of which can be added to an offset.
inline constexpr std::int64_t kLargestZone = std::int64_t{1} << 60;

/// Chooses a task's candidates out of distances that come by and by, without keeping all of them.
///
/// Kept are those no farther than bound(): with `limit` offsets known that lie more than twice the exclusion
/// zone apart from each other, each choice excludes at most one of them, so that the greedy order never needs
/// one that is farther than the worst of these.
class Selection {
 public:
  Selection(std::int64_t limit, std::int64_t exclusion, float max_distance);

  /// An offset whose distance is larger cannot be chosen; never grows.
  float bound() const { return bound_; }
  /// Offsets in any order; the same offset with several patterns is allowed. A distance that is infinite or
  /// NaN is no candidate.
  void add(const Candidate& candidate);
  /// Many at once, which costs less.
  void add(std::span<const Candidate> candidates);
  /// In the order of choice.
  std::vector<Candidate> finish();
  /// In any order: all that a choice among these and other offsets may take.
  std::vector<Candidate> kept();

 private:
  void tighten();

  std::int64_t limit_, exclusion_;
  float bound_;
  std::vector<Candidate> kept_;
  std::size_t tighten_at_;
};

/// The order in which candidates are chosen.
inline bool chosen_before(const Candidate& a, const Candidate& b) {
  if (a.distance != b.distance) return a.distance < b.distance;
  if (a.offset != b.offset) return a.offset < b.offset;
  return a.pattern < b.pattern;
}

/// Greedily by chosen_before(), more than `exclusion` apart, at most `limit`. `candidates` is sorted.
std::vector<Candidate> choose(std::span<const Candidate> candidates, std::int64_t limit,
                              std::int64_t exclusion);

}  // namespace warploom::search
