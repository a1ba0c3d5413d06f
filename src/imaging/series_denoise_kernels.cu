#include <cstdint>

#include "patch_group.cuh"
#include "patch_spectrum.cuh"
#include "series_denoise_kernels.hpp"

namespace warploom::imaging {
namespace {

constexpr int kTile = 32, kTileRows = 8, kTurnThreads = 128, kSumThreads = 256;

__host__ __device__ constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

constexpr std::size_t kReductionBytes = 64 * sizeof(double);

template <class T>
__host__ __device__ std::size_t matrix_bytes(int n) {
  return aligned(sizeof(T) * n * n);
}
template <class T>
__host__ __device__ std::size_t array_bytes(int n) {
  return aligned(sizeof(T) * PatchArrays<T>::elements(n)) + kReductionBytes;
}

/// @return  what lies behind the arrays
template <class T, int kThreads>
__device__ std::byte* place_arrays(PatchGroup<T, kThreads>& group, double* memory, int n) {
  std::byte* shared = reinterpret_cast<std::byte*>(memory);
  group.reduction = memory;
  group.arrays = PatchArrays<T>(reinterpret_cast<T*>(shared + kReductionBytes), n);
  return shared + array_bytes<T>(n);
}

}  // namespace

/// Tridiagonal matrices: a patch a block, block after block. Launch: grid (blocks); block kThreads; dynamic
/// shared memory for the arrays and, where `matrix_scratch` is 0, the matrix.
template <class T, int kThreads>
__global__ void __launch_bounds__(kThreads)
    reduce_patches(const float* __restrict__ series, const std::int32_t* __restrict__ patches,
                   const std::int64_t* __restrict__ first_vector, T* reflectors, T* tridiagonal, T* vectors,
                   std::byte* scratch, const PatchConstants constants, const std::int64_t begin,
                   const std::int64_t end, const std::int64_t matrix_scratch) {
  extern __shared__ double patch_memory[];
  const int n = constants.channels;
  PatchGroup<T, kThreads> group(constants, series);
  std::byte* const behind = place_arrays(group, patch_memory, n);
  group.matrix = reinterpret_cast<T*>(
      matrix_scratch == 0 ? behind : scratch + static_cast<std::int64_t>(blockIdx.x) * matrix_scratch);
  for (std::int64_t item = begin + blockIdx.x; item < end; item += gridDim.x) {
    group.place(patches[item]);
    group.reflectors = reflectors + (item - begin) * n * n;
    group.reduce(tridiagonal + (item - begin) * (2 * n + 1),
                 vectors + (first_vector[item] - first_vector[begin]) * n);
    group.sync();
  }
}

/// Their spectra, and what is noise: 32 patches a warp, a block each. Vectors become, of centre output, their
/// part that is kept; else they are written: the eigenvectors of the smaller side. Launch: grid (blocks);
/// block 32; dynamic shared memory for the arrays, if they lie there.
template <class T>
__global__ void __launch_bounds__(32)
    patch_spectra(const std::int64_t* __restrict__ first_vector, const double* __restrict__ inverse_width,
                  const T* __restrict__ tridiagonal, T* vectors, float* variance, std::int16_t* rank,
                  std::int16_t* count, std::byte* scratch, unsigned* failed, const PatchConstants constants,
                  const std::int64_t begin, const std::int64_t end, const int in_shared,
                  const std::int64_t scratch_bytes) {
  extern __shared__ double patch_memory[];
  constexpr int kLanes = PatchSpectrum<T>::kLanes;
  const int n = constants.channels, lane = static_cast<int>(threadIdx.x);
  std::byte* own = scratch + static_cast<std::int64_t>(blockIdx.x) * scratch_bytes;
  PatchSpectrum<T> spectrum;
  spectrum.n = n, spectrum.lane = lane;
  spectrum.sweeps = reinterpret_cast<int*>(own);
  own += (sizeof(int) * kPatchSweeps * n + 15) / 16 * 16;
  spectrum.rotations = reinterpret_cast<T*>(own) + lane;
  own += sizeof(T) * kLanes * static_cast<std::size_t>(PatchSpectrum<T>::room(n));
  T* const arrays = (in_shared != 0 ? reinterpret_cast<T*>(patch_memory) : reinterpret_cast<T*>(own)) + lane;
  spectrum.diagonal = arrays;
  spectrum.beside = arrays + kLanes * n;
  spectrum.vector = arrays + 2 * kLanes * n;
  for (std::int64_t first = begin + static_cast<std::int64_t>(blockIdx.x) * kLanes; first < end;
       first += static_cast<std::int64_t>(gridDim.x) * kLanes) {
    const std::int64_t item = first + lane;
    const bool there = item < end;
    const T* const from = tridiagonal + (item - begin) * (2 * n + 1);
    for (int i = 0; i < n; ++i) {
      spectrum.diagonal[i * kLanes] = there ? from[i] : 0;
      spectrum.beside[i * kLanes] = there ? from[n + i] : 0;
    }
    T* own_vectors = vectors + (there ? (first_vector[item] - first_vector[begin]) * n : 0);
    bool found = false;
    if (constants.average != 0) {
      found = spectrum.template find_eigenvalues<false>();
    } else {  // the first column goes along
      for (int i = 0; i < n; ++i) spectrum.vector[i * kLanes] = there ? own_vectors[i] : 0;
      found = spectrum.template find_eigenvalues<true>();
    }
    if (!found) {
      if (lane == 0) *failed = 1;
      continue;
    }
    float variance_here = 0;
    int rank_here = 0;
    const T noise =
        spectrum.judge(constants, inverse_width, there ? from[2 * n] : 0, variance_here, rank_here);
    int own_count = 0;  // of vectors
    bool signal = true;
    if (there) {
      variance[item] = variance_here;
      rank[item] = static_cast<std::int16_t>(rank_here);
      if (constants.average != 0) {
        int kept = 0;
        for (int i = 0; i < n; ++i) kept += spectrum.diagonal[i * kLanes] > noise ? 1 : 0;
        signal = kept <= n / 2;
        own_count = signal ? kept : n - kept;
        count[item] = static_cast<std::int16_t>(signal ? own_count : -1 - own_count);
      } else {
        own_count = static_cast<int>(first_vector[item + 1] - first_vector[item]);
      }
    }
    int most = own_count;
    for (int offset = 16; offset > 0; offset /= 2)
      most = max(most, __shfl_xor_sync(0xffffffffU, most, offset));
    int next = 0;
    for (int k = 0; k < most; ++k) {
      const bool mine = k < own_count;
      T* const to = own_vectors + static_cast<std::int64_t>(k) * n;
      if (constants.average != 0) {
        for (int i = 0; i < n; ++i) spectrum.vector[i * kLanes] = 0;
        if (mine) {
          while ((spectrum.diagonal[next * kLanes] > noise) != signal) ++next;
          spectrum.vector[next++ * kLanes] = 1;
        }
      } else {
        if (k > 0) {
          for (int i = 0; i < n; ++i) spectrum.vector[i * kLanes] = mine ? to[i] : 0;
          spectrum.to_eigenbasis();
        }
        for (int i = 0; i < n; ++i)
          if (!(spectrum.diagonal[i * kLanes] > noise)) spectrum.vector[i * kLanes] = 0;
      }
      spectrum.from_eigenbasis();
      if (mine)
        for (int i = 0; i < n; ++i) to[i] = spectrum.vector[i * kLanes];
    }
    __syncwarp();  // the sweeps may be overwritten
  }
}

/// From the tridiagonal basis to the result. Launch: as reduce_patches(), kReductionBytes of dynamic shared
/// memory.
template <class T, int kThreads>
__global__ void __launch_bounds__(kThreads)
    finish_patches(const float* __restrict__ series, const std::int32_t* __restrict__ patches,
                   const std::int64_t* __restrict__ first_vector, T* reflectors,
                   const T* __restrict__ vectors, const std::int16_t* __restrict__ count, float* denoised,
                   unsigned long long* sums, const PatchConstants constants, const std::int64_t begin,
                   const std::int64_t end) {
  extern __shared__ double patch_memory[];
  const int n = constants.channels;
  PatchGroup<T, kThreads> group(constants, series);
  group.reduction = patch_memory;
  for (std::int64_t item = begin + blockIdx.x; item < end; item += gridDim.x) {
    group.place(patches[item]);
    group.reflectors = reflectors + (item - begin) * n * n;
    const T* const own = vectors + (first_vector[item] - first_vector[begin]) * n;
    if (constants.average == 0) {
      group.finish_columns(own, denoised);
    } else {
      const int vectors_here = count[item];
      group.finish_average(own, vectors_here < 0 ? -1 - vectors_here : vectors_here, vectors_here >= 0, sums);
    }
    group.sync();
  }
}

/// Launch: grid (voxels / kTile, channels / kTile); block (kTile, kTileRows).
__global__ void series_to_voxels(const float* __restrict__ series, float* __restrict__ voxels,
                                 const std::int64_t count, const int channels, const float scale) {
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
__global__ void voxels_to_series(const float* __restrict__ values, float* __restrict__ series,
                                 const std::int64_t count, const int channels, const float scale) {
  __shared__ float tile[kTile][kTile + 1];
  const std::int64_t voxel0 = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const int channel0 = static_cast<int>(blockIdx.y) * kTile, x = static_cast<int>(threadIdx.x);
  for (int row = static_cast<int>(threadIdx.y); row < kTile; row += kTileRows)
    if (voxel0 + row < count && channel0 + x < channels)
      tile[row][x] = values[(voxel0 + row) * channels + channel0 + x] * scale;
  __syncthreads();
  for (int row = static_cast<int>(threadIdx.y); row < kTile; row += kTileRows)
    if (voxel0 + x < count && channel0 + row < channels)
      series[(channel0 + row) * count + voxel0 + x] = tile[x][row];
}

/// Launch: grid (count / kSumThreads); block kSumThreads.
__global__ void sums_to_values(const unsigned long long* __restrict__ sums, float* __restrict__ values,
                               const std::int64_t count) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kSumThreads + threadIdx.x;
  if (at < count)
    values[at] = static_cast<float>(static_cast<double>(static_cast<long long>(sums[at])) / kPatchUnit);
}

/// A voxel a warp, in double precision: it costs nothing beside reading them. Launch: grid (voxels / warps of
/// a block); block kTurnThreads.
__global__ void __launch_bounds__(kTurnThreads)
    turn_voxels(float* values, const std::int64_t count, const int channels, const float* __restrict__ u,
                const float* __restrict__ factors, const int reflectors, const int back) {
  constexpr int kWarp = 32, kOwn = kMostChannels / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t voxel =
      static_cast<std::int64_t>(blockIdx.x) * (kTurnThreads / kWarp) + threadIdx.x / kWarp;
  if (voxel >= count) return;  // the whole warp
  float* const own = values + voxel * channels;
  double x[kOwn];
#pragma unroll
  for (int e = 0; e < kOwn; ++e)
    x[e] = lane + e * kWarp < channels ? static_cast<double>(own[lane + e * kWarp]) : 0;
  for (int done = 0; done < reflectors; ++done) {
    const int number = back != 0 ? reflectors - 1 - done : done;
    const float* const row = u + static_cast<std::int64_t>(number) * channels;
    double part = 0;
#pragma unroll
    for (int e = 0; e < kOwn; ++e)
      if (lane + e * kWarp < channels) part += x[e] * static_cast<double>(row[lane + e * kWarp]);
    for (int offset = kWarp / 2; offset > 0; offset /= 2) part += __shfl_xor_sync(0xffffffffU, part, offset);
    const double times = part * static_cast<double>(factors[number]);
#pragma unroll
    for (int e = 0; e < kOwn; ++e)
      if (lane + e * kWarp < channels) x[e] -= times * static_cast<double>(row[lane + e * kWarp]);
  }
#pragma unroll
  for (int e = 0; e < kOwn; ++e)
    if (lane + e * kWarp < channels) own[lane + e * kWarp] = static_cast<float>(x[e]);
}

namespace {

// Blocks that are resident on the device at once, and leave to use so much shared memory.
template <class Kernel>
cudaError_t resident_blocks(Kernel kernel, int threads, std::size_t shared, int processors, int& blocks) {
  cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  int each = 0;
  if (error == cudaSuccess)
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, shared);
  blocks = processors * each;
  return error;
}

template <class T, int kThreads>
cudaError_t plan(int n, PatchLaunch& out) {
  int device = 0, processors = 0, most = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error != cudaSuccess) return error;
  const auto most_shared = static_cast<std::size_t>(most);
  out.threads = kThreads;
  out.reduce_shared = array_bytes<T>(n);
  out.finish_shared = kReductionBytes;
  if (out.reduce_shared + matrix_bytes<T>(n) <= most_shared)
    out.reduce_shared += matrix_bytes<T>(n);
  else
    out.matrix_scratch = matrix_bytes<T>(n);
  out.spectrum_scratch = PatchSpectrum<T>::scratch_bytes(n);
  out.spectrum_in_shared = PatchSpectrum<T>::array_bytes(n) <= most_shared;
  if (out.spectrum_in_shared)
    out.spectrum_shared = PatchSpectrum<T>::array_bytes(n);
  else
    out.spectrum_scratch += PatchSpectrum<T>::array_bytes(n);
  error = resident_blocks(reduce_patches<T, kThreads>, kThreads, out.reduce_shared, processors,
                          out.reduce_blocks);
  if (error == cudaSuccess)
    error = resident_blocks(patch_spectra<T>, 32, out.spectrum_shared, processors, out.spectrum_blocks);
  if (error == cudaSuccess)
    error = resident_blocks(finish_patches<T, kThreads>, kThreads, out.finish_shared, processors,
                            out.finish_blocks);
  return error;
}

