#pragma once

#include <cuda_runtime_api.h>

#include "fold/gpu.hpp"

/// What gpu_fold.cpp launches.
namespace warploom::fold::gpu {

/// C and M of all tasks' strips.
void launch_fill(const Launch& launch, cudaStream_t stream);
/// f, by blocks that share the columns of a sequence.
void launch_ends(const Launch& launch, cudaStream_t stream);
/// f, energies and, where they are wanted, structures.
/// @param warps  of a warp a sequence; else all blocks share the sequences
void launch_finish(const Launch& launch, bool warps, cudaStream_t stream);

}  // namespace warploom::fold::gpu
