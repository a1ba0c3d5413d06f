// Exact placement by branch and bound.
//
// Problem. Object i takes bytes [o_i, o_i + s_i) with o_i a multiple of a_i; interfering objects do not
// overlap; the highest end is to be least. The interference graph is any graph, so the optimum may exceed
// the heaviest clique (a 5-cycle of equal objects needs three of them, its cliques hold two).
//
// Method. `fits` decides whether a set of objects, object i at r_i ("release") or above, can be placed
// under a limit; a placement with one byte less than the best one known is asked for until there is none.
//   * Some object is lowest. Moved down to its release it is still lowest, so trying each object as the
//     lowest one, at its release, is exhaustive. The rest is the same question over a smaller set, with
//     releases raised: above the object for those that interfere with it, to its offset for the others.
//     Of several lowest objects the first by index counts.
//   * Object i need not be tried if another one fits entirely below r_i: that one can be moved down there.
//   * An object that ends at or below all its neighbours' releases is placed without branching.
//   * Parts of the remaining graph that no edge joins are independent questions (so are the components of
//     the whole problem). This is what keeps interval graphs easy.
//   * For each interfering pair at least one order must fit between releases and latest offsets; where
//     only one does, it raises a release and lowers a latest offset.
//   * The objects of a clique lie one above the other, hence the bound of `cliques_fit`.
//   * A set that failed with some releases fails with higher ones too, and under any lower limit.
// Canonical placements, decomposition and dominance are those of MiniMalloc (Moffitt, ASPLOS 2023), here
// for general graphs instead of intervals; the pair rule is that of disjunctive scheduling.

#include "reuse/rewrite/place_optimal.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace warploom::reuse {
namespace {

using Set = std::uint64_t;
using Offsets = std::array<std::uint64_t, kExactSearchLimit>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxCliques = 128;            // kept for the bound, heaviest first
constexpr std::size_t kCliqueSteps = 1 << 14;       // of their enumeration
constexpr std::size_t kMaxFailuresPerSet = 24;      // remembered
constexpr std::size_t kMaxStoredOffsets = 1 << 22;  // 32 MiB over all failures
constexpr unsigned kNodesPerClockReading = 64;

constexpr Set single(int i) { return Set{1} << i; }
int first_of(Set set) { return std::countr_zero(set); }

template <typename Visit>
void for_each(Set set, Visit visit) {
  for (; set != 0; set &= set - 1) visit(first_of(set));
}

class ExactSearch {
 public:
  ExactSearch(const PlacementProblem& problem, Clock::time_point deadline)
      : count_(static_cast<int>(problem.objects.size())), deadline_(deadline) {
    for (int i = 0; i < count_; ++i) {
      size_[i] = problem.objects[i].bytes;
      alignment_[i] = problem.objects[i].alignment;
    }
    for (const auto& [a, b] : problem.edges) {
      adjacent_[a] |= single(static_cast<int>(b));
      adjacent_[b] |= single(static_cast<int>(a));
    }
  }

  bool expired() const { return expired_; }
  const Offsets& offsets() const { return offsets_; }

  std::vector<Set> components(Set set) const {
    std::vector<Set> parts;
    while (set != 0) {
      parts.push_back(component_of(first_of(set), set));
      set &= ~parts.back();
    }
    return parts;
  }

  std::uint64_t height(Set set, std::span<const std::uint64_t> offsets) const {
    std::uint64_t top = 0;
    for_each(set, [&](int i) { top = std::max(top, offsets[i] + size_[i]); });
    return top;
  }

