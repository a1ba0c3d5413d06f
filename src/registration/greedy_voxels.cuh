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

/// Half a voxel beyond the outermost centres is the image's face; an axis of one voxel has no sides.
__device__ inline bool inside(const float (&p)[3], const DeviceGrid& e) {
  const int extent[3] = {e.nx, e.ny, e.nz};
  bool in = true;
#pragma unroll
  for (int c = 0; c < 3; ++c)
    in = in && (extent[c] == 1 || (p[c] >= -0.5F && p[c] <= static_cast<float>(extent[c]) - 0.5F));
  return in;
}

__device__ inline bool masked_out(const float (&p)[3], const DeviceLevel& image) {
  if (image.counts == nullptr) return false;
  const DeviceGrid& e = image.grid;
  const auto nearest = [](float v, int n) { return min(max(static_cast<int>(floorf(v + 0.5F)), 0), n - 1); };
  return image.counts[e.at(nearest(p[0], e.nx), nearest(p[1], e.ny), nearest(p[2], e.nz))] == 0;
}

/// A point among voxels, cut to the grid: linear interpolation along each axis. Plain loads: textures weigh
/// with 8 bits.
class Between {
 public:
  __device__ Between(const DeviceGrid& e, const float (&point)[3]) {
    const int extent[3] = {e.nx, e.ny, e.nz};
    int cell[3];
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const float at = fminf(fmaxf(point[c], 0.0F), static_cast<float>(extent[c] - 1));
      // Rounded down to the last bit of 2^23 + at, which is 1: conversions take four times as long.
      constexpr float kWhole = 8388608;
      const float down = __fadd_rz(fminf(at, static_cast<float>(max(extent[c] - 2, 0))), kWhole);
      cell[c] = __float_as_int(down) - __float_as_int(kWhole);
      share_[c] = at - (down - kWhole);
    }
    // Extents are up to 2^20, and a plane has less than 2^31 voxels.
    step_[0] = e.nx > 1 ? 1 : 0, step_[1] = e.ny > 1 ? e.nx : 0, step_[2] = e.nz > 1 ? e.nx * e.ny : 0;
    first_ = std::int64_t{cell[2]} * (e.nx * e.ny) + (cell[1] * e.nx + cell[0]);
  }

  __device__ float mean(const float* image) const {
    const float* v = image + first_;
    const auto along = [](float a, float b, float share) { return a + share * (b - a); };
    const auto row = [&](std::int64_t at) { return along(v[at], v[at + step_[0]], share_[0]); };
    const std::int64_t y = step_[1], z = step_[2];
    return along(along(row(0), row(y), share_[1]), along(row(z), row(z + y), share_[1]), share_[2]);
  }
  /// Along the image's own axes, of the same mean.
  __device__ void slopes(const float* image, float (&out)[3]) const {
    const float* v = image + first_;
    const std::int64_t x = step_[0], y = step_[1], z = step_[2];
    const auto along = [](float a, float b, float share) { return a + share * (b - a); };
    const auto difference = [&](std::int64_t at) { return v[at + x] - v[at]; };
    const auto row = [&](std::int64_t at) { return along(v[at], v[at + x], share_[0]); };
    const float v00 = row(0), v10 = row(y), v01 = row(z), v11 = row(z + y);
    out[0] = along(along(difference(0), difference(y), share_[1]),
                   along(difference(z), difference(z + y), share_[1]), share_[2]);
    out[1] = along(v10 - v00, v11 - v01, share_[2]);
    out[2] = along(v01, v11, share_[1]) - along(v00, v10, share_[1]);
  }

 private:
  std::int64_t first_;
  int step_[3];
  float share_[3];
};

/// A thread's column of a block's tile, 32 x 8 voxels, and the planes that it goes through, of launches by
/// tile_launch(): so numbers of voxels are told apart once and not for each.
struct TileColumn {
  int x, y, z_from, z_to;
  __device__ explicit TileColumn(const DeviceGrid& e) {
    const unsigned across = pieces(e.nx, kTileWidth), down = pieces(e.ny, kTileRows);
    const unsigned row = blockIdx.x / across;
    x = static_cast<int>(blockIdx.x % across * kTileWidth + threadIdx.x % kTileWidth);
    y = static_cast<int>(row % down * kTileRows + threadIdx.x / kTileWidth);
    z_from = static_cast<int>(row / down) * kColumnPlanes;
    z_to = x < e.nx && y < e.ny ? min(z_from + kColumnPlanes, e.nz) : z_from;
  }
};

template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
                   const Arguments&... arguments) {
  // More than 48 KB have to be asked for.
  if (shape.shared > 48 << 10)
    if (const cudaError_t refused = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                         static_cast<int>(shape.shared));
        refused != cudaSuccess)
      return refused;
  kernel<<<dim3(shape.grid[0], shape.grid[1], shape.grid[2]), shape.threads, shape.shared, stream>>>(
      arguments...);
  return cudaPeekAtLastError();
}

}  // namespace warploom::registration
