#pragma once

/// What the derivative of local correlation sums over windows, of the statistics of each.

#include "greedy_kernels.hpp"
#include "greedy_window5.cuh"
#include "greedy_windows.cuh"

namespace warploom::registration {

/// For for_windows() and for_windows_of_five(): the part that a pass has in common with others; use() is its
/// own.
struct StatisticSums {
  static constexpr int kValues = 5, kSums = 5, kFiles = 5;
  static constexpr bool kImages = false;
  const LnccArguments& a;

  __device__ void read(int x, int y, int z, float (&values)[5]) const {
    const DeviceGrid& e = a.grid;
    const bool there = x >= 0 && y >= 0 && z >= 0 && x < e.nx && y < e.ny && z < e.nz;
    const float* from = a.statistics + (there ? e.at(x, y, z) : 0);
#pragma unroll
    for (int s = 0; s < 5; ++s) values[s] = there ? from[s * e.voxels()] : 0.0F;
  }
  __device__ const float* files() const { return a.statistics; }
  __device__ static void sum_rows(const float* from, float* to) {
#pragma unroll
    for (int s = 0; s < 5; ++s) {
      float v[8];
      load_row(from + s * kStagedPlane, v);
      *reinterpret_cast<float4*>(to + s * kSummedPlane) = sums_of_five(v);
    }
  }
  __device__ static void add(const float (&v)[5], int, float (&sums)[5]) {
#pragma unroll
    for (int s = 0; s < 5; ++s) sums[s] += v[s];
  }
  __device__ static float weight(int, int) { return 1; }
};

/// Windows of radius 2, the default's, or of any.
template <int kRadius, class Pass>
__device__ void for_lncc(Pass& pass, const LnccArguments& a, int z_from, int z_to) {
  if constexpr (kRadius == 2)
    for_windows_of_five(pass, a.grid, z_from, z_to);
  else
    for_windows(pass, a.grid, a.radius, z_from, z_to);
}

}  // namespace warploom::registration
