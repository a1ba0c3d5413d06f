#pragma once

#include "tile/kernels/thread_loops.hpp"

/// A sequential loop over steps of stencils: what kernels that take several steps a launch start from.
namespace warploom::tile {

/// One of the parallel trees in a step.
struct StencilStage {
  std::vector<ThreadLoop> loops;    ///< by the subscript that they are, outermost first
  int line = -1;                    ///< of one row or column: the subscript that has one value
  std::vector<Node> statements;     ///< each writes its iteration's own element
  std::vector<std::int64_t> reach;  ///< the farthest element that is read, along each subscript
};

struct StencilSteps {
  Node steps;  ///< the sequential loop, without children
  Expression first, end;
  std::vector<StencilStage> stages;
  std::vector<std::string> arrays;   ///< all that they touch: one shape and type
  std::vector<std::string> written;  ///< of these
  std::vector<Expression> extents;
  /// Stages are no lines, and read nothing but their neighbours: not the step, nor what all iterations read.
  bool only_neighbours = true;
};
/// Whether an element is the iteration's neighbour; else all iterations of a step read it.
bool is_neighbour(const Expression& element, const StencilStage& stage);

/// Nothing where a tree within is no stencil in one or two dimensions.
std::optional<StencilSteps> match_stencil_steps(const KernelRequest& request, const CudaNames& names);

}  // namespace warploom::tile
