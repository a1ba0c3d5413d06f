// Curvature3D (Figure 47) as the steps that the three designs share. They differ in where the intermediates
// are (shared memory, global memory, a thread's own), who works on them (a block's threads, one thread), what
// follows a step (a barrier, nothing) and what a voxel beyond the tile is (the image's, the tile's nearest).
//
// Two stencils. As printed, both differences are backward: u[i-2] - 2u[i-1] + u[i] lands one voxel off. Its
// Fourier symbol exp(-i w) (2 cos w - 2) has a positive real part above w = pi/2: the descent amplifies what
// it is to remove. Centred, the second difference is forward and the means along the component's own axis
// reach down, so that all parts of a flux stand at the face between two voxels. The arrays, barriers and
// operations are the same.
#pragma once

#include "../../reuse/kernels/curvature3d.cuh"

namespace bench {

/// Figure 47's 13 arrays, T::kSize elements each; Ly_x is the mean of uy where normx needs it.
struct Intermediates {
  static constexpr int kArrays = 13;
  float *u, *ux, *uy, *uz, *Ly_x, *Lz_x, *normx, *Lx_y, *Lz_y, *normy, *Lx_z, *Ly_z, *normz;
};

struct Spacing {
  float x, y, z;
};

/// Where a tile stands and which of its voxels this thread works on: first, first + stride, ...
struct Share {
  int x0, y0, z0;  ///< image coordinates of voxel 0 of the haloed tile
  int first, stride;
};

struct BlockBarrier {
  __device__ void operator()() const { __syncthreads(); }
};
/// After a step of a thread that works alone.
struct NoBarrier {
  __device__ void operator()() const {}
};

/// True where the tile holds all that the component along kAxis is made of.
template <class T, bool kCentred, int kAxis>
__device__ bool has_component(Voxel v) {
  if (!kCentred) return has_upper<T>(v);
  const int along = kAxis == 0 ? v.x : kAxis == 1 ? v.y : v.z;
  return along > 0 && (kAxis == 0 || v.x < T::kX - 1) && (kAxis == 1 || v.y < T::kY - 1) &&
         (kAxis == 2 || v.z < T::kZ - 1);
}

/// The component g along kAxis (stride sg) of the normalised gradient, from the others a and b.
template <class T, bool kCentred, int kAxis, class Barrier>
__device__ __forceinline__ void component(const float* g, int sg, const float* a, int sa, const float* b,
                                          int sb, float* mean_a, float* mean_b, float* norm, Share share,
                                          Barrier barrier) {
  for (int i = share.first; i < T::kSize; i += share.stride)
    if (has_component<T, kCentred, kAxis>(voxel<T>(i))) {
      const int corner = kCentred ? i - sg : i;
      mean_a[i] = mean4(a, corner, sg, sa);
      mean_b[i] = mean4(b, corner, sg, sb);
    }
  barrier();
  for (int i = share.first; i < T::kSize; i += share.stride)
    if (has_component<T, kCentred, kAxis>(voxel<T>(i))) norm[i] = unit(g[i], mean_a[i], mean_b[i]);
  barrier();
}

/// Fills all arrays for one tile. `image(x, y, z)` is defined for every voxel, in the image or not.
template <class T, bool kCentred, class Source, class Barrier>
__device__ __forceinline__ void curvature_steps(const Intermediates& a, Source image, Spacing h, Share share,
                                                Barrier barrier) {
  constexpr int sx = 1, sy = T::kX, sz = T::kX * T::kY;
  for (int i = share.first; i < T::kSize; i += share.stride) {
    const Voxel v = voxel<T>(i);
    a.u[i] = image(share.x0 + v.x, share.y0 + v.y, share.z0 + v.z);
  }
  barrier();
  for (int i = share.first; i < T::kSize; i += share.stride) {
    const Voxel v = voxel<T>(i);
    const int x = share.x0 + v.x, y = share.y0 + v.y, z = share.z0 + v.z;
    // Two backward differences reach one voxel further down than the halo does.
    a.ux[i] = ((v.x > 0 ? a.u[i - sx] : image(x - 1, y, z)) - a.u[i]) / h.x;
    a.uy[i] = ((v.y > 0 ? a.u[i - sy] : image(x, y - 1, z)) - a.u[i]) / h.y;
    a.uz[i] = ((v.z > 0 ? a.u[i - sz] : image(x, y, z - 1)) - a.u[i]) / h.z;
  }
  barrier();
  component<T, kCentred, 0>(a.ux, sx, a.uy, sy, a.uz, sz, a.Ly_x, a.Lz_x, a.normx, share, barrier);
  component<T, kCentred, 1>(a.uy, sy, a.ux, sx, a.uz, sz, a.Lx_y, a.Lz_y, a.normy, share, barrier);
  component<T, kCentred, 2>(a.uz, sz, a.ux, sx, a.uy, sy, a.Lx_z, a.Ly_z, a.normz, share, barrier);
}

/// The curvature at voxel i of the tile, not of its halo.
template <class T, bool kCentred>
__device__ float divergence(const Intermediates& a, int i, Spacing h) {
  constexpr int sx = 1, sy = T::kX, sz = T::kX * T::kY;
  const int x = kCentred ? i + sx : i, y = kCentred ? i + sy : i, z = kCentred ? i + sz : i;
  return (a.normx[x - sx] - a.normx[x]) / h.x + (a.normy[y - sy] - a.normy[y]) / h.y +
         (a.normz[z - sz] - a.normz[z]) / h.z;
}

/// |grad u| at voxel i: the TV norm's summand.
__device__ inline float gradient_norm(const Intermediates& a, int i) {
  return sqrtf(a.ux[i] * a.ux[i] + a.uy[i] * a.uy[i] + a.uz[i] * a.uz[i]);
}

}  // namespace bench
