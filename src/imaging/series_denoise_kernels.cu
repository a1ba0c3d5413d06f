#include <cstdint>

#include "patch_group.cuh"
#include "series_denoise_kernels.hpp"

namespace warploom::imaging {
namespace {

constexpr int kTile = 32, kTileRows = 8;

__host__ __device__ constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

template <class T>
std::size_t matrix_bytes(int n) {
  return aligned(sizeof(T) * n * n);
}
template <class T>
std::size_t other_shared_bytes(int n) {
  return aligned(sizeof(T) * PatchArrays<T>::elements(n)) + 64 * sizeof(double);
}
template <class T>
std::size_t rotation_bytes(int n) {
  return aligned(2 * sizeof(T) * kPatchRotations * static_cast<std::size_t>(n) * n);
}
std::size_t sweep_bytes(int n) { return aligned(2 * sizeof(int) * kPatchSweeps * n); }

}  // namespace

/// A patch a block, block after block. Launch: grid (blocks); block kThreads; dynamic shared memory and scratch as
/// plan_patches() says.
template <class T, int kThreads>
__global__ void __launch_bounds__(kThreads)
    denoise_patches(const float* __restrict__ series, const std::int32_t* __restrict__ patches,
                    const double* __restrict__ inverse_width, float* denoised, unsigned long long* totals,
                    float* variance, std::int16_t* rank, std::byte* all_scratch, unsigned* failed,
                    const PatchConstants constants, const std::int64_t begin, const std::int64_t end,
                    const int matrix_in_shared, const std::int64_t scratch_bytes) {
  const PatchBuffers buffers{series, patches, inverse_width, denoised, totals, variance, rank, all_scratch, failed};
  extern __shared__ double patch_memory[];
  const int n = constants.channels;
  std::byte* scratch = buffers.scratch + static_cast<std::int64_t>(blockIdx.x) * scratch_bytes;
  PatchGroup<T, kThreads> group(constants, buffers);
  std::byte* shared = reinterpret_cast<std::byte*>(patch_memory);
  group.reduction = reinterpret_cast<double*>(shared);
  shared += 64 * sizeof(double);
  group.arrays = PatchArrays<T>(reinterpret_cast<T*>(shared), n);
  shared += aligned(sizeof(T) * PatchArrays<T>::elements(n));
  group.rotations = reinterpret_cast<T*>(scratch);
  scratch += aligned(2 * sizeof(T) * kPatchRotations * static_cast<std::size_t>(n) * n);
  group.sweeps = reinterpret_cast<int*>(scratch);
  scratch += aligned(2 * sizeof(int) * kPatchSweeps * n);
  group.matrix = reinterpret_cast<T*>(matrix_in_shared != 0 ? shared : scratch);
  for (std::int64_t item = begin + blockIdx.x; item < end; item += gridDim.x) group.denoise(item);
}

/// Launch: grid (voxels / kTile, channels / kTile); block (kTile, kTileRows).
__global__ void series_to_voxels(const float* __restrict__ series, float* __restrict__ voxels, const std::int64_t count,
                                 const int channels, const float scale) {
  __shared__ float tile[kTile][kTile + 1];
  const std::int64_t voxel0 = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const int channel0 = static_cast<int>(blockIdx.y) * kTile, x = static_cast<int>(threadIdx.x);
  for (int row = static_cast<int>(threadIdx.y); row < kTile; row += kTileRows)
    if (voxel0 + x < count && channel0 + row < channels)
      tile[row][x] = series[(channel0 + row) * count + voxel0 + x] * scale;
  __syncthreads();
  for (int row = static_cast<int>(threadIdx.y); row < kTile; row += kTileRows)
    if (voxel0 + row < count && channel0 + x < channels)
      voxels[(voxel0 + row) * channels + channel0 + x] = tile[x][row];
}

/// Launch as series_to_voxels().
__global__ void voxels_to_series(const float* __restrict__ values, const unsigned long long* __restrict__ sum,
                                 float* __restrict__ series, const std::int64_t count, const int channels,
                                 const double scale) {
  __shared__ float tile[kTile][kTile + 1];
  const std::int64_t voxel0 = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const int channel0 = static_cast<int>(blockIdx.y) * kTile, x = static_cast<int>(threadIdx.x);
  for (int row = static_cast<int>(threadIdx.y); row < kTile; row += kTileRows)
    if (voxel0 + row < count && channel0 + x < channels) {
      const std::int64_t at = (voxel0 + row) * channels + channel0 + x;
      tile[row][x] = values != nullptr
                         ? values[at] * static_cast<float>(scale)
                         : static_cast<float>(static_cast<double>(static_cast<long long>(sum[at])) * scale);
    }
  __syncthreads();
  for (int row = static_cast<int>(threadIdx.y); row < kTile; row += kTileRows)
    if (voxel0 + x < count && channel0 + row < channels)
      series[(channel0 + row) * count + voxel0 + x] = tile[x][row];
}

namespace {

// Up to this many channels a warp has a patch, else a block of kLargeThreads.
constexpr int kWarpChannels = 96, kLargeThreads = 256;

template <class T, int kThreads>
cudaError_t plan(const PatchConstants& constants, PatchLaunch& out) {
  const int n = constants.channels;
  const auto kernel = denoise_patches<T, kThreads>;
  int device = 0, processors = 0, most_shared = 0, each = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  out.threads = kThreads;
  out.shared_bytes = other_shared_bytes<T>(n);
  out.scratch_bytes = rotation_bytes<T>(n) + sweep_bytes(n);
  out.matrix_in_shared = out.shared_bytes + matrix_bytes<T>(n) <= static_cast<std::size_t>(most_shared);
  if (out.matrix_in_shared)
    out.shared_bytes += matrix_bytes<T>(n);
  else
    out.scratch_bytes += matrix_bytes<T>(n);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(out.shared_bytes));
  if (error == cudaSuccess)
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, kThreads, out.shared_bytes);
  out.blocks = processors * each;
  return error;
}

}  // namespace

