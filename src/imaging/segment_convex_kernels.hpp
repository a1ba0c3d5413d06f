#pragma once

/// The GPU's kernels of the convex method. Their file needs nothing but this, segment_edges.hpp and
/// segment_levels.hpp, so that it can be compiled, rewritten and simulated by itself.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "segment_edges.hpp"
#include "segment_levels.hpp"

namespace warploom::imaging {

/// Device pointers of a run. Voxels are [nz, ny, nx].
struct ConvexBuffers {
  const float* image;
  const unsigned char* mask;  ///< 0: does not count; null: all do
  float *v, *extrapolated;
  float* p;                    ///< [edges, nz, ny, nx]; 0 where an edge would leave the image
  unsigned long long* levels;  ///< [3, kLevels]: voxels, sums of u and of u^2
  long long* partial_counts;   ///< [2, blocks of measure]
  double* partial_sums;        ///< [2, blocks of measure]
};

struct ConvexShape {
  int nx, ny, nz;
};

/// p from the extrapolated v, then v from p.
cudaError_t launch_convex_step(const ConvexBuffers& buffers, const Edges& edges, ConvexShape shape,
                               float sigma, float lambda, float tau, float theta, cudaStream_t stream);
/// Adds to the levels.
cudaError_t launch_convex_levels(const ConvexBuffers& buffers, std::int64_t voxels, cudaStream_t stream);
/// Voxels of {v > threshold} and their u to partial_counts, the border's length and the excess to
/// partial_sums, in parts whose order is fixed.
cudaError_t launch_convex_measure(const ConvexBuffers& buffers, const Edges& edges, ConvexShape shape,
                                  float threshold, int blocks, cudaStream_t stream);

}  // namespace warploom::imaging