  /// Makes `component` the set that `fits` will be asked about; returns its clique bound.
  std::uint64_t prepare(Set component) {
    std::vector<Set> maximal;
    std::size_t steps = 0;
    maximal_cliques(0, component, 0, maximal, steps);
    bounds_.clear();
    for (const Set clique : maximal)
      for_each(clique, [&](int i) {
        Set aligned = 0;  // objects that need at least the alignment of i
        for_each(clique, [&](int j) { aligned |= alignment_[j] >= alignment_[i] ? single(j) : 0; });
        if (first_with_alignment(aligned, alignment_[i]) == i)
          bounds_.push_back({aligned, alignment_[i], stacked_bytes(aligned, alignment_[i])});
      });
    std::sort(bounds_.begin(), bounds_.end(), [](const CliqueBound& a, const CliqueBound& b) {
      return std::tie(b.bytes, a.members, a.unit) < std::tie(a.bytes, b.members, b.unit);
    });
    const auto same = [](const CliqueBound& a, const CliqueBound& b) {
      return a.members == b.members && a.unit == b.unit;
    };
    bounds_.erase(std::unique(bounds_.begin(), bounds_.end(), same), bounds_.end());
    if (bounds_.size() > kMaxCliques) bounds_.resize(kMaxCliques);
    failures_.clear();
    stored_offsets_ = 0;
    return bounds_.front().bytes;
  }

  /// Can `set` be placed with object i at or above release[i] and all ends <= limit? If so offsets() holds
  /// how. false also when the time is over: see expired(). The limit may only fall from call to call.
  bool fits(Set set, const Offsets& release, std::uint64_t limit) {
    while (set != 0) {
      const Set part = component_of(first_of(set), set);
      if (!connected_fits(part, release, limit)) return false;
      set &= ~part;
    }
    return true;
  }

 private:
  /// Members of a clique, all aligned to `unit` at least: each starts a whole number of units above the
  /// one below it.
  struct CliqueBound {
    Set members;
    std::uint64_t unit, bytes;
  };

  Set component_of(int i, Set set) const {
    Set part = 0, fresh = single(i);
    while (fresh != 0) {
      part |= fresh;
      Set reached = 0;
      for_each(fresh, [&](int j) { reached |= adjacent_[j]; });
      fresh = reached & set & ~part;
    }
    return part;
  }

  int first_with_alignment(Set set, std::uint64_t alignment) const {
    while (alignment_[first_of(set)] != alignment) set &= set - 1;
    return first_of(set);
  }

  /// Least height of a stack of `set` on multiples of `unit`: only the topmost object is not rounded up.
  std::uint64_t stacked_bytes(Set set, std::uint64_t unit) const {
    std::uint64_t sum = 0, slack = 0;
    for_each(set, [&](int i) {
      const std::uint64_t rounded = align_up(size_[i], unit);
      sum += rounded;
      slack = std::max(slack, rounded - size_[i]);
    });
    return sum - slack;
  }

  // Bron and Kerbosch with pivoting. Any subset of the cliques gives a valid bound, so it may stop early.
  void maximal_cliques(Set clique, Set candidates, Set excluded, std::vector<Set>& out,
                       std::size_t& steps) const {
    if (++steps > kCliqueSteps) return;
    if (candidates == 0) {
      if (excluded == 0) out.push_back(clique);
      return;
    }
    int pivot = -1, most = -1;
    for_each(candidates | excluded, [&](int i) {
      const int covered = std::popcount(candidates & adjacent_[i]);
      if (covered > most) pivot = i, most = covered;
    });
    for_each(candidates & ~adjacent_[pivot], [&](int i) {
      maximal_cliques(clique | single(i), candidates & adjacent_[i], excluded & adjacent_[i], out, steps);
      candidates &= ~single(i);
      excluded |= single(i);
    });
  }

