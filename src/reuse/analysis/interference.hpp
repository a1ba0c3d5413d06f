#pragma once

#include <optional>
#include <vector>

#include "reuse/analysis/liveness.hpp"

namespace warploom::reuse {

/// Instructions before which a `bar.sync 0` is to be added, ascending.
using Insertions = std::vector<std::uint32_t>;

/// Symmetric relation over objects, with the reason of each pair.
class Interference {
 public:
  explicit Interference(std::size_t objects = 0) : sets_(objects) {}
  bool between(std::uint32_t a, std::uint32_t b) const { return sets_[a][b]; }
  /// The first reason given for a pair is kept.
  void add(std::uint32_t a, std::uint32_t b, Reason reason);
  const ObjectSet& of(std::uint32_t object) const { return sets_[object]; }
  std::size_t size() const { return sets_.size(); }

  struct Edge {
    std::uint32_t a, b;  ///< a < b
    Reason reason;
  };
  const std::vector<Edge>& edges() const { return edges_; }

 private:
  std::vector<ObjectSet> sets_;
  std::vector<Edge> edges_;
};

/// Pairs that no barrier can make compatible: lives that meet, addresses that are compared, accesses
/// in one divergent region, objects that keep their own storage.
Interference find_interference(const Kernel& kernel, const Liveness& liveness);

/// Some barrier-free path leads from an access of the one object to an access of the other, not both loads.
struct Hazard {
  std::uint32_t earlier = 0, later = 0;  ///< objects
  std::uint32_t instruction = 0;         ///< the later access
};

/// Finds them for one set of added barriers after another: what is the same for all is prepared once.
class HazardSearch {
 public:
  explicit HazardSearch(const Kernel& kernel);
  /// Those of objects that overlap: `overlap` has them for each. `insertions` count as barriers.
  std::vector<Hazard> find(const std::vector<ObjectSet>& overlap, const Insertions& insertions) const;

 private:
  struct Event {
    std::uint32_t first, last;  ///< instructions: accesses of the same objects in a row are one
    const Access* access;       ///< the first; nullptr: a barrier
  };
  template <class Set>
  std::vector<Hazard> find_with(const std::vector<ObjectSet>& overlap, const Insertions& insertions) const;

  const Kernel& kernel_;
  std::vector<Event> events_;             ///< in the order of the text
  std::vector<std::size_t> first_event_;  ///< per block
};
std::vector<Hazard> find_hazards(const Kernel& kernel, const std::vector<ObjectSet>& overlap,
                                 const Insertions& insertions);

/// Uniformity::separators as a question.
bool separates(const Kernel& kernel, std::uint32_t instruction);

}  // namespace warploom::reuse
