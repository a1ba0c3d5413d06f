#pragma once

/// The GPU's iteration of the active contour: one kernel. Its file needs nothing but this and
/// segment_step.hpp, so that it can be compiled, rewritten and simulated by itself.

#include <cuda_runtime_api.h>

#include "segment_step.hpp"

namespace warploom::imaging {

/// Device pointers of a run. Voxels are [nz, ny, nx].
struct SegmentBuffers {
  const float* image;
  float* level_set[2];   ///< iteration k (from 0) reads [k % 2] and writes the other
  double* partial_sums;  ///< [kStepSums, blocks]
  double* energies;      ///< [max_iterations], one written each iteration
  RunState* state;
  unsigned* finished_blocks;  ///< 0 between launches
};

/// Blocks of one launch: as many as are resident on the current device at once, or fewer for a small image.
/// @param[out] blocks
cudaError_t segment_step_blocks(int nx, int ny, int nz, int& blocks);

/// Launches iteration k, which does nothing once the state says done.
cudaError_t launch_segment_step(const SegmentBuffers& buffers, const RunConstants& constants, int nx, int ny,
                                int nz, int blocks, int k, cudaStream_t stream);

}  // namespace warploom::imaging
