// Between resolutions of the symmetric greedy registration: images with half the voxels, a displacement on a
// finer grid, and the map that it stands for.

#include "greedy_kernels.hpp"
#include "greedy_voxels.cuh"

namespace warploom::registration {
/// Launch: voxel_launch().
__global__ void __launch_bounds__(kVoxelThreads) normalise(const NormaliseArguments a) {
  const std::int64_t at = own_voxel();
  if (at >= a.voxels) return;
  const float value = a.data[at];
  a.data[at] =
      isfinite(value) ? static_cast<float>((static_cast<double>(value) - a.mean) / a.deviation) : 0.0F;
}

/// Even extents by (1 3 3 1)/8, odd ones by (1 8 14 8 1)/32, as pyramid.cpp does. Launch: voxel_launch(to).
__global__ void __launch_bounds__(kVoxelThreads) halve(const HalveArguments a) {
  const std::int64_t own = own_voxel();
  if (own >= a.to.voxels()) return;
  const Voxel v(own, a.to);
  const DeviceGrid& e = a.from.grid;
  const int n = a.axis == 0   ? e.nx
                : a.axis == 1 ? e.ny
                              : e.nz,
            i = a.axis == 0   ? v.x
                : a.axis == 1 ? v.y
                              : v.z;
  const std::int64_t stride = a.axis == 0 ? 1 : a.axis == 1 ? e.nx : e.plane();
  const bool odd = n % 2 != 0;
  const float taps[5] = {odd ? 1 / 32.F : 0, odd ? 8 / 32.F : 1 / 8.F, odd ? 14 / 32.F : 3 / 8.F,
                         odd ? 8 / 32.F : 3 / 8.F, odd ? 1 / 32.F : 1 / 8.F};
  const std::int64_t line = e.at(v.x, v.y, v.z) - i * stride;
  float sum = 0, counted = 0;
  for (int k = 0; k < 5; ++k) {
    const std::int64_t at = line + min(max(2 * i + k - 2, 0), n - 1) * stride;
    sum += taps[k] * a.from.data[at];
    if (a.counts != nullptr && a.from.counts[at] != 0) counted += taps[k];
  }
  a.data[own] = sum;
  if (a.counts != nullptr) a.counts[own] = counted >= 0.5F ? 1 : 0;
}

/// Launch: voxel_launch(grid).
__global__ void __launch_bounds__(kVoxelThreads) refine_field(const RefineArguments a) {
  const std::int64_t own = own_voxel();
  if (own >= a.grid.voxels()) return;
  const Voxel v(own, a.grid);
  const auto x = static_cast<float>(v.x), y = static_cast<float>(v.y), z = static_cast<float>(v.z);
  float p[3];
#pragma unroll
  for (int r = 0; r < 3; ++r) {
    const float(&m)[4] = a.map.row[r];
    p[r] = (m[1] * y + m[2] * z + m[3]) + m[0] * x;
  }
  const Between there(a.source, p);
#pragma unroll
  for (int c = 0; c < 3; ++c)
    a.to[own + c * a.grid.voxels()] = a.scale[c] * there.mean(a.from + c * a.source.voxels());
}

/// e = h(x + e), which converges since h stretches nothing to twice its length. Launch: voxel_launch(fixed).
__global__ void __launch_bounds__(kVoxelThreads) through_the_middle(const MiddleArguments a) {
  const std::int64_t own = own_voxel(), voxels = a.fixed.voxels();
  if (own >= voxels) return;
  const Voxel v(own, a.fixed);
  const auto x = static_cast<float>(v.x), y = static_cast<float>(v.y), z = static_cast<float>(v.z);
  float at[3], e[3] = {0, 0, 0};
#pragma unroll
  for (int r = 0; r < 3; ++r) {
    const float(&m)[4] = a.map.row[r];
    at[r] = m[0] * x + m[1] * y + m[2] * z + m[3];
  }
  for (int k = 0; k < 60; ++k) {
    const float p[3] = {at[0] + e[0], at[1] + e[1], at[2] + e[2]};
    const Between there(a.grid, p);
    float change = 0;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const float value = there.mean(a.h + c * a.grid.voxels());
      change = fmaxf(change, fabsf(value - e[c]));
      e[c] = value;
    }
    if (change < 1e-4F) break;
  }
  double u[3];
#pragma unroll
  for (int r = 0; r < 3; ++r) {
    const float(&m)[4] = a.back.row[r];
    u[r] = static_cast<double>(2 * (m[0] * e[0] + m[1] * e[1] + m[2] * e[2]));
  }
#pragma unroll
  for (int r = 0; r < 3; ++r) {
    const double(&to)[4] = a.to[r], (&from)[4] = a.from[r];
    const double at_voxel[3] = {static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)};
    const double there = to[0] * at_voxel[0] + to[1] * at_voxel[1] + to[2] * at_voxel[2] + to[3];
    const double here = from[0] * at_voxel[0] + from[1] * at_voxel[1] + from[2] * at_voxel[2] + from[3];
    const double by = to[0] * u[0] + to[1] * u[1] + to[2] * u[2];
    a.out[own + r * voxels] = static_cast<float>((there - here) + by);
  }
}

cudaError_t launch_normalise(const NormaliseArguments& a, cudaStream_t stream) {
  return launch(normalise, voxel_launch(a.voxels), stream, a);
}
cudaError_t launch_halve(const HalveArguments& a, cudaStream_t stream) {
  return launch(halve, voxel_launch(a.to.voxels()), stream, a);
}
cudaError_t launch_refine(const RefineArguments& a, cudaStream_t stream) {
  return launch(refine_field, voxel_launch(a.grid.voxels()), stream, a);
}
cudaError_t launch_through_the_middle(const MiddleArguments& a, cudaStream_t stream) {
  return launch(through_the_middle, voxel_launch(a.fixed.voxels()), stream, a);
}

}  // namespace warploom::registration
