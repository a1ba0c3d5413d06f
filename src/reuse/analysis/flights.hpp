#pragma once

#include "reuse/analysis/kernel.hpp"

namespace warploom::reuse {

/// What asynchronous copies and products do after their instruction: their stores or reads may come at any
/// time up to a wait that is proved to be for them, the youngest of an object counted.
///
/// Adds an access (Access::landing) at each such wait, to what flights may have gone on until there, and
/// fills SharedUse::in_flight with the pairs that are used while one of them is under way. Takes away what
/// an earlier call added. With `pin`, an object that may be under way when a thread leaves keeps its storage:
/// the others go on, and no wait of theirs ends it.
///
/// Which flights a wait ends:
/// * for a group: it leaves the N youngest groups, so it ends those of an object whose youngest flight has
///   seen more than N commits on every path. A wait or commit under a guard counts for nothing.
/// * at an mbarrier: bulk copies that name it, and cp.async for which the thread has arrived there. Which
/// phase
///   it is for is counted from `mbarrier.init` on; the loop around it must ask for this one alone.
/// * `mbarrier.inval`: the mbarrier must have nothing left to wait for. Under a guard it counts if the guard
/// is
///   that of `init`.
/// An mbarrier itself is under way from `init` to `inval`: hardware writes it.
///
/// A bulk copy to shared memory stores through the async proxy. Whoever was accessed before it is in_flight
/// with it, unless every path from there goes over a fence.proxy.async and then a barrier of the block.
void find_flights(const ptx::Cfg& cfg, const Values& values, SharedUse& use, bool pin);

/// Takes away what find_flights() added.
void forget_flights(SharedUse& use);

/// Objects with flights: nothing is proved of when their bytes are written or read for the last time.
ObjectSet flying_objects(const SharedUse& use);

}  // namespace warploom::reuse
