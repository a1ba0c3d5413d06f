// Curvature3D, the papers' denoising kernel, written the straightforward way: every intermediate
// has an array of its own and a barrier follows every step.
//
//   curvature = div(grad u / |grad u|) at every voxel of an image [nz, ny, nx], x fastest.
//
// Source: M. Moazeni's dissertation (UCLA 2013), Figure 47: arrays, differences, averages and
// barriers are the figure's; 13 arrays, since "same calculations repeats" for y and z. The figure
// also stores uxx, uyy and uzz, which no other thread reads: the kernels named *_stored keep them
// (16 arrays), the others add them up in the return expression.
//
// Halo: one voxel on every side, the (N+2)^3 data block of section 6.3.4. The two backward
// differences reach two voxels below a tile, one more than it holds; ours reads that voxel from the
// image, so that the result does not depend on the tile. The image is continued by replication.
//
// Tiles: 16x16x4 and 8x8x8 are worked on by 256 threads that stride over the haloed tile. The papers'
// block of 16x16 threads covers a haloed 16x16 cross-section, i.e. 14x14 results (the section's
// redundant border threads), and walks the three layers of a tile that is one voxel high.
#pragma once

namespace bench {

constexpr float kTiny = 1e-8f;  ///< the figure's TINY [unit of u per unit of length, squared]
constexpr int kThreads = 256;

/// An X x Y x Z tile of results with its halo; i = (z * kY + y) * kX + x counts the haloed tile.
template <int X, int Y, int Z>
struct Tile {
  static constexpr int kX = X + 2, kY = Y + 2, kZ = Z + 2, kSize = kX * kY * kZ;
};

struct Voxel {
  int x, y, z;
};

template <class T>
__device__ Voxel voxel(int i) {
  return {i % T::kX, i / T::kX % T::kY, i / (T::kX * T::kY)};
}

/// True below the upper faces: the averages reach one voxel up.
template <class T>
__device__ bool has_upper(Voxel v) {
  return v.x < T::kX - 1 && v.y < T::kY - 1 && v.z < T::kZ - 1;
}

template <class T>
__device__ bool in_tile(Voxel v) {
  return has_upper<T>(v) && v.x > 0 && v.y > 0 && v.z > 0;
}

/// The mean over the four corners of the face that the strides s and t span.
__device__ float mean4(const float* a, int i, int s, int t) {
  return (a[i] + a[i + s] + a[i + t] + a[i + s + t]) / 4;
}

/// The first component of the gradient (g, a, b), normalised.
__device__ float unit(float g, float a, float b) { return g / sqrtf(g * g + a * a + b * b + kTiny); }

struct Image {
  const float* __restrict__ data;  // [nz, ny, nx]
  int nx, ny, nz;
  __device__ float operator()(int x, int y, int z) const {
    x = min(max(x, 0), nx - 1), y = min(max(y, 0), ny - 1), z = min(max(z, 0), nz - 1);
    return data[(z * ny + y) * nx + x];
  }
};

template <class T, bool kStored>
__device__ __forceinline__ void curvature(Image image, float* __restrict__ out, float dx, float dy, float dz,
                                          int thread) {
#ifdef CURVATURE_CARVED  // the same arrays, carved by hand from dynamic shared memory
  extern __shared__ float carved[];
  float *u = carved, *ux = u + T::kSize, *uy = ux + T::kSize, *uz = uy + T::kSize;
  float *Ly_x = uz + T::kSize, *Lz_x = Ly_x + T::kSize, *normx = Lz_x + T::kSize;
  float *Lx_y = normx + T::kSize, *Lz_y = Lx_y + T::kSize, *normy = Lz_y + T::kSize;
  float *Lx_z = normy + T::kSize, *Ly_z = Lx_z + T::kSize, *normz = Ly_z + T::kSize;
  [[maybe_unused]] float *uxx = normz + T::kSize, *uyy = uxx + T::kSize, *uzz = uyy + T::kSize;
#else
  __shared__ float u[T::kSize], ux[T::kSize], uy[T::kSize], uz[T::kSize];
  __shared__ float Ly_x[T::kSize], Lz_x[T::kSize], normx[T::kSize];
  __shared__ float Lx_y[T::kSize], Lz_y[T::kSize], normy[T::kSize];
  __shared__ float Lx_z[T::kSize], Ly_z[T::kSize], normz[T::kSize];
  [[maybe_unused]] __shared__ float uxx[T::kSize], uyy[T::kSize], uzz[T::kSize];
#endif
  constexpr int sx = 1, sy = T::kX, sz = T::kX * T::kY;
  const int x0 = blockIdx.x * (T::kX - 2) - 1, y0 = blockIdx.y * (T::kY - 2) - 1,
            z0 = blockIdx.z * (T::kZ - 2) - 1;

  for (int i = thread; i < T::kSize; i += kThreads) {
    const Voxel v = voxel<T>(i);
    u[i] = image(x0 + v.x, y0 + v.y, z0 + v.z);
  }
  __syncthreads();

  for (int i = thread; i < T::kSize; i += kThreads) {
    const Voxel v = voxel<T>(i);
    const int x = x0 + v.x, y = y0 + v.y, z = z0 + v.z;
    ux[i] = ((v.x > 0 ? u[i - sx] : image(x - 1, y, z)) - u[i]) / dx;
    uy[i] = ((v.y > 0 ? u[i - sy] : image(x, y - 1, z)) - u[i]) / dy;
    uz[i] = ((v.z > 0 ? u[i - sz] : image(x, y, z - 1)) - u[i]) / dz;
  }
  __syncthreads();

  for (int i = thread; i < T::kSize; i += kThreads)
    if (has_upper<T>(voxel<T>(i))) {
      Ly_x[i] = mean4(uy, i, sx, sy);
      Lz_x[i] = mean4(uz, i, sx, sz);
    }
  __syncthreads();
  for (int i = thread; i < T::kSize; i += kThreads)
    if (has_upper<T>(voxel<T>(i))) normx[i] = unit(ux[i], Ly_x[i], Lz_x[i]);
  __syncthreads();
  if constexpr (kStored)
    for (int i = thread; i < T::kSize; i += kThreads)
      if (in_tile<T>(voxel<T>(i))) uxx[i] = (normx[i - sx] - normx[i]) / dx;

  for (int i = thread; i < T::kSize; i += kThreads)
    if (has_upper<T>(voxel<T>(i))) {
      Lx_y[i] = mean4(ux, i, sx, sy);
      Lz_y[i] = mean4(uz, i, sy, sz);
    }
  __syncthreads();
  for (int i = thread; i < T::kSize; i += kThreads)
    if (has_upper<T>(voxel<T>(i))) normy[i] = unit(uy[i], Lx_y[i], Lz_y[i]);
  __syncthreads();
  if constexpr (kStored)
    for (int i = thread; i < T::kSize; i += kThreads)
      if (in_tile<T>(voxel<T>(i))) uyy[i] = (normy[i - sy] - normy[i]) / dy;

  for (int i = thread; i < T::kSize; i += kThreads)
    if (has_upper<T>(voxel<T>(i))) {
      Lx_z[i] = mean4(ux, i, sx, sz);
      Ly_z[i] = mean4(uy, i, sy, sz);
    }
  __syncthreads();
  for (int i = thread; i < T::kSize; i += kThreads)
    if (has_upper<T>(voxel<T>(i))) normz[i] = unit(uz[i], Lx_z[i], Ly_z[i]);
  __syncthreads();
  if constexpr (kStored)
    for (int i = thread; i < T::kSize; i += kThreads)
      if (in_tile<T>(voxel<T>(i))) uzz[i] = (normz[i - sz] - normz[i]) / dz;

  for (int i = thread; i < T::kSize; i += kThreads) {
    const Voxel v = voxel<T>(i);
    const int x = x0 + v.x, y = y0 + v.y, z = z0 + v.z;
    if (!in_tile<T>(v) || x >= image.nx || y >= image.ny || z >= image.nz) continue;
    float& result = out[(z * image.ny + y) * image.nx + x];
    if constexpr (kStored)
      result = uxx[i] + uyy[i] + uzz[i];
    else
      result =
          (normx[i - sx] - normx[i]) / dx + (normy[i - sy] - normy[i]) / dy + (normz[i - sz] - normz[i]) / dz;
  }
}

}  // namespace bench

// Arguments of every kernel: image and result [nz, ny, nx], nx * ny * nz < 2^31; spacings [length].
// Launch: one block for each tile, extents rounded up; no dynamic shared memory.
#define CURVATURE_ARGUMENTS                                                                             \
  const float *__restrict__ image, float *__restrict__ out, int nx, int ny, int nz, float dx, float dy, \
      float dz