template <class T, int kThreads>
cudaError_t launch(const PatchLaunch& plan, const PatchConstants& constants, const PatchBuffers& b,
                   std::int64_t begin, std::int64_t end, cudaStream_t stream) {
  const auto blocks = [](std::int64_t work, int most) {
    return static_cast<unsigned>(work < most ? work : most);
  };
  T* const reflectors = static_cast<T*>(b.reflectors);
  T* const tridiagonal = static_cast<T*>(b.tridiagonal);
  T* const vectors = static_cast<T*>(b.vectors);
  reduce_patches<T, kThreads>
      <<<blocks(end - begin, plan.reduce_blocks), kThreads, plan.reduce_shared, stream>>>(
          b.series, b.patches, b.first_vector, reflectors, tridiagonal, vectors, b.scratch, constants, begin,
          end, static_cast<std::int64_t>(plan.matrix_scratch));
  patch_spectra<T>
      <<<blocks((end - begin + 31) / 32, plan.spectrum_blocks), 32, plan.spectrum_shared, stream>>>(
          b.first_vector, b.inverse_width, tridiagonal, vectors, b.variance, b.rank, b.count, b.scratch,
          b.failed, constants, begin, end, plan.spectrum_in_shared ? 1 : 0,
          static_cast<std::int64_t>(plan.spectrum_scratch));
  finish_patches<T, kThreads>
      <<<blocks(end - begin, plan.finish_blocks), kThreads, plan.finish_shared, stream>>>(
          b.series, b.patches, b.first_vector, reflectors, vectors, b.count, b.denoised, b.sum, constants,
          begin, end);
  return cudaPeekAtLastError();
}

}  // namespace

