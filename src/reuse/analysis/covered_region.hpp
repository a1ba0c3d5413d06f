#pragma once

#include <optional>
#include <vector>

#include "reuse/analysis/evaluate.hpp"
#include "reuse/analysis/liveness.hpp"
#include "warploom/ptx/cfg.hpp"

namespace warploom::reuse {

/// The part of a kernel that can follow a point of it, up to where one object is dead again (the point
/// itself included), and of that part what decides over the accesses of this object: their addresses and
/// guards, and the branches in between.
struct Region {
  /// A value that takes part.
  struct Slot {
    std::uint32_t value = kNone;                  ///< Values::all
    std::optional<Computation> compute;           ///< none: unknown
    std::uint32_t guard = kNone, before = kNone;  ///< slots, of a value written under a predicate
    bool guard_negated = false;
    bool uniform = false;       ///< equal in all threads that compute it together
    bool before_point = false;  ///< defined on every path to the point
  };
  struct Step {
    enum Kind : std::uint8_t { compute, access, barrier } kind = compute;
    std::uint32_t index = 0;        ///< slot, or SharedUse::accesses
    std::uint32_t guard = kNone;    ///< slot, of an access
    std::optional<Source> address;  ///< of an access: none: unknown
  };
  enum Leaves : std::uint8_t { stays, all_together, one_by_one };
  struct Node {
    std::vector<Step> steps;
    std::vector<std::uint32_t> phis;    ///< slots
    std::uint32_t first = 0, last = 0;  ///< instructions
    std::uint32_t guard = kNone;        ///< slot: of the branch or guarded exit at its end
    bool decides = false;               ///< its branch decides over something above
    bool uniform = false;               ///< all threads that are left come to the branch and take it alike
    Leaves leaves = stays;              ///< how threads may leave the kernel at its end, or by a successor
  };

  const Kernel* kernel = nullptr;
  std::uint32_t object = 0, point = 0;
  std::uint32_t start = 0,
                end = 0;  ///< nodes: the rest of the point's block; where paths end. Others: blocks
  ptx::Graph graph;
  ptx::DominatorTree post;
  std::vector<Node> nodes;
  std::vector<Slot> slots;
  std::vector<std::uint32_t> slot_of;  ///< per value, or kNone
  /// Before the point threads can only have left the kernel all together, nor do they in what is called.
  bool all_present = true;

  std::uint32_t block(std::uint32_t node) const { return node == start ? kernel->cfg.block_of[point] : node; }
};

/// Near-linear in the kernel; the branches times their influence where those matter.
Region find_region(const Kernel& kernel, std::uint32_t object, std::uint32_t point,
                   const std::vector<DeadPoint>& dead);

}  // namespace warploom::reuse
