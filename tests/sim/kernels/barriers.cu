// Barriers of a block: counting ones, named ones with a count, producers that arrive and do not wait.
// Launch: as each kernel says.
#include "column.cuh"

/// Any block; n below the number of threads leaves some with zero.
extern "C" __global__ void counting(const int* in /*[n]*/, int* out /*[3, m]*/, int n) {
  const int i = element(), m = gridDim.x * blockDim.x;
  const int x = i < n ? in[i] : 0;
  Column<int> put{out, m, i};
  put(__syncthreads_count(x > 0)), put(__syncthreads_and(x != 0)), put(__syncthreads_or(x < -100));
}

/// Tree sum in shared memory. Block of 256.
extern "C" __global__ void tree_sum(const float* in /*[n]*/, float* out /*[gridDim.x]*/, int n) {
  __shared__ float part[256];
  const int t = threadIdx.x, i = element();
  part[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

/// Tree sum whose last steps one warp does alone. Block of 128.
extern "C" __global__ void tree_sum_one_warp(const int* in /*[gridDim.x, 256]*/, int* out /*[gridDim.x]*/) {
  __shared__ int part[128];
  const int t = threadIdx.x;
  part[t] = in[blockIdx.x * 256 + t] + in[blockIdx.x * 256 + 128 + t];
  __syncthreads();
  if (t < 64) part[t] += part[t + 64];
  __syncthreads();
  if (t >= 32) return;
  int x = part[t] + part[t + 32];
  for (int step = 16; step > 0; step /= 2) x += __shfl_down_sync(0xffffffff, x, step);
  if (t == 0) out[blockIdx.x] = x;
}

/// Each half of the block has a barrier of its own. Block of 128.
extern "C" __global__ void named(const int* in /*[gridDim.x, 128]*/, int* out /*[gridDim.x, 128]*/) {
  __shared__ int slots[128];
  const int t = threadIdx.x, i = element();
  slots[t] = in[i];
  if (t < 64) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[i] = slots[63 - t];
  } else {
    asm volatile("barrier.sync 2, 64;" ::: "memory");
    out[i] = -slots[191 - t];
  }
}

/// Two warps fill, two warps empty one slot a thread, round after round. Block of 128.
extern "C" __global__ void producer_consumer(const int* in /*[gridDim.x, rounds, 64]*/,
                                             int* out /*[gridDim.x, 64]*/, int rounds) {
  __shared__ int slots[64];
  const int t = threadIdx.x % 64;
  if (threadIdx.x < 64) {
    for (int round = 0; round < rounds; ++round) {
      asm volatile("bar.sync 2, 128;" ::: "memory");
      slots[t] = in[(blockIdx.x * rounds + round) * 64 + t];
      asm volatile("bar.arrive 1, 128;" ::: "memory");
    }
  } else {
    int sum = 0;
    for (int round = 0; round < rounds; ++round) {
      asm volatile("bar.arrive 2, 128;" ::: "memory");
      asm volatile("bar.sync 1, 128;" ::: "memory");
      sum = sum * 3 + slots[63 - t];
    }
    out[blockIdx.x * 64 + t] = sum;
  }
}

/// The reducing forms with a number and a count. Block of 96.
extern "C" __global__ void named_reductions(const int* in /*[gridDim.x, 96]*/,
                                            int* out /*[3, gridDim.x * 96]*/) {
  const int i = element(), n = gridDim.x * blockDim.x;
  const int x = in[i];
  Column<int> put{out, n, i};
  int d = 0;
  if (threadIdx.x < 64)
    asm volatile("{.reg .pred p;\n\tsetp.gt.s32 p, %1, 0;\n\tbarrier.red.popc.u32 %0, 3, 64, p;}"
                 : "=r"(d)
                 : "r"(x)
                 : "memory");
  put(d);
  asm volatile(
      "{.reg .pred p, q;\n\tsetp.ne.s32 p, %1, 7;\n\tbar.red.and.pred q, 0, p;\n\tselp.s32 %0, 1, 0, q;}"
      : "=r"(d)
      : "r"(x)
      : "memory");
  put(d);
  asm volatile(
      "{.reg .pred p, q;\n\tsetp.eq.s32 p, %1, 7;\n\tbarrier.red.or.pred q, 4, 96, !p;\n\tselp.s32 %0, 1, 0, "
      "q;}"
      : "=r"(d)
      : "r"(x)
      : "memory");
  put(d);
}

/// A barrier in a loop and one in a branch that the whole block takes alike; warps may leave early.
extern "C" __global__ void uniform_branches(const int* in /*[gridDim.x * blockDim.x]*/, int* out,
                                            int rounds) {
  __shared__ int slots[256];
  const int t = threadIdx.x, i = element(), threads = blockDim.x;
  int x = in[i];
  for (int round = 0; round < rounds + int(blockIdx.x) % 2; ++round) {
    slots[t] = x;
    __syncthreads();
    if (round % 2 == int(blockIdx.x) % 2) {
      x += slots[(t + 1) % threads];
      __syncthreads();
      slots[t] = x;
    }
    __syncthreads();
    x ^= slots[threads - 1 - t];
    __syncthreads();
  }
  if (t / 32 == 1) {
    out[i] = x;
    return;
  }
  slots[t] = x;
  __syncthreads();
  out[i] = slots[t ^ 1];
}

/// Tiles of a matrix product. Block of 16 x 16, extents any.
extern "C" __global__ void matrix_product(const float* a /*[m, k]*/, const float* b /*[k, n]*/,
                                          float* c /*[m, n]*/, int m, int n, int k) {
  __shared__ float left[16][16], right[16][17];
  const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
  float sum = 0;
  for (int first = 0; first < k; first += 16) {
    left[y][x] = row < m && first + x < k ? a[row * k + first + x] : 0;
    right[y][x] = first + y < k && column < n ? b[(first + y) * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

/// Block of 32 x 8, a 32 x 32 tile a block.
extern "C" __global__ void transpose(const float* in /*[ny, nx]*/, float* out /*[nx, ny]*/, int nx, int ny) {
  __shared__ float tile[32][33];
  const int x = blockIdx.x * 32, y = blockIdx.y * 32;
  for (int j = threadIdx.y; j < 32; j += 8)
    if (x + threadIdx.x < nx && y + j < ny) tile[j][threadIdx.x] = in[(y + j) * nx + x + threadIdx.x];
  __syncthreads();
  for (int j = threadIdx.y; j < 32; j += 8)
    if (y + threadIdx.x < ny && x + j < nx) out[(x + j) * ny + y + threadIdx.x] = tile[threadIdx.x][j];
}
