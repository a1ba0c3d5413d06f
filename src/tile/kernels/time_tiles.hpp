#pragma once

#include "tile/kernels/stencil_steps.hpp"

/// Several steps of stencils in one pass over memory: what the two kinds of tiles have in common.
namespace warploom::tile {

/// A block's tile in shared memory; every stage of the steps ends at a barrier.
std::optional<KernelGroup> shared_time_tiles(const KernelRequest& request, const StencilSteps& found);
/// A warp's tile, whose rows stream through registers, in two dimensions.
std::optional<KernelGroup> streamed_time_tiles(const KernelRequest& request, const StencilSteps& found);

/// The kernel of one launch, which reads arrays and leaves them in copies, for what are as many launches as
/// the steps need.
struct TimeTilePass {
  Kernel kernel;
  int steps = 0;                            ///< of a launch
  std::map<std::string, std::string> next;  ///< copies, by their arrays
};
/// Launches there and back in turn, and what is computed is in the arrays at the end. `names` has the copies
/// among its temporaries.
KernelGroup in_turn(const KernelRequest& request, const CudaNames& names, const StencilSteps& found,
                    TimeTilePass pass);
/// The steps of the launch that begins at step t of the host: a loop over `iterator`, with what a step runs.
Node steps_of_launch(const KernelRequest& request, const StencilSteps& found, int steps,
                     const std::string& iterator);

}  // namespace warploom::tile
