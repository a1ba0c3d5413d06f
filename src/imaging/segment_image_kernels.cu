#include <algorithm>
#include <cstdint>

#include "segment_image_kernels.hpp"

namespace warploom::imaging {
namespace {

constexpr int kThreads = 256, kWarp = 32, kWarps = kThreads / kWarp;

__device__ std::int64_t first_voxel() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}
__device__ std::int64_t voxel_step() { return static_cast<std::int64_t>(gridDim.x) * kThreads; }

/// Of the values of all threads, in an order that is fixed; for thread 0 alone.
template <class Number, class Join>
__device__ Number joined(Number value, const Join& join) {
  __shared__ Number parts[kWarps];
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    value = join(value, __shfl_xor_sync(0xffffffffU, value, offset));
  __syncthreads();  // what was joined before has been read
  if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = value;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int k = 1; k < kWarps; ++k) value = join(value, parts[k]);
  return value;
}

template <class Number>
__device__ void write_sum(Number value, Number* parts) {
  const Number all = joined(value, [](Number a, Number b) { return a + b; });
  if (threadIdx.x == 0) parts[blockIdx.x] = all;
}

__device__ bool counts_at(const unsigned char* mask, std::int64_t at) {
  return mask == nullptr || mask[at] != 0;
}

}  // namespace

// Launch of all: grid (blocks); block (kThreads).

__global__ void __launch_bounds__(kThreads)
    image_gather(const float* __restrict__ from, const ImageGather g, float* __restrict__ to) {
  for (std::int64_t at = first_voxel(); at < g.count; at += voxel_step()) {
    const std::int64_t value = g.first + at, row = value / g.nx, plane = row / g.ny;
    to[at] = from[value % g.nx * g.stride[0] + row % g.ny * g.stride[1] + plane % g.nz * g.stride[2] +
                  plane / g.nz * g.stride[3]];
  }
}

__global__ void __launch_bounds__(kThreads)
    image_range(const float* __restrict__ values, const unsigned char* __restrict__ mask,
                const std::int64_t voxels, unsigned long long* counts, float* ends) {
  unsigned long long count = 0, bad = 0;
  float least = __int_as_float(0x7f800000), greatest = -least;
  for (std::int64_t at = first_voxel(); at < voxels; at += voxel_step()) {
    if (!counts_at(mask, at)) continue;
    const float value = values[at];
    ++count;
    bad += isfinite(value) ? 0 : 1;
    least = fminf(least, value), greatest = fmaxf(greatest, value);
  }
  write_sum(count, counts);
  write_sum(bad, counts + gridDim.x);
  least = joined(least, [](float a, float b) { return fminf(a, b); });
  greatest = joined(greatest, [](float a, float b) { return fmaxf(a, b); });
  if (threadIdx.x == 0) ends[blockIdx.x] = least, ends[gridDim.x + blockIdx.x] = greatest;
}