  bool connected_fits(Set set, Offsets release, std::uint64_t limit) {
    if (++nodes_ % kNodesPerClockReading == 0 && Clock::now() >= deadline_) expired_ = true;
    if (expired_) return false;
    const Offsets asked = release;
    if (!tighten(set, release, limit) || !cliques_fit(set, release, limit)) return false;

    if (const int free = unblocked(set, release); free >= 0) {
      offsets_[free] = release[free];
      return fits(set & ~single(free), release, limit);
    }
    if (known_failure(set, release)) return false;

    std::uint64_t lowest_end = ~std::uint64_t{0};
    for_each(set, [&](int i) { lowest_end = std::min(lowest_end, release[i] + size_[i]); });
    std::array<int, kExactSearchLimit> candidates;
    int n_candidates = 0;
    for_each(set, [&](int i) {
      // A release that `tighten` raised says that something must lie below this object.
      if (release[i] < lowest_end && release[i] == asked[i]) candidates[n_candidates++] = i;
    });
    std::sort(candidates.begin(), candidates.begin() + n_candidates, [&](int a, int b) {
      return release[a] != release[b] ? release[a] < release[b]
             : size_[a] != size_[b]   ? size_[a] > size_[b]
                                      : a < b;
    });
    for (int c = 0; c < n_candidates; ++c) {
      const int lowest = candidates[c];
      const std::uint64_t offset = release[lowest];
      Offsets above = release;
      const Set rest = set & ~single(lowest);
      for_each(rest, [&](int j) {
        const bool interferes = (adjacent_[lowest] & single(j)) != 0;
        const std::uint64_t floor = interferes ? offset + size_[lowest] : j < lowest ? offset + 1 : offset;
        above[j] = std::max(above[j], align_up(floor, alignment_[j]));
      });
      if (!all_blocked(rest & ~adjacent_[lowest], rest, release, above)) continue;
      offsets_[lowest] = offset;
      if (fits(rest, above, limit)) return true;
      if (expired_) return false;
    }
    remember_failure(set, asked);
    return false;
  }

  /// Raises releases by the pair rule until nothing changes; false if some object or pair cannot fit.
  bool tighten(Set set, Offsets& release, std::uint64_t limit) const {
    Offsets latest;
    bool possible = true;
    for_each(set, [&](int i) {
      if (size_[i] > limit) possible = false;
      latest[i] = possible ? (limit - size_[i]) & ~(alignment_[i] - 1) : 0;
      if (release[i] > latest[i]) possible = false;
    });
    for (bool changed = true; changed && possible;) {
      changed = false;
      for (Set rest = set; rest != 0 && possible; rest &= rest - 1) {
        const int i = first_of(rest);
        for (Set others = rest & adjacent_[i]; others != 0; others &= others - 1) {
          const int j = first_of(others);
          const bool i_below = align_up(release[i] + size_[i], alignment_[j]) <= latest[j];
          const bool j_below = align_up(release[j] + size_[j], alignment_[i]) <= latest[i];
          if (i_below && j_below) continue;
          if (!i_below && !j_below) return false;
          changed |= i_below ? order(i, j, release, latest) : order(j, i, release, latest);
          if (release[i] > latest[i] || release[j] > latest[j]) return false;
        }
      }
    }
    return possible;
  }

  /// `lower` lies below `upper`: true if that changed a release or a latest offset.
  bool order(int lower, int upper, Offsets& release, Offsets& latest) const {
    const std::uint64_t first = align_up(release[lower] + size_[lower], alignment_[upper]);
    const std::uint64_t last = (latest[upper] - size_[lower]) & ~(alignment_[lower] - 1);
    const bool changed = first > release[upper] || last < latest[lower];
    release[upper] = std::max(release[upper], first);
    latest[lower] = std::min(latest[lower], last);
    return changed;
  }

  /// Of every clique, and every level: the members released at that level or above, stacked on it.
  bool cliques_fit(Set set, const Offsets& release, std::uint64_t limit) const {
    std::array<int, kExactSearchLimit> by_release;
    int n = 0;
    for_each(set, [&](int i) { by_release[n++] = i; });
    std::sort(by_release.begin(), by_release.begin() + n,
              [&](int a, int b) { return release[a] > release[b]; });
    for (const CliqueBound& bound : bounds_) {
      if ((bound.members & set) == 0) continue;
      std::uint64_t sum = 0, slack = 0;
      for (int k = 0; k < n; ++k) {
        const int i = by_release[k];
        if ((bound.members & single(i)) == 0) continue;
        const std::uint64_t rounded = align_up(size_[i], bound.unit);
        sum += rounded;
        slack = std::max(slack, rounded - size_[i]);
        if (release[i] + sum - slack > limit) return false;
      }
    }
    return true;
  }

