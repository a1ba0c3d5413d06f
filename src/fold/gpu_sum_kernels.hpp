#pragma once

#include <cuda_runtime_api.h>

#include "fold/gpu_sums.hpp"

/// What gpu_ensemble.cpp launches.
namespace warploom::fold::gpu {

/// B, M1 and M of all tasks' strips.
void launch_inside(const SumLaunch& launch, cudaStream_t stream);
/// Probabilities in place of B, after launch_sum_ends() both ways.
void launch_outside(const SumLaunch& launch, cudaStream_t stream);
/// The sums of the first bases, or what they are worth: a warp a sequence.
void launch_sum_ends(const SumLaunch& launch, bool outside, cudaStream_t stream);
/// The same: a block for 64 bases of a sequence.
void launch_end_blocks(const SumLaunch& launch, bool outside, cudaStream_t stream);
/// Unpaired bases, and how many pairs each task's strip lists. @param longest  [bases]
void launch_read(const SumLaunch& launch, int longest, cudaStream_t stream);
void launch_list(const SumLaunch& launch, cudaStream_t stream);

}  // namespace warploom::fold::gpu