/// @tparam kRoots  the values are u already
template <bool kRoots>
__global__ void __launch_bounds__(kThreads)
    image_scale(const float* values, const unsigned char* __restrict__ mask, const std::int64_t voxels,
                const double low, const double scale, float* u, double* sums) {
  double sum = 0, squares = 0;
  for (std::int64_t at = first_voxel(); at < voxels; at += voxel_step()) {
    float value = 0;
    if (counts_at(mask, at))
      value =
          kRoots ? sqrtf(values[at]) : static_cast<float>((static_cast<double>(values[at]) - low) / scale);
    u[at] = value;
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  write_sum(sum, sums);
  write_sum(squares, sums + gridDim.x);
}

__global__ void __launch_bounds__(kThreads)
    image_noise(const float* __restrict__ u, const unsigned char* __restrict__ mask, const NoiseSample sample,
                float* sizes) {
  for (std::int64_t block = first_voxel(); block < sample.count(); block += voxel_step())
    sizes[block] = noise_difference(u, mask, sample, block);
}

/// @note `level_set` may be `v`.
__global__ void __launch_bounds__(kThreads)
    image_cut(const float* __restrict__ u, const float* v, const unsigned char* __restrict__ mask,
              const std::int64_t voxels, const ImageCut cut, unsigned char* found, float* level_set,
              unsigned long long* counts, double* sums) {
  unsigned long long dark = 0, bright = 0;
  double dark_sum = 0, bright_sum = 0;
  for (std::int64_t at = first_voxel(); at < voxels; at += voxel_step()) {
    const bool counted = counts_at(mask, at);
    const bool above = cut.found != 0 && v[at] > cut.threshold;
    const double root = static_cast<double>(u[at]);
    const double value = cut.low + cut.scale * (cut.roots != 0 ? root * root : root);
    if (counted && above) ++bright, bright_sum += value;
    if (counted && !above) ++dark, dark_sum += value;
    const bool inside = counted && cut.found != 0 && above != (cut.dark != 0);
    const float off = cut.dark != 0 ? cut.threshold - v[at] : v[at] - cut.threshold;
    found[at] = inside ? 1 : 0;
    // A voxel at the threshold itself is where the mask has it.
    level_set[at] = !counted ? 0.0F : cut.found == 0 ? -1.0F : off != 0 ? off : inside ? 1e-30F : -1e-30F;
  }
  write_sum(dark, counts);
  write_sum(bright, counts + gridDim.x);
  write_sum(dark_sum, sums);
  write_sum(bright_sum, sums + gridDim.x);
}

__global__ void __launch_bounds__(kThreads)
    image_waves(const double* __restrict__ waves, const std::int64_t nx, const std::int64_t ny,
                const std::int64_t nz, float* level_set) {
  const std::int64_t voxels = nx * ny * nz;
  for (std::int64_t at = first_voxel(); at < voxels; at += voxel_step())
    level_set[at] =
        static_cast<float>(waves[at % nx] * waves[nx + at / nx % ny] * waves[nx + ny + at / nx / ny]);
}

__global__ void __launch_bounds__(kThreads)
    image_content(const float* __restrict__ u, const float* __restrict__ level_set, const std::int64_t voxels,
                  unsigned long long* counts, double* sums) {
  unsigned long long inside = 0;
  double sum = 0;
  for (std::int64_t at = first_voxel(); at < voxels; at += voxel_step())
    if (level_set[at] > 0) ++inside, sum += static_cast<double>(u[at]);
  write_sum(inside, counts);
  write_sum(sum, sums);
}

__global__ void __launch_bounds__(kThreads)
    image_sides(float* level_set, const std::int64_t voxels, const float sign, unsigned char* mask) {
  for (std::int64_t at = first_voxel(); at < voxels; at += voxel_step()) {
    const float value = sign * level_set[at];
    level_set[at] = value;
    mask[at] = value > 0 ? 1 : 0;
  }
}

unsigned image_blocks(std::int64_t voxels) {
  constexpr std::int64_t kVoxels = 4 * kThreads;  // of a block at least
  return static_cast<unsigned>(std::min<std::int64_t>((voxels + kVoxels - 1) / kVoxels, kMostImageBlocks));
}

cudaError_t launch_image_gather(const float* from, const ImageGather& gather, float* to,
                                cudaStream_t stream) {
  image_gather<<<image_blocks(gather.count), kThreads, 0, stream>>>(from, gather, to);
  return cudaPeekAtLastError();
}

cudaError_t launch_image_range(const float* values, ImageVoxels voxels, unsigned long long* counts,
                               float* ends, cudaStream_t stream) {
  image_range<<<image_blocks(voxels.count), kThreads, 0, stream>>>(values, voxels.mask, voxels.count, counts,
                                                                   ends);
  return cudaPeekAtLastError();
}

cudaError_t launch_image_scale(const float* values, ImageVoxels voxels, double low, double scale, float* u,
                               double* sums, cudaStream_t stream) {
  image_scale<false><<<image_blocks(voxels.count), kThreads, 0, stream>>>(values, voxels.mask, voxels.count,
                                                                          low, scale, u, sums);
  return cudaPeekAtLastError();
}

cudaError_t launch_image_root(ImageVoxels voxels, float* u, double* sums, cudaStream_t stream) {
  image_scale<true>
      <<<image_blocks(voxels.count), kThreads, 0, stream>>>(u, voxels.mask, voxels.count, 0, 1, u, sums);
  return cudaPeekAtLastError();
}

cudaError_t launch_image_noise(const float* u, const unsigned char* mask, const NoiseSample& sample,
                               float* sizes, cudaStream_t stream) {
  image_noise<<<image_blocks(sample.count()), kThreads, 0, stream>>>(u, mask, sample, sizes);
  return cudaPeekAtLastError();
}

cudaError_t launch_image_cut(const float* u, const float* v, ImageVoxels voxels, const ImageCut& cut,
                             unsigned char* mask, float* level_set, unsigned long long* counts, double* sums,
                             cudaStream_t stream) {
  image_cut<<<image_blocks(voxels.count), kThreads, 0, stream>>>(u, v, voxels.mask, voxels.count, cut, mask,
                                                                 level_set, counts, sums);
  return cudaPeekAtLastError();
}

cudaError_t launch_image_waves(const double* waves, std::int64_t nx, std::int64_t ny, std::int64_t nz,
                               float* level_set, cudaStream_t stream) {
  image_waves<<<image_blocks(nx * ny * nz), kThreads, 0, stream>>>(waves, nx, ny, nz, level_set);
  return cudaPeekAtLastError();
}

cudaError_t launch_image_content(const float* u, const float* level_set, std::int64_t voxels,
                                 unsigned long long* counts, double* sums, cudaStream_t stream) {
  image_content<<<image_blocks(voxels), kThreads, 0, stream>>>(u, level_set, voxels, counts, sums);
  return cudaPeekAtLastError();
}

cudaError_t launch_image_sides(float* level_set, std::int64_t voxels, float sign, unsigned char* mask,
                               cudaStream_t stream) {
  image_sides<<<image_blocks(voxels), kThreads, 0, stream>>>(level_set, voxels, sign, mask);
  return cudaPeekAtLastError();
}

}  // namespace warploom::imaging