cudaError_t plan_patches(const PatchConstants& constants, bool double_precision, PatchLaunch& out) {
  out.double_precision = double_precision;
  const bool warp = constants.channels <= kWarpChannels;
  if (double_precision) return warp ? plan<double, 32>(constants, out) : plan<double, kLargeThreads>(constants, out);
  return warp ? plan<float, 32>(constants, out) : plan<float, kLargeThreads>(constants, out);
}

cudaError_t launch_patches(const PatchLaunch& plan, const PatchConstants& constants, const PatchBuffers& buffers,
                           std::int64_t begin, std::int64_t end, cudaStream_t stream) {
  const bool warp = plan.threads == 32;
  const auto kernel = plan.double_precision
                          ? (warp ? denoise_patches<double, 32> : denoise_patches<double, kLargeThreads>)
                          : (warp ? denoise_patches<float, 32> : denoise_patches<float, kLargeThreads>);
  const std::int64_t blocks = end - begin < plan.blocks ? end - begin : plan.blocks;
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(plan.threads), plan.shared_bytes, stream>>>(
      buffers.series, buffers.patches, buffers.inverse_width, buffers.denoised, buffers.sum, buffers.variance,
      buffers.rank, buffers.scratch, buffers.failed, constants, begin, end, plan.matrix_in_shared ? 1 : 0, static_cast<std::int64_t>(plan.scratch_bytes));
  return cudaPeekAtLastError();
}

namespace {
dim3 tiles(std::int64_t count, int channels) {
  return {static_cast<unsigned>((count + kTile - 1) / kTile), static_cast<unsigned>((channels + kTile - 1) / kTile)};
}
}  // namespace

cudaError_t launch_series_to_voxels(const float* series, float* voxels, std::int64_t count, int channels, float scale,
                                    cudaStream_t stream) {
  series_to_voxels<<<tiles(count, channels), dim3(kTile, kTileRows), 0, stream>>>(series, voxels, count, channels,
                                                                                 scale);
  return cudaPeekAtLastError();
}

cudaError_t launch_voxels_to_series(const float* values, const unsigned long long* sum, float* series,
                                    std::int64_t count, int channels, double scale, cudaStream_t stream) {
  voxels_to_series<<<tiles(count, channels), dim3(kTile, kTileRows), 0, stream>>>(values, sum, series, count, channels,
                                                                                 scale);
  return cudaPeekAtLastError();
}

}  // namespace warploom::imaging
