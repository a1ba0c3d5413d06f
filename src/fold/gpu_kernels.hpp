#pragma once

#include <cuda_runtime_api.h>

#include "fold/gpu.hpp"

/// What gpu_fold.cpp launches.
namespace warploom::fold::gpu {

/// C and M of all tasks' strips.
void launch_fill(const Launch& launch, cudaStream_t stream);
/// f, energies and, where they are wanted, structures.
/// @param threads  a sequence each: 32 or 512
void launch_finish(const Launch& launch, int threads, cudaStream_t stream);

}  // namespace warploom::fold::gpu
