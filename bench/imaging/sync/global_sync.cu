// GlobalSync, the dissertation's primary design (section 6.4.1): the end of a kernel is the synchronisation
// of all blocks, so each step that needs it is a kernel. One thread a voxel. An iteration calls (Table 10)
//
//   llt           once        D = L L^T
//   tv_norm       6 times     each block's share of one channel's TV norm
//   reduction     once        the blocks' shares to the weights TV[d_ij] / TV[D], in one block
//   p             6 times     weight times curvature of one channel, in overlapping tiles
//   solver        6 times     one element of L
//
// Images: [6, nz, ny, nx] with the elements 11 21 31 22 32 33 (see lower()); a channel is [nz, ny, nx].
// The factor is written to a second image, because each of the six solver calls reads all of L.
#include "christiansen.cuh"
#include "curvature_steps.cuh"

namespace bench {

constexpr int kReduction = 512;  ///< threads: the 2 KB and two thirds of a G80's multiprocessor in Table 10

/// Adds kCount values, one a thread, in a fixed order; the sum is left in sums[0].
template <int kCount>
__device__ void add_up(float* sums, int thread) {
  for (int half = kCount / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) sums[thread] += sums[thread + half];
  }
}

template <int kSide>
__device__ void tv_norm(Image u, float* partial, Spacing h) {
  __shared__ float tile[kSide + 1][kSide + 1];  // with the voxels below in x and y
  __shared__ float sums[kSide * kSide];
  const int tx = threadIdx.x, ty = threadIdx.y, thread = ty * kSide + tx;
  const int x = blockIdx.x * kSide + tx, y = blockIdx.y * kSide + ty, z = blockIdx.z;
  tile[ty + 1][tx + 1] = u(x, y, z);
  if (tx == 0) tile[ty + 1][0] = u(x - 1, y, z);
  if (ty == 0) tile[0][tx + 1] = u(x, y - 1, z);
  __syncthreads();
  const float here = tile[ty + 1][tx + 1];
  const float gx = (tile[ty + 1][tx] - here) / h.x, gy = (tile[ty][tx + 1] - here) / h.y,
              gz = (u(x, y, z - 1) - here) / h.z;
  sums[thread] = x < u.nx && y < u.ny ? sqrtf(gx * gx + gy * gy + gz * gz) : 0;
  add_up<kSide * kSide>(sums, thread);
  if (thread == 0) partial[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = sums[0];
}

/// A block of kSide x kSide threads loads as many columns of three layers and has (kSide - 2)^2 results: the
/// threads of the border are there for the neighbours' sake (section 6.3.4).
template <int kSide, bool kCentred>
__device__ __forceinline__ void p(Image image, const float* weight, float* out, Spacing h) {
  using T = Tile<kSide - 2, kSide - 2, 1>;
  __shared__ float u[T::kSize], ux[T::kSize], uy[T::kSize], uz[T::kSize];
  __shared__ float Ly_x[T::kSize], Lz_x[T::kSize], normx[T::kSize];
  __shared__ float Lx_y[T::kSize], Lz_y[T::kSize], normy[T::kSize];
  __shared__ float Lx_z[T::kSize], Ly_z[T::kSize], normz[T::kSize];
  const Intermediates arrays{u, ux, uy, uz, Ly_x, Lz_x, normx, Lx_y, Lz_y, normy, Lx_z, Ly_z, normz};
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int x0 = blockIdx.x * (kSide - 2) - 1, y0 = blockIdx.y * (kSide - 2) - 1, z0 = blockIdx.z - 1;
  curvature_steps<T, kCentred>(arrays, image, h, {x0, y0, z0, ty * kSide + tx, kSide * kSide},
                               BlockBarrier());

  const int x = x0 + tx, y = y0 + ty, z = blockIdx.z;
  if (tx == 0 || tx == kSide - 1 || ty == 0 || ty == kSide - 1 || x >= image.nx || y >= image.ny) return;
  out[(z * image.ny + y) * image.nx + x] =
      *weight * divergence<T, kCentred>(arrays, (kSide + ty) * kSide + tx, h);
}

}  // namespace bench

/// Launch: a thread a voxel, one-dimensional.
extern "C" __global__ void llt(const float* __restrict__ factor, float* __restrict__ tensor, int voxels) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= voxels) return;
  for (int c = 0; c < 6; ++c) tensor[c * voxels + v] = bench::llt(factor, voxels, v, c);
}

// Launch: one block of 8x8 or 16x16 threads for each tile of as many voxels, extents rounded up.
// partial: one element for each block.
#define TV_NORM_ARGUMENTS                                                                           \
  const float *__restrict__ channel, float *__restrict__ partial, int nx, int ny, int nz, float dx, \
      float dy, float dz
extern "C" __global__ void __launch_bounds__(64) tv_norm_8x8(TV_NORM_ARGUMENTS) {
  bench::tv_norm<8>({channel, nx, ny, nz}, partial, {dx, dy, dz});
}
extern "C" __global__ void __launch_bounds__(256) tv_norm_16x16(TV_NORM_ARGUMENTS) {
  bench::tv_norm<16>({channel, nx, ny, nz}, partial, {dx, dy, dz});
}

/// partial: [6, blocks]; weights: [6]. Launch: one block of kReduction threads.
extern "C" __global__ void __launch_bounds__(bench::kReduction)
    reduction(const float* __restrict__ partial, float* __restrict__ weights, int blocks) {
  __shared__ float sums[bench::kReduction], tv_norms[6];
  const int thread = threadIdx.x;
  for (int c = 0; c < 6; ++c) {
    float sum = 0;
    for (int i = thread; i < blocks; i += bench::kReduction) sum += partial[c * blocks + i];
    sums[thread] = sum;
    bench::add_up<bench::kReduction>(sums, thread);
    if (thread == 0) tv_norms[c] = sums[0];
    __syncthreads();
  }
  if (thread < 6) weights[thread] = bench::tv_weight(tv_norms, thread);
}

// Launch: one block of 8x8 or 16x16 threads for each tile of 6x6 or 14x14 voxels. weight: one element.
#define P_ARGUMENTS                                                                                     \
  const float *__restrict__ channel, const float *__restrict__ weight, float *__restrict__ out, int nx, \
      int ny, int nz, float dx, float dy, float dz
#define P_KERNEL(name, side, centred)                                               \
  extern "C" __global__ void __launch_bounds__((side) * (side)) name(P_ARGUMENTS) { \
    bench::p<side, centred>({channel, nx, ny, nz}, weight, out, {dx, dy, dz});      \
  }
P_KERNEL(p_8x8, 8, false)
P_KERNEL(p_16x16, 16, false)
P_KERNEL(p_8x8_centred, 8, true)
P_KERNEL(p_16x16_centred, 16, true)

/// Writes the element `element` of the next factor. Launch: a thread a voxel, one-dimensional.
extern "C" __global__ void solver(const float* __restrict__ factor, const float* __restrict__ tensor,
                                  const float* __restrict__ noisy, const float* __restrict__ p,
                                  float* __restrict__ next, int voxels, int element, float lambda,
                                  float step) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= voxels) return;
  const auto at = [=](const float* image) { return [=](int c) { return image[c * voxels + v]; }; };
  next[element * voxels + v] =
      factor[element * voxels + v] - step * bench::gradient(bench::row(element), bench::column(element),
                                                            lambda, at(tensor), at(noisy), at(p), at(factor));
}
