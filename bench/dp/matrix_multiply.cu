/// The plain matrix multiplication that the dissertation's Figure 12 puts beside rectangular products.

#include "core/cuda/owners.hpp"
#include "matrix_multiply.hpp"

namespace warploom::dp {
namespace {

constexpr int kAcross = 16, kDepth = 16;  // threads of a row, k of a chunk

/// Thread block (x, y): the kTile x kTile cells from row y * kTile and column x * kTile on.
/// Launch: grid (n / kTile, n / kTile); block (kAcross, kAcross).
template <int kTile>
__global__ void __launch_bounds__(kAcross* kAcross)
    matrix_multiply(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  constexpr int kOwn = kTile / kAcross;  // rows, and columns, of a thread
  __shared__ float left[kTile][kDepth + 1], right[kDepth][kTile];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int row = static_cast<int>(blockIdx.y) * kTile, column = static_cast<int>(blockIdx.x) * kTile;
  float sum[kOwn][kOwn] = {};
  for (int k = 0; k < n; k += kDepth) {
#pragma unroll
    for (int o = 0; o < kOwn; ++o) {
      left[y + kAcross * o][x] = a[(row + y + kAcross * o) * n + k + x];
      right[y][x + kAcross * o] = b[(k + y) * n + column + x + kAcross * o];
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < kDepth; ++d)
#pragma unroll
      for (int r = 0; r < kOwn; ++r)
#pragma unroll
        for (int o = 0; o < kOwn; ++o) sum[r][o] += left[y + kAcross * r][d] * right[d][x + kAcross * o];
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kOwn; ++r)
#pragma unroll
    for (int o = 0; o < kOwn; ++o) c[(row + y + kAcross * r) * n + column + x + kAcross * o] = sum[r][o];
}

template <int kTile>
void launch(const float* a, const float* b, float* c, int n, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(n / kTile), static_cast<unsigned>(n / kTile));
  matrix_multiply<kTile><<<grid, dim3(kAcross, kAcross), 0, stream>>>(a, b, c, n);
  cuda_check(cudaGetLastError(), "launch of a matrix multiplication");
}

}  // namespace

void launch_matrix_multiply(const float* a, const float* b, float* c, int n, cudaStream_t stream) {
  // Tiles of 64 once there are enough of them.
  if (n % 64 == 0 && n >= 512) return launch<64>(a, b, c, n, stream);
  if (n % 32 == 0 && n >= 128) return launch<32>(a, b, c, n, stream);
  launch<16>(a, b, c, n, stream);
}

}  // namespace warploom::dp
