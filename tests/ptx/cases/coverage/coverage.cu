// Kernels whose shared arrays are private to an iteration, or not: see coverage_test.cpp.
// coverage.ptx is made from it: nvcc -ptx -arch=sm_90 coverage.cu
#include <cstdint>

/// A histogram per tile: filled with zeros, counted at data-dependent addresses, written out.
extern "C" __global__ void __launch_bounds__(128) histogram(const std::uint8_t* in, int* out, int tiles, int n) {
  __shared__ int bins[256];
  for (int tile = 0; tile < tiles; ++tile) {
    for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[in[tile * n + i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) out[tile * 256 + i] = bins[i];
    __syncthreads();
  }
}

/// The same, one bin short of a full fill.
extern "C" __global__ void __launch_bounds__(128) histogram_short(const std::uint8_t* in, int* out, int tiles, int n) {
  __shared__ int bins[256];
  bins[255] = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    for (int i = threadIdx.x; i < 255; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[in[tile * n + i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) out[tile * 256 + i] = bins[i];
    __syncthreads();
  }
}

/// Sum of each row by a tree; rows shorter than the block are padded.
extern "C" __global__ void __launch_bounds__(256) row_sums(const float* in, float* out, int rows, int columns) {
  __shared__ float part[256];
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    float x = 0;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) x += in[row * columns + c];
    part[threadIdx.x] = x;
    __syncthreads();
#pragma unroll 1
    for (int half = 128; half > 0; half /= 2) {
      if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) out[row] = part[0];
    __syncthreads();
  }
}

/// A tile with a halo of one, loaded by a strided loop over its 18 x 18 elements and kept from before.
extern "C" __global__ void __launch_bounds__(256) halo(const float* in, float* out, int steps, int width) {
  __shared__ float tile[18][18];
  const int t = threadIdx.y * 16 + threadIdx.x;
  for (int i = t; i < 18 * 18; i += 256) tile[i / 18][i % 18] = in[i];
  __syncthreads();
  float sum = tile[threadIdx.y][threadIdx.x];
  __syncthreads();
  for (int step = 0; step < steps; ++step) {
    for (int i = t; i < 18 * 18; i += 256) tile[i / 18][i % 18] = in[step * width + i];
    __syncthreads();
    const int x = threadIdx.x + 1, y = threadIdx.y + 1;
    sum += tile[y][x - 1] + tile[y][x + 1] + tile[y - 1][x] + tile[y + 1][x];
    __syncthreads();
  }
  out[t] = sum;
}

/// A guarded tail: who stores reads its own element back under the same condition.
extern "C" __global__ void __launch_bounds__(128) own_element(const float* in, float* out, int steps, int n) {
  __shared__ float mine[128];
  const int i = blockIdx.x * 128 + threadIdx.x;
  for (int step = 0; step < steps; ++step) {
    if (i < n) mine[threadIdx.x] = in[step * n + i];
    __syncthreads();
    if (i < n) out[step * n + i] = *(volatile float*)&mine[threadIdx.x];
    __syncthreads();
  }
}

/// The same, but the neighbour's element.
extern "C" __global__ void __launch_bounds__(128) neighbours_element(const float* in, float* out, int steps, int n) {
  __shared__ float mine[128];
  const int i = blockIdx.x * 128 + threadIdx.x;
  for (int step = 0; step < steps; ++step) {
    if (i < n) mine[threadIdx.x] = in[step * n + i];
    __syncthreads();
    if (i < n) out[step * n + i] = mine[threadIdx.x ^ 1];
    __syncthreads();
  }
}
