#pragma once

#include <string>
#include <vector>

#include "warploom/tile/source.hpp"

/// Trees whose parallel loops hold a sequential one, cut so that its strips become launches of their own.
/// That is right because iterations of parallel loops are independent and each one's statements and strips
/// stay in order.
namespace warploom::tile {

struct ParallelTree {
  std::vector<Node> loops;  ///< parallel, perfectly nested, outermost first, without their children
  std::vector<Node> body;   ///< what they hold

  /// The parallel loops around other statements.
  Node around(std::vector<Node> statements) const;
};
/// @param tree  its root is a parallel loop
ParallelTree parallel_tree(const Node& tree);

/// The only loop of the body, if there are nothing but statements besides, it runs upwards in steps of 1, and
/// its bounds depend on none of the parallel loops; else body.end().
std::vector<Node>::const_iterator sequential_loop(const ParallelTree& tree);

/// Whether a loop runs upwards in steps of 1.
bool counts_up(const Node& loop);
/// The iterations in [first, limit), expressions of what is around.
Node strip(Node loop, Expression first, Expression limit);

}  // namespace warploom::tile
