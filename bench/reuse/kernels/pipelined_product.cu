// Product of two matrices of `float`: tiles come by cp.async in two stages, and results go out through a
// third array, whose life begins when the last copy has been waited for. By itself a program: it prints a
// checksum of every bit and the time.
//
//   nvcc -O3 -std=c++17 -arch=sm_90 bench/reuse/kernels/pipelined_product.cu -o product && ./product
//   WARPLOOM_REUSE_FLAGS="--when always" warploom wrap nvcc -O3 -std=c++17 -arch=sm_90 ... -o shared &&
//   ./shared

#include <cuda_pipeline.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

constexpr int kTile = 64, kDepth = 32, kThreads = 256;

/// c = a * b for n x n matrices; n is a multiple of 64. Grid (n / 64, n / 64), blocks of 256 threads, 4 x 4
/// results each.
__global__ void __launch_bounds__(kThreads)
    product(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  __shared__ __align__(16) float a_tile[2][kTile][kDepth];
  __shared__ __align__(16) float b_tile[2][kDepth][kTile];
  __shared__ __align__(16) float c_tile[kTile][kTile];
  const int t = threadIdx.x, row = t / 16 * 4, column = t % 16 * 4;
  const float* a_from = a + static_cast<std::size_t>(blockIdx.y) * kTile * n;
  const float* b_from = b + blockIdx.x * kTile;
  const auto copy = [&](int stage, int k) {
    for (int i = t; i < kTile * kDepth / 4; i += kThreads) {
      const int r = i / (kDepth / 4), x = i % (kDepth / 4) * 4;
      __pipeline_memcpy_async(&a_tile[stage][r][x], &a_from[static_cast<std::size_t>(r) * n + k + x], 16);
    }
    for (int i = t; i < kDepth * kTile / 4; i += kThreads) {
      const int r = i / (kTile / 4), x = i % (kTile / 4) * 4;
      __pipeline_memcpy_async(&b_tile[stage][r][x], &b_from[static_cast<std::size_t>(k + r) * n + x], 16);
    }
  };
  float sum[4][4] = {};
  copy(0, 0);
  __pipeline_commit();
  for (int k = 0, stage = 0; k < n; k += kDepth, stage ^= 1) {
    if (k + kDepth < n) copy(stage ^ 1, k + kDepth);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int d = 0; d < kDepth; ++d)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sum[i][j] += a_tile[stage][row + i][d] * b_tile[stage][d][column + j];
    __syncthreads();
  }
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) c_tile[row + i][column + j] = sum[i][j];
  __syncthreads();
  for (int i = t; i < kTile * kTile; i += kThreads)
    c[(static_cast<std::size_t>(blockIdx.y) * kTile + i / kTile) * n + blockIdx.x * kTile + i % kTile] =
        c_tile[i / kTile][i % kTile];
}

int main() {
  const int n = 4096;
  const std::size_t count = static_cast<std::size_t>(n) * n;
  std::vector<float> a(count), b(count), c(count);
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = static_cast<float>(i * 2654435761u >> 8 & 1023) / 512 - 1;
    b[i] = static_cast<float>(i * 40503u >> 4 & 1023) / 512 - 1;
  }
  float *da, *db, *dc;
  cudaMalloc(&da, 4 * count), cudaMalloc(&db, 4 * count), cudaMalloc(&dc, 4 * count);
  cudaMemcpy(da, a.data(), 4 * count, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), 4 * count, cudaMemcpyHostToDevice);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin), cudaEventCreate(&end);
  std::vector<float> times;
  for (int k = 0; k < 21; ++k) {
    cudaEventRecord(begin);
    product<<<dim3(n / kTile, n / kTile), kThreads>>>(da, db, dc, n);
    cudaEventRecord(end);
    if (cudaEventSynchronize(end) != cudaSuccess) return std::printf("failed\n"), 1;
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    times.push_back(ms);
  }
  cudaMemcpy(c.data(), dc, 4 * count, cudaMemcpyDeviceToHost);
  std::uint64_t bits = 0;
  for (const float x : c) {
    std::uint32_t word;
    std::memcpy(&word, &x, 4);
    bits = (bits ^ word) * 1099511628211u;
  }
  int resident = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, product, kThreads, 0);
  std::sort(times.begin(), times.end());
  std::printf("checksum %016llx, %d blocks resident, %.3f ms (median of 21)\n",
              static_cast<unsigned long long>(bits), resident, times[10]);
}
