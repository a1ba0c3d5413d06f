#pragma once

#include "warploom/tile/transform.hpp"

namespace warploom::tile {

/// A copy of an array's values from before the region, so that reads of old values do not wait for writes.
struct Snapshot {
  std::string array = {}, copy = {};  ///< "B", "B_before"
  std::string reason = {};
};

/// A variable of which each iteration of `loops` has a copy of its own. The tree goes on calling it by its
/// name: run in order, with one copy for all, the tree is right as it stands, last value included. Run in
/// parallel, iterations that differ in any of `loops` must not share the copy. Nothing goes in (each
/// iteration writes before it reads), and nothing leaves but the last value. Where each iteration of the
/// parallel loops around touches one element of an array the copy is a scalar: its subscripts may be dropped.
struct Privatised {
  std::string variable = {};
  std::vector<std::string> loops =
      {};  ///< parallel loops of the tree around all of `statements`, outermost first
  std::vector<int> statements = {};  ///< all that name the variable within these loops
  /// The variable lives on: the iteration that is the last one of each of `loops` stores its copy. It does so
  /// in any case: the statement that writes last runs there. Else the copy ends with the iteration.
  bool last_value = false;
  bool is_array = false;  ///< an iteration touches several elements: the copy is a whole array, at most 1 KB
  std::string reason = {};
};

/// What many threads are given: loops in an order with as many parallel ones outside as dependences allow.
struct ParallelNest {
  /// The source with reads of snapshots renamed and the copies among its region's variables: `code` is of its
  /// statements, numbered as in the source.
  Nest nest = {};
  Node code =
      {};  ///< parallel loops marked; the innermost of a group of parallel loops is the contiguous one
  std::vector<Snapshot> snapshots = {};
  std::vector<Privatised> privatised = {};
  std::vector<std::string> reasons = {};  ///< what was moved, distributed, fused, and why
  /// Of these, what to tell in any case: loops that were skewed into waves, and which dependences forbade
  /// other parallel loops; or why there are no waves where no loop is parallel.
  std::vector<std::string> wave_reasons = {};
  /// Iterations of loops that a block should have, where a person asked for strips and threads got the whole
  /// loops.
  std::map<std::string, std::int64_t> tiles = {};
  bool by_steps = false;  ///< a person chose the order
};

/// Orders the statements' loops: distribution into strongly connected components, parallel loops outside,
/// fusion of neighbours whose parallel loops agree (Allen and Kennedy, "Optimizing Compilers for Modern
/// Architectures", ch. 5 and 6). Where no loop of a component becomes parallel: wavefronts, a sequential loop
/// "wave" over a sum of its loops (4 * t + 2 * i + j) that grows along every dependence, with the loops
/// parallel inside, but for one which wave and the others give (Lamport, "The Parallel Execution of DO
/// Loops", CACM 17(2), 1974). Breaks anti-dependences through snapshots and false ones through copies where
/// value-based dependences (isl's flow analysis) show that it is right. The loops of the source keep their
/// names.
/// @note some 10 to 100 ms.
ParallelNest parallelise(const Nest& nest);

/// The order that a person chose by steps, for threads. A strip is given up where threads want the whole
/// loop: if its loop and the loop through it are both parallel, or both sequential with nothing but parallel
/// loops between, and if the order without it keeps every dependence (asked exactly) and every parallel loop.
/// Its size is then one of `tiles`.
/// @throws BadInput (what was moved from)
/// @note some ms for each strip
ParallelNest parallelise(const Schedule& schedule);

}  // namespace warploom::tile
