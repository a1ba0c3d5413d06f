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
  unsigned long long* sides;   ///< [2]: voxels of a set, and their sum of u
  long long* partial_counts;   ///< [2, blocks of measure]
  double* partial_sums;        ///< [2, blocks of measure]
  float *other_v, *other_extrapolated, *other_p;  ///< of launch_convex_plane alone: what it writes
};

/// Without the axes that have one voxel: a line along x, a plane along x and y.
struct ConvexShape {
  int nx, ny, nz;
};

/// p from the extrapolated v, then v from p.
cudaError_t launch_convex_step(const ConvexBuffers& buffers, const Edges& edges, ConvexShape shape,
                               float sigma, float lambda, float tau, float theta, cudaStream_t stream);
/// Constants of one iteration.
struct PlaneStep {
  float sigma, tau, scale, theta;  // scale: 1 / (1 + tau)
};
inline constexpr int kMostPlaneSteps = 4;
struct PlaneSteps {
  int count = 0;
  PlaneStep step[kMostPlaneSteps] = {};
};
/// Rows that a warp of convex_plane walks down: as many as let all warps be resident at once, but not so few
/// that most is computed twice.
cudaError_t convex_plane_rows(int steps, ConvexShape shape, int& rows);
/// launch_convex_step for a plane without a mask, 1, 2 or 4 iterations at once. Writes to the other buffers,
/// and swaps them.
cudaError_t launch_convex_plane(ConvexBuffers& buffers, const Edges& edges, ConvexShape shape,
                                const PlaneSteps& steps, float lambda, int rows, cudaStream_t stream);
/// Adds to the levels.
cudaError_t launch_convex_levels(const ConvexBuffers& buffers, std::int64_t voxels, cudaStream_t stream);
/// Adds the voxels of {v > threshold}, and their u times kSetPoint, to the sides.
cudaError_t launch_convex_sides(const ConvexBuffers& buffers, std::int64_t voxels, float threshold,
                                cudaStream_t stream);
/// Blocks of launch_convex_measure, and the layers that they are in: as many in each, a layer after the
/// other, as many layers as planes (or several planes each, beyond 65,535).
int convex_measure_blocks(ConvexShape shape);
int convex_measure_layers(ConvexShape shape);
/// Voxels of {v > threshold} and their u to partial_counts, the border's length and the excess to
/// partial_sums, in parts whose order is fixed.
cudaError_t launch_convex_measure(const ConvexBuffers& buffers, const Edges& edges, ConvexShape shape,
                                  float threshold, cudaStream_t stream);

}  // namespace warploom::imaging
