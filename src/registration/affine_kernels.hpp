#pragma once

/// The GPU's passes of the affine stage: the moving image is drawn where a map leads, its windows are
/// compared with the fixed one's (lncc_statistics of greedy_kernels.hpp), and the derivative by the twelve
/// numbers of the map between voxels is twelve sums over voxels.

#include "greedy_kernels.hpp"

namespace warploom::registration {

struct DrawArguments {
  DeviceGrid grid;
  const std::uint8_t* own_counts;  ///< of the grid's voxels; null: all count
  DeviceLevel image;
  DeviceMap map;  ///< of the grid's voxels to the image's
  float* drawn;
  std::uint8_t* counts;  ///< 0 where an own voxel does not, where it leads outside, or to what is masked
};

/// After lncc_statistics with the same LnccArguments.
struct MomentArguments {
  LnccArguments lncc;
  DeviceLevel image;
  DeviceMap map;
  double* moments;  ///< [12, blocks], of d g_i times x, y, z and 1: g is the drawn image's slope
};
inline constexpr int kMoments = 12;

/// sums[0] = scale times the sum of `parts`, sums[1 + k] scale times that of row k of `moments`, in a fixed
/// order.
struct MomentSums {
  const double* parts;    ///< [count]
  const double* moments;  ///< [12, count]
  int count;
  double scale;
  double* sums;  ///< [13]
};

/// Planes of a block: few, since these grids are small, and each block reads 2 radius more.
inline int affine_planes(const DeviceGrid& grid) { return planes_of_block(grid, 1, 2, 2, 3); }
inline LaunchShape moment_sums_launch() { return {{1 + kMoments, 1, 1}, kVoxelThreads, 0}; }

cudaError_t launch_draw(const DrawArguments& arguments, cudaStream_t stream);
cudaError_t launch_moments(const MomentArguments& arguments, cudaStream_t stream);  ///< lncc_launch()
cudaError_t launch_moment_sums(const MomentSums& arguments, cudaStream_t stream);

}  // namespace warploom::registration