cudaError_t plan_patches(const PatchConstants& constants, bool double_precision, PatchLaunch& out) {
  out.double_precision = double_precision;
  const int n = constants.channels;
  if (double_precision)
    return n <= kWarpChannels ? plan<double, 32>(n, out) : plan<double, kLargeThreads>(n, out);
  return n <= kWarpChannels ? plan<float, 32>(n, out) : plan<float, kLargeThreads>(n, out);
}

cudaError_t launch_patches(const PatchLaunch& plan, const PatchConstants& constants,
                           const PatchBuffers& buffers, std::int64_t begin, std::int64_t end,
                           cudaStream_t stream) {
  const auto call = plan.double_precision
                        ? (plan.threads == 32 ? launch<double, 32> : launch<double, kLargeThreads>)
                        : (plan.threads == 32 ? launch<float, 32> : launch<float, kLargeThreads>);
  return call(plan, constants, buffers, begin, end, stream);
}

namespace {
dim3 tiles(std::int64_t count, int channels) {
  return {static_cast<unsigned>((count + kTile - 1) / kTile),
          static_cast<unsigned>((channels + kTile - 1) / kTile)};
}
}  // namespace

cudaError_t launch_series_to_voxels(const float* series, float* voxels, std::int64_t count, int channels,
                                    float scale, cudaStream_t stream) {
  series_to_voxels<<<tiles(count, channels), dim3(kTile, kTileRows), 0, stream>>>(series, voxels, count,
                                                                                  channels, scale);
  return cudaPeekAtLastError();
}

cudaError_t launch_voxels_to_series(const float* values, float* series, std::int64_t count, int channels,
                                    float scale, cudaStream_t stream) {
  voxels_to_series<<<tiles(count, channels), dim3(kTile, kTileRows), 0, stream>>>(values, series, count,
                                                                                  channels, scale);
  return cudaPeekAtLastError();
}

cudaError_t launch_sums_to_values(const unsigned long long* sums, float* values, std::int64_t count,
                                  cudaStream_t stream) {
  sums_to_values<<<static_cast<unsigned>((count + kSumThreads - 1) / kSumThreads), kSumThreads, 0, stream>>>(
      sums, values, count);
  return cudaPeekAtLastError();
}

cudaError_t launch_turn_voxels(float* values, std::int64_t count, int channels, const float* u,
                               const float* factors, int reflectors, bool back, cudaStream_t stream) {
  if (reflectors == 0) return cudaSuccess;
  constexpr int kVoxels = kTurnThreads / 32;
  turn_voxels<<<static_cast<unsigned>((count + kVoxels - 1) / kVoxels), kTurnThreads, 0, stream>>>(
      values, count, channels, u, factors, reflectors, back ? 1 : 0);
  return cudaPeekAtLastError();
}

}  // namespace warploom::imaging
