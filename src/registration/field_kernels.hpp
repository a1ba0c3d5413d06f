#pragma once

/// The GPU's last pass over a displacement field: what it needs to be called free of folds, and how long its
/// vectors are.

#include "greedy_kernels.hpp"

namespace warploom::registration {

struct LookArguments {
  DeviceGrid grid;
  const float* mm;
  DeviceVoxel voxel;
  /// [4, blocks]: the least lower bound of a cell's determinant, the least determinant at a corner, the sum
  /// of the vectors' lengths and the largest.
  double* parts;
  int* failing;  ///< one counter, 0 before: cells whose lower bound is not above 0
};
inline constexpr int kLookParts = 4;

cudaError_t launch_look(const LookArguments& arguments, cudaStream_t stream);  ///< reducing_launch()

}  // namespace warploom::registration
