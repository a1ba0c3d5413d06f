#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "reuse/analysis/kernel.hpp"

namespace warploom::reuse {

/// A point where an object is dead: what it holds there is read by nobody.
struct DeadPoint {
  enum Proof : std::uint8_t {
    iteration_private,  ///< every iteration writes what it reads
    covered,            ///< the stores that follow write all that is read later
    stated,             ///< WARPLOOM_DEAD in the source
  } proof = stated;
  std::uint32_t object = 0;
  std::uint32_t instruction = 0;  ///< the point lies before it
};
std::string_view name(DeadPoint::Proof proof);

/// Liveness of whole objects at every point of the control-flow graph: an object lives where a store may
/// lie behind and a load may lie ahead, with no dead point between. So a life may have holes, and lives in
/// the two arms of a branch are apart. Stores do not end a life: each writes a part, for all we know.
struct Liveness {
  std::vector<ObjectSet> stored_in;   ///< per block: objects with a store behind the block's start
  std::vector<ObjectSet> loaded_out;  ///< per block: objects with a load ahead of the block's end

  struct Event {
    std::uint32_t instruction;
    const Access* access;   ///< or nullptr
    ObjectSet dead_before;  ///< dead points in front of it
  };
  std::vector<std::vector<Event>> events;  ///< per block, in order
};

/// Two bit-vector data-flow problems; linear times the depth of loops.
Liveness find_liveness(const Kernel& kernel, const std::vector<DeadPoint>& dead);

/// Calls `visit(event, live_before, live_after)` for each event of a block: the objects live just before
/// and just after the instruction.
template <class Visit>
void for_each_event(const Liveness& liveness, std::uint32_t block, Visit visit) {
  const auto& events = liveness.events[block];
  // loaded ahead, after each event: backwards first.
  std::vector<ObjectSet> ahead(events.size() + 1);
  ahead[events.size()] = liveness.loaded_out[block];
  for (std::size_t e = events.size(); e-- > 0;) {
    ObjectSet set = ahead[e + 1];
    if (events[e].access != nullptr && events[e].access->read) set |= events[e].access->objects;
    ahead[e] = set & ~events[e].dead_before;
  }
  ObjectSet behind = liveness.stored_in[block];
  for (std::size_t e = 0; e < events.size(); ++e) {
    behind &= ~events[e].dead_before;
    ObjectSet ahead_here = ahead[e + 1];
    const Access* access = events[e].access;
    if (access != nullptr && access->read) ahead_here |= access->objects;
    const ObjectSet before = behind & ahead_here;
    if (access != nullptr && access->write) behind |= access->objects;
    visit(events[e], before, behind & ahead[e + 1]);
  }
}

/// PTX line ranges [first, last) in which each object occupies its bytes, in the order of the text.
std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> live_lines(const Kernel& kernel,
                                                                             const Liveness& liveness);

}  // namespace warploom::reuse
