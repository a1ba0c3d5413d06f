#include <cstdint>

#include "known_noise_kernels.hpp"

namespace warploom::imaging {
namespace {

constexpr int kThreads = 128, kWarp = 32;

__device__ std::int64_t own_voxel() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
unsigned blocks_of(std::int64_t voxels) { return static_cast<unsigned>((voxels + kThreads - 1) / kThreads); }

/// Of the block's threads, in a fixed order; of the first thread alone.
__device__ double block_sum(double value) {
  __shared__ double warps[kThreads / kWarp];
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffU, value, step);
  __syncthreads();  // the last sum was read
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = value;
  __syncthreads();
  double sum = 0;
#pragma unroll
  for (const double part : warps) sum += part;
  return sum;
}

}  // namespace

/// Launch of these five: a thread a voxel, blocks of kThreads.
__global__ void __launch_bounds__(kThreads)
    mean_variance(const float* __restrict__ series, const float* __restrict__ noise, const double usual,
                  const int volumes, const std::int64_t voxels, const RicianMoments* __restrict__ table,
                  double* __restrict__ variance) {
  const std::int64_t v = own_voxel();
  if (v >= voxels) return;
  const double scale = 1 / (noise[v] > 0 ? static_cast<double>(noise[v]) : usual);
  double sum = 0;
  for (int i = 0; i < volumes; ++i) {
    const double value = static_cast<double>(series[i * voxels + v]);
    sum += isfinite(value) ? rician_variance(scale * value, table) : 1;
  }
  variance[v] = sum / volumes;
}

__global__ void __launch_bounds__(kThreads)
    box_means(const double* __restrict__ from, double* __restrict__ to, const std::int64_t voxels,
              const std::int64_t extent, const std::int64_t step, const std::int64_t reach) {
  const std::int64_t v = own_voxel();
  if (v >= voxels) return;
  const std::int64_t at = v / step % extent, begin = at < reach ? -at : -reach,
                     end = at + reach < extent ? reach : extent - 1 - at;
  double sum = 0;
  for (std::int64_t k = begin; k <= end; ++k) sum += from[v + k * step];
  to[v] = sum / static_cast<double>(end - begin + 1);
}

__global__ void __launch_bounds__(kThreads)
    divide_noise(const float* __restrict__ measured, const double* __restrict__ variance,
                 float* __restrict__ noise, const std::int64_t voxels) {
  const std::int64_t v = own_voxel();
  if (v < voxels && measured[v] > 0) noise[v] = measured[v] / static_cast<float>(sqrt(variance[v]));
}

__global__ void __launch_bounds__(kThreads) split_residuals(const ResidualBuffers buffers) {
  const std::int64_t v = own_voxel(), voxels = buffers.voxels();
  if (v >= voxels) return;
  buffers.group[v] = kNoGroup;
  const double sigma = static_cast<double>(buffers.noise[v]),
               amplitude = static_cast<double>(buffers.s0[v]) / sigma;
  if (buffers.mask[v] == 0 || !(sigma > 0) || !(amplitude > 0) || !isfinite(amplitude)) return;
  std::array<double, 6> tensor, parts;
#pragma unroll
  for (std::size_t c = 0; c < 6; ++c)
    tensor[c] = static_cast<double>(buffers.tensor[static_cast<std::int64_t>(c) * voxels + v]);
  const Unknowns solution = residual_solution(tensor, buffers.largest_b, amplitude);
  const auto measured = [&](int i) { return static_cast<double>(buffers.series[i * voxels + v]) / sigma; };
  ResidualSplit split;
  bool finite = true;
  for (int i = 0; i < buffers.volumes; ++i) {
    const double value = measured(i);
    finite = finite && isfinite(value);
    split.add(buffers.rows[i], residual_of(buffers.rows[i], solution, value, buffers.table));
  }
  if (!finite || !split.solve(parts)) return;
  buffers.group[v] = residual_group(tensor);
  for (int i = 0; i < buffers.volumes; ++i)
    buffers.rest[i * voxels + v] = static_cast<float>(
        split.rest(buffers.rows[i], residual_of(buffers.rows[i], solution, measured(i), buffers.table)));
#pragma unroll
  for (int c = 0; c < 6; ++c)
    buffers.removed[c * voxels + v] = static_cast<float>(parts[static_cast<std::size_t>(c)]);
}

__global__ void __launch_bounds__(kThreads) residual_products(const ResidualBuffers buffers) {
  const std::int64_t v = own_voxel(), voxels = buffers.voxels();
  const int own = v < voxels ? buffers.group[v] : kNoGroup;
  Products tensors, rest;
  int pairs = 0;
  if (own != kNoGroup) {
    const std::int64_t steps[3] = {1, buffers.nx, buffers.nx * buffers.ny};
    const std::int64_t extents[3] = {buffers.nx, buffers.ny, buffers.nz};
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t step = steps[axis];
      if (v / step % extents[axis] + 1 >= extents[axis] || buffers.group[v + step] != own) continue;
      ++pairs;
      const auto add = [&](const float* values, int channels, Products& to) {
        for (int c = 0; c < channels; ++c, values += voxels)
          to.add(static_cast<double>(values[v]), static_cast<double>(values[v + step]));
      };
      add(buffers.removed, 6, tensors);
      add(buffers.rest, buffers.volumes, rest);
    }
  }
  for (int group = 0; group < 3; ++group) {
    const double share = own == group ? 1 : 0;
    PairSums sums;
    sums.tensors.product = block_sum(share * tensors.product);
    sums.tensors.square = block_sum(share * tensors.square);
    sums.rest.product = block_sum(share * rest.product);
    sums.rest.square = block_sum(share * rest.square);
    sums.pairs = static_cast<std::int64_t>(block_sum(share * pairs));
    if (threadIdx.x == 0) buffers.sums[3 * static_cast<std::int64_t>(blockIdx.x) + group] = sums;
  }
}

cudaError_t launch_mean_variance(const float* series, const float* noise, double usual, int volumes,
                                 std::int64_t voxels, const RicianMoments* table, double* variance,
                                 cudaStream_t stream) {
  mean_variance<<<blocks_of(voxels), kThreads, 0, stream>>>(series, noise, usual, volumes, voxels, table,
                                                            variance);
  return cudaGetLastError();
}

cudaError_t launch_box_means(const double* from, double* to, std::int64_t voxels, std::int64_t extent,
                             std::int64_t step, std::int64_t reach, cudaStream_t stream) {
  box_means<<<blocks_of(voxels), kThreads, 0, stream>>>(from, to, voxels, extent, step, reach);
  return cudaGetLastError();
}

cudaError_t launch_divide_noise(const float* measured, const double* variance, float* noise,
                                std::int64_t voxels, cudaStream_t stream) {
  divide_noise<<<blocks_of(voxels), kThreads, 0, stream>>>(measured, variance, noise, voxels);
  return cudaGetLastError();
}

std::int64_t residual_blocks(std::int64_t voxels) { return blocks_of(voxels); }

cudaError_t launch_residual(const ResidualBuffers& buffers, cudaStream_t stream) {
  split_residuals<<<blocks_of(buffers.voxels()), kThreads, 0, stream>>>(buffers);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  residual_products<<<blocks_of(buffers.voxels()), kThreads, 0, stream>>>(buffers);
  return cudaGetLastError();
}

}  // namespace warploom::imaging
