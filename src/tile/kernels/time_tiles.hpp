#pragma once

#include "tile/kernels/thread_loops.hpp"

/// A sequential loop over steps of stencils, several of which a block takes at once in shared memory.
namespace warploom::tile {

/// One of the parallel trees in a step.
struct StencilStage {
  std::vector<ThreadLoop> loops;    ///< by the subscript that they are, outermost first
  std::vector<Node> statements;     ///< each writes its iteration's own element
  std::vector<std::int64_t> reach;  ///< the farthest element that is read, along each subscript
};

struct TimeTiles {
  Node steps;  ///< the sequential loop, without children
  Expression first, end;
  std::vector<StencilStage> stages;
  std::vector<std::string> arrays;   ///< all that have tiles: one shape
  std::vector<std::string> written;  ///< of these
  std::vector<Expression> extents;
  int steps_a_launch = 0;
  std::vector<std::int64_t> tile;  ///< elements of a tile along each subscript, halo included
  std::int64_t ring = 0;           ///< of elements around it that are read only
  std::int64_t halo = 0;           ///< of elements at each side that are wrong after so many steps
  int rows = 0;                    ///< neighbouring ones, or in one dimension elements, of a thread

  std::int64_t good(std::size_t dimension) const { return tile[dimension] - 2 * halo; }
  std::int64_t elements() const { return tile.size() == 1 ? tile[0] : tile[0] * tile[1]; }
};
inline constexpr int kThreadsOfTimeTile = 256;

/// Nothing where a tree within is no stencil, or a tile would have more halo than anything else.
std::optional<TimeTiles> match_time_tiles(const KernelRequest& request, const CudaNames& names);

}  // namespace warploom::tile
