// What keeps the displacement of the symmetric greedy registration from folding, as positive_step.cpp does.

#include "greedy_cells.cuh"
#include "greedy_kernels.hpp"
#include "greedy_voxels.cuh"

namespace warploom::registration {
namespace {

/// Adds up over a launch what each thread has, 0 or 1.
__device__ void count(bool mine, int* counter) {
  const unsigned votes = __ballot_sync(0xffffffffU, mine);
  if (threadIdx.x % 32 == 0 && votes != 0) atomicAdd(counter, __popc(votes));
}

}  // namespace

/// Of both signs, cells that single precision does not prove positive: hardly ever there are any. Launch:
/// tile_launch().
__global__ void __launch_bounds__(kTileThreads, 2) count_suspects(const FoldArguments a) {
  const DeviceGrid& e = a.grid;
  const TileColumn own(e);
  int suspects = 0;
  for (int z = own.z_from; z < own.z_to; ++z) {
    if (!Cell::has(e, own.x, own.y, z)) continue;
    const Cell cell(e, a.h, own.x, own.y, z);
    if (a.in_voxels && cell.calm(a.least)) continue;
#pragma unroll 1
    for (float sign = -1; sign < 2; sign += 2)
      suspects += cell.bounds<float>(a.voxel, sign).lower > static_cast<float>(a.least) ? 0 : 1;
  }
  if (suspects != 0) atomicAdd(a.failing, suspects);
}

/// A cell has the place of its first voxel. Launch: voxel_launch().
__global__ void __launch_bounds__(kVoxelThreads) find_folds(const FoldArguments a) {
  const DeviceGrid& e = a.grid;
  const std::int64_t at = own_voxel();
  const Voxel p(at, e);
  bool folds = false;
  if (at < e.voxels() && Cell::has(e, p.x, p.y, p.z)) {
    const Cell cell(e, a.h, p.x, p.y, p.z);
    folds = !(a.in_voxels && cell.calm(a.least)) && !(cell.bounds<double>(a.voxel, a.sign).lower > a.least);
  }
  count(folds, a.failing);
  if (!folds) return;
  for (int z = max(p.z - a.margin, 0); z <= min(p.z + 1 + a.margin, e.nz - 1); ++z)
    for (int y = max(p.y - a.margin, 0); y <= min(p.y + 1 + a.margin, e.ny - 1); ++y)
      for (int x = max(p.x - a.margin, 0); x <= min(p.x + 1 + a.margin, e.nx - 1); ++x)
        atomicOr(a.marks + e.at(x, y, z), kSmoothNow);
}

/// Half a voxel's own displacement, half the mean of its neighbours', mirrored at the faces. Launch:
/// voxel_launch().
__global__ void __launch_bounds__(kVoxelThreads) average_folds(const FoldArguments a) {
  const DeviceGrid& e = a.grid;
  const std::int64_t at = own_voxel(), voxels = e.voxels();
  if (at >= voxels || (a.marks[at] & kSmoothNow) == 0) return;
  const Voxel p(at, e);
  const int place[3] = {p.x, p.y, p.z}, extent[3] = {e.nx, e.ny, e.nz};
  const std::int64_t stride[3] = {1, e.nx, e.plane()};
  for (int c = 0; c < 3; ++c) {
    const float* h = a.h + c * voxels + at;
    float sum = 0, neighbours = 0;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      if (extent[axis] == 1) continue;
      const std::int64_t back = place[axis] > 0 ? -stride[axis] : stride[axis],
                         ahead = place[axis] + 1 < extent[axis] ? stride[axis] : -stride[axis];
      sum += h[back] + h[ahead], neighbours += 2;
    }
    a.means[c * voxels + at] = neighbours > 0 ? (*h + sum / neighbours) / 2 : *h;
  }
}

/// Launch: voxel_launch().
__global__ void __launch_bounds__(kVoxelThreads) replace_folds(const FoldArguments a) {
  const std::int64_t at = own_voxel(), voxels = a.grid.voxels();
  if (at >= voxels || (a.marks[at] & kSmoothNow) == 0) return;
  for (int c = 0; c < 3; ++c) a.h[c * voxels + at] = a.means[c * voxels + at];
  a.marks[at] = kSmoothed;
}

/// Launch: voxel_launch().
__global__ void __launch_bounds__(kVoxelThreads) count_smoothed(const FoldArguments a) {
  const std::int64_t at = own_voxel();
  const bool there = at < a.grid.voxels();
  count(there && (a.marks[at] & kSmoothed) != 0, a.smoothed);
  if (there) a.marks[at] = 0;
}

cudaError_t launch_count_suspects(const FoldArguments& a, cudaStream_t stream) {
  return launch(count_suspects, tile_launch(a.grid), stream, a);
}
cudaError_t launch_find_folds(const FoldArguments& a, cudaStream_t stream) {
  return launch(find_folds, voxel_launch(a.grid.voxels()), stream, a);
}
cudaError_t launch_smooth_folds(const FoldArguments& a, cudaStream_t stream) {
  const cudaError_t error = launch(average_folds, voxel_launch(a.grid.voxels()), stream, a);
  return error == cudaSuccess ? launch(replace_folds, voxel_launch(a.grid.voxels()), stream, a) : error;
}
cudaError_t launch_count_smoothed(const FoldArguments& a, cudaStream_t stream) {
  return launch(count_smoothed, voxel_launch(a.grid.voxels()), stream, a);
}

}  // namespace warploom::registration
