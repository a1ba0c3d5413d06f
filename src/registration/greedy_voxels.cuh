#pragma once

/// Voxels and points among them, for the kernels of the greedy registration.

#include "greedy_kernels.hpp"

namespace warploom::registration {

/// A voxel by its number, which is less than 2^32.
struct Voxel {
  int x, y, z;
  __device__ Voxel(std::int64_t at, const DeviceGrid& e) {
    const auto index = static_cast<unsigned>(at), row = index / static_cast<unsigned>(e.nx);
    x = static_cast<int>(index % static_cast<unsigned>(e.nx));
    y = static_cast<int>(row % static_cast<unsigned>(e.ny));
    z = static_cast<int>(row / static_cast<unsigned>(e.ny));
  }
};

/// The number of this thread's voxel, of launches by voxel_launch().
__device__ inline std::int64_t own_voxel() { return std::int64_t{blockIdx.x} * kVoxelThreads + threadIdx.x; }

/// A point among voxels, cut to the grid: linear interpolation along each axis. Plain loads: textures weigh
/// with 8 bits.
class Between {
 public:
  __device__ Between(const DeviceGrid& e, const float (&point)[3]) {
    const int extent[3] = {e.nx, e.ny, e.nz};
    const std::int64_t stride[3] = {1, e.nx, e.plane()};
    first_ = 0;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const float at = fminf(fmaxf(point[c], 0.0F), static_cast<float>(extent[c] - 1));
      const int cell = static_cast<int>(fminf(at, static_cast<float>(max(extent[c] - 2, 0))));
      share_[c] = at - static_cast<float>(cell);
      step_[c] = extent[c] > 1 ? static_cast<int>(stride[c]) : 0;
      first_ += cell * stride[c];
    }
  }

  __device__ float mean(const float* image) const {
    const float* v = image + first_;
    const auto along = [](float a, float b, float share) { return a + share * (b - a); };
    const auto row = [&](std::int64_t at) { return along(v[at], v[at + step_[0]], share_[0]); };
    const std::int64_t y = step_[1], z = step_[2];
    return along(along(row(0), row(y), share_[1]), along(row(z), row(z + y), share_[1]), share_[2]);
  }

 private:
  std::int64_t first_;
  int step_[3];
  float share_[3];
};

template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
                   const Arguments&... arguments) {
  kernel<<<dim3(shape.grid[0], shape.grid[1], shape.grid[2]), shape.threads, shape.shared, stream>>>(
      arguments...);
  return cudaPeekAtLastError();
}

}  // namespace warploom::registration