  /// Does each of `objects` that `above` lifts from its release have one in `set` that may lie in its way
  /// there? If not it could be moved down.
  bool all_blocked(Set objects, Set set, const Offsets& release, const Offsets& above) const {
    for (; objects != 0; objects &= objects - 1) {
      const int i = first_of(objects);
      if (above[i] == release[i]) continue;
      bool blocked = false;
      for_each(adjacent_[i] & set, [&](int j) { blocked |= above[j] < release[i] + size_[i]; });
      if (!blocked) return false;
    }
    return true;
  }

  /// An object that at its release is in no other one's way, or -1.
  int unblocked(Set set, const Offsets& release) const {
    for (Set rest = set; rest != 0; rest &= rest - 1) {
      const int i = first_of(rest);
      bool free = true;
      for_each(adjacent_[i] & set, [&](int j) { free &= release[i] + size_[i] <= release[j]; });
      if (free) return i;
    }
    return -1;
  }

  bool known_failure(Set set, const Offsets& release) const {
    const auto found = failures_.find(set);
    if (found == failures_.end()) return false;
    const std::size_t members = std::popcount(set);
    const std::vector<std::uint64_t>& stored = found->second;
    for (std::size_t at = 0; at < stored.size(); at += members) {
      bool higher = true;
      std::size_t k = at;
      for (Set rest = set; rest != 0 && higher; rest &= rest - 1)
        higher = release[first_of(rest)] >= stored[k++];
      if (higher) return true;
    }
    return false;
  }

  void remember_failure(Set set, const Offsets& release) {
    const std::size_t members = std::popcount(set);
    if (stored_offsets_ + members > kMaxStoredOffsets) return;
    std::vector<std::uint64_t>& stored = failures_[set];
    if (stored.size() >= kMaxFailuresPerSet * members) return;
    for_each(set, [&](int i) { stored.push_back(release[i]); });
    stored_offsets_ += members;
  }

  int count_;
  Offsets size_{}, alignment_{};
  std::array<Set, kExactSearchLimit> adjacent_{};
  std::vector<CliqueBound> bounds_;
  std::unordered_map<Set, std::vector<std::uint64_t>> failures_;  // releases, one run of them a failure
  std::size_t stored_offsets_ = 0;
  Offsets offsets_{};
  Clock::time_point deadline_;
  unsigned nodes_ = 0;
  bool expired_ = false;
};

}  // namespace

void place_exactly(const PlacementProblem& problem, std::chrono::milliseconds time_limit,
                   Placement& incumbent) {
  const std::size_t n = problem.objects.size();
  const Set all = n == kExactSearchLimit ? ~Set{0} : single(static_cast<int>(n)) - 1;
  ExactSearch search(problem, Clock::now() + time_limit);
  struct Component {
    Set members;
    std::uint64_t bound;
  };
  std::vector<Component> components;
  for (const Set members : search.components(all)) {
    components.push_back({members, search.prepare(members)});
    incumbent.lower_bound = std::max(incumbent.lower_bound, components.back().bound);
  }
  std::stable_sort(components.begin(), components.end(),
                   [](const Component& a, const Component& b) { return a.bound > b.bound; });

  for (const auto& [members, clique_bound] : components) {
    std::uint64_t height = search.height(members, incumbent.offsets);
    if (height <= incumbent.lower_bound) continue;  // improving it would not lower the total
    search.prepare(members);
    while (height > incumbent.lower_bound && search.fits(members, Offsets{}, height - 1)) {
      for_each(members, [&](int i) { incumbent.offsets[i] = search.offsets()[i]; });
      height = search.height(members, incumbent.offsets);
    }
    if (search.expired()) break;
    incumbent.lower_bound = std::max(incumbent.lower_bound, height);
  }
  incumbent.timed_out = search.expired();
  incumbent.bytes = search.height(all, incumbent.offsets);
  incumbent.proved_optimal = incumbent.bytes == incumbent.lower_bound;
}

}  // namespace warploom::reuse
