#include "reuse/analysis/coverage.hpp"

#include <algorithm>

#include "reuse/analysis/covered_region.hpp"
#include "reuse/analysis/covered_run.hpp"
#include "reuse/analysis/flights.hpp"
#include "reuse/analysis/interference.hpp"

namespace warploom::reuse {

using namespace ptx;

namespace {

constexpr std::uint64_t kEvaluations = 3'000'000;  // of one kernel
constexpr std::uint64_t kEvaluationsOfPoint = 1'000'000;
constexpr std::size_t kFailuresOfObject =
    12;  // where an array is stored at many places, the later ones fail alike

class Search {
 public:
  Search(const Kernel& kernel, const std::vector<DeadPoint>& known, std::vector<NotCovered>& failures)
      : kernel_(kernel),
        cfg_(kernel.cfg),
        dead_(known),
        known_(known.size()),
        failures_(failures),
        liveness_(find_liveness(kernel, known)) {}

  std::vector<DeadPoint> run() {
    if (!cfg_.reducible || kernel_.use.refusal || kernel_.use.accesses.empty()) return {};
    const ObjectSet flying = flying_objects(kernel_.use);
    for (std::uint32_t o = 0; o < kernel_.object_count(); ++o) {
      if (kernel_.use.objects[o].pinned || flying[o]) continue;
      const std::size_t most = failures_.size() + kFailuresOfObject;
      for (const std::uint32_t point : points_of(o))
        if (failures_.size() < most && !kernel_.uniformity.apart[cfg_.block_of[point]] && lives(o, point))
          try_point(o, point);
    }
    return {dead_.begin() + static_cast<std::ptrdiff_t>(known_), dead_.end()};
  }

 private:
  /// Heads of loops with accesses of the object, outer first, then places before fills.
  std::vector<std::uint32_t> points_of(std::uint32_t o) const {
    std::vector<std::uint32_t> points;
    const auto add = [&](std::uint32_t p) {
      if (p != kNone && std::find(points.begin(), points.end(), p) == points.end()) points.push_back(p);
    };
    for (const Loop& loop : cfg_.loops) {
      const auto inside = [&](const Access& a) {
        return a.objects[o] && loop.contains(cfg_.block_of[a.instruction]);
      };
      if (std::any_of(kernel_.use.accesses.begin(), kernel_.use.accesses.end(), inside))
        add(cfg_.blocks[loop.header].first);
    }
    for (const Access& a : kernel_.use.accesses)
      if (a.objects[o] && a.write && !a.read && begins_fill(o, a.instruction))
        add(before_fill(o, a.instruction));
    return points;
  }

  /// No access of the object comes before this store in its block and barrier interval.
  bool begins_fill(std::uint32_t o, std::uint32_t store) const {
    for (std::uint32_t i = store; i-- > cfg_.blocks[cfg_.block_of[store]].first;) {
      if (separates(kernel_, i)) return true;
      if (touches(o, i)) return false;
    }
    return true;
  }

  bool touches(std::uint32_t o, std::uint32_t instruction) const {
    auto at = std::lower_bound(kernel_.use.accesses.begin(), kernel_.use.accesses.end(), instruction,
                               [](const Access& a, std::uint32_t i) { return a.instruction < i; });
    for (; at != kernel_.use.accesses.end() && at->instruction == instruction; ++at)
      if (at->objects[o]) return true;
    return false;
  }

  bool reads(std::uint32_t o, const Loop& loop) const {
    return std::any_of(kernel_.use.accesses.begin(), kernel_.use.accesses.end(), [&](const Access& a) {
      return a.read && a.objects[o] && loop.contains(cfg_.block_of[a.instruction]);
    });
  }

  /// The store itself, or, where it stands in a fill loop or under a divergent branch, the end of the last
  /// block before these that all threads come to.
  std::uint32_t before_fill(std::uint32_t o, std::uint32_t store) const {
    std::uint32_t b = cfg_.block_of[store];
    const std::uint32_t home = b;
    for (;;) {
      std::uint32_t fill = kNone;
      for (std::uint32_t l = cfg_.loop_of[b]; l != kNone && !reads(o, cfg_.loops[l]);
           l = cfg_.loops[l].parent)
        fill = l;
      if (fill != kNone)
        b = cfg_.dominators.parent(cfg_.loops[fill].header);
      else if (kernel_.uniformity.apart[b])
        b = cfg_.dominators.parent(b);
      else
        break;
      if (b == kNone || cfg_.blocks[b].first == cfg_.blocks[b].last) return kNone;  // nothing stored yet
    }
    return b == home ? store : cfg_.blocks[b].last - 1;
  }

  /// The object holds something there that may be read.
  bool lives(std::uint32_t o, std::uint32_t point) const {
    const std::uint32_t b = cfg_.block_of[point];
    bool stored = liveness_.stored_in[b][o], loaded = liveness_.loaded_out[b][o], open = true;
    for (const Liveness::Event& e : liveness_.events[b]) {
      if (e.dead_before[o] && e.instruction == point) return false;
      if (e.instruction < point) {
        if (e.dead_before[o]) stored = false;
        if (e.access != nullptr && e.access->write && e.access->objects[o]) stored = true;
      } else if (open) {
        const bool read = e.access != nullptr && e.access->read && e.access->objects[o];
        if (e.dead_before[o])
          loaded = open = false;
        else if (read)
          loaded = true, open = false;
      }
    }
    return stored && loaded;
  }

  void try_point(std::uint32_t o, std::uint32_t point) {
    const Region region = find_region(kernel_, o, point, dead_);
    const std::uint64_t allowed = std::min(left_, kEvaluationsOfPoint);
    std::uint64_t budget = allowed;
    const std::optional<Reason> why = find_uncovered(region, budget);
    left_ -= allowed - budget;
    if (why) return failures_.push_back({o, point, *why});
    dead_.push_back({DeadPoint::covered, o, point});
    liveness_ = find_liveness(kernel_, dead_);
  }

  const Kernel& kernel_;
  const Cfg& cfg_;
  std::vector<DeadPoint> dead_;
  std::size_t known_;
  std::vector<NotCovered>& failures_;
  Liveness liveness_;
  std::uint64_t left_ = kEvaluations;
};

}  // namespace

std::vector<DeadPoint> find_covered(const Kernel& kernel, const std::vector<DeadPoint>& known,
                                    std::vector<NotCovered>& failures) {
  return Search(kernel, known, failures).run();
}

}  // namespace warploom::reuse
