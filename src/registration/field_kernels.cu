#include "field_kernels.hpp"
#include "greedy_cells.cuh"
#include "greedy_voxels.cuh"
#include "greedy_windows.cuh"

namespace warploom::registration {
namespace {

/// In a block's first thread.
__device__ double block_most(double value, double* scratch) {
  for (int offset = 16; offset > 0; offset /= 2)
    value = fmax(value, __shfl_xor_sync(0xffffffffU, value, offset));
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0)
    for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) value = fmax(value, scratch[warp]);
  return value;
}

}  // namespace

/// Launch: reducing_launch().
__global__ void __launch_bounds__(kVoxelThreads) look_at_field(const LookArguments a) {
  __shared__ double scratch[kVoxelThreads / 32];
  const DeviceGrid& e = a.grid;
  const std::int64_t voxels = e.voxels();
  double lower = 1e300, corner = 1e300, sum = 0, largest = 0;
  int failing = 0;
  for (std::int64_t at = std::int64_t{blockIdx.x} * kVoxelThreads + threadIdx.x; at < voxels;
       at += std::int64_t{gridDim.x} * kVoxelThreads) {
    const Voxel v(at, e);
    const double x = static_cast<double>(a.mm[at]), y = static_cast<double>(a.mm[at + voxels]),
                 z = static_cast<double>(a.mm[at + 2 * voxels]), length = sqrt(x * x + y * y + z * z);
    sum += length, largest = fmax(largest, length);
    if (!Cell::has(e, v.x, v.y, v.z)) continue;
    const CellBounds<double> bounds = Cell(e, a.mm, v.x, v.y, v.z).bounds<double>(a.voxel, 1);
    lower = fmin(lower, bounds.lower), corner = fmin(corner, bounds.corner);
    failing += bounds.lower > 0 ? 0 : 1;
  }
  if (failing != 0) atomicAdd(a.failing, failing);
  sum = block_sum(sum, scratch);
  lower = -block_most(-lower, scratch), corner = -block_most(-corner, scratch);
  largest = block_most(largest, scratch);
  if (threadIdx.x != 0) return;
  double* const to = a.parts + blockIdx.x;
  to[0] = lower, to[gridDim.x] = corner, to[2 * gridDim.x] = sum, to[3 * gridDim.x] = largest;
}

cudaError_t launch_look(const LookArguments& a, cudaStream_t stream) {
  return launch(look_at_field, reducing_launch(a.grid.voxels()), stream, a);
}

}  // namespace warploom::registration
