#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reuse/analysis/carving.hpp"
#include "reuse/analysis/interference.hpp"
#include "reuse/rewrite/barriers.hpp"
#include "reuse/shared_layout.hpp"
#include "warploom/reuse/place.hpp"

namespace warploom::reuse {

/// Where the objects of one kernel go, and the barriers this needs.
struct Plan {
  std::vector<std::uint32_t> pooled;   ///< objects in the pool, ascending
  std::vector<std::uint64_t> offsets;  ///< of each pooled object [bytes]
  std::uint64_t pool_bytes = 0;
  std::uint32_t pool_alignment = 16;
  std::uint64_t total_bytes =
      0;  ///< pool and all static arrays outside it, callees' too, as ptxas places them
  std::vector<ObjectSet> overlap;  ///< per object: those it shares bytes with
  Insertions insertions;
  Placement placement;
  CarvedPlan carved;  ///< where parts of the dynamic array go as formulas; the numbers above are an example's
  bool shares() const { return !pooled.empty(); }
};

/// Finds plans for one kernel. Placement comes first and says who overlaps; then the barriers that these
/// overlaps need; where none can go, the two objects interfere after all and placement runs again.
class Planner {
 public:
  Planner(const Kernel& kernel, const Interference& interference, const PlacementOptions& options);

  /// The smallest pool, with as few barriers as that takes, if barriers may be added; else the smallest pool
  /// that the barriers already there allow.
  Plan smallest(bool may_insert);
  /// Of the plans that `good_enough` accepts, starting from `best`: one with the fewest barriers found by
  /// forbidding overlaps one at a time.
  Plan fewest_barriers(const Plan& best, const std::function<bool(const Plan&)>& good_enough);

  /// The interference graph, with the pairs that proved beyond help of any barrier.
  const Interference& interference() const { return interference_; }

  /// Static shared memory with this plan, its pool larger by `padding` [bytes].
  std::uint64_t total_bytes(const Plan& plan, std::uint64_t padding = 0) const;

  /// All movable objects go to the pool, whether they share or not (a pool sized at launch).
  bool pool_everything = false;
  /// The movable objects are its parts, which it places.
  const Carving* carving = nullptr;

 private:
  Plan attempt(Interference interference, bool may_insert);
  void place_objects(const std::vector<std::uint32_t>& objects, const Interference& interference,
                     Plan& plan) const;

  const Kernel& kernel_;
  Interference interference_;
  PlacementOptions options_;
  BarrierPlanner barriers_;
  SharedLayout layout_;
  std::vector<std::uint32_t> movable_;
};

}  // namespace warploom::reuse
