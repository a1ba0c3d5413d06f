// The secondary designs (section 6.4.2): one kernel does a whole iteration for a region of its own, so that
// nothing has to wait for another region. Both leave out
//   * the global TV norm: the weights TV[d_ij] / TV[D] are the region's, and there is no reduction kernel;
//   * the neighbours' values, in the kernels without `_halo`: a region's border is padded with its own
//   nearest
//     voxels, as if each were an image by itself. Those with `_halo` pad with the neighbours' values of the
//     iteration before, which separates the first omission from the second.
#pragma once

#include "christiansen.cuh"
#include "curvature_steps.cuh"

namespace bench {

/// A channel of D = L L^T, computed where it is asked for; a voxel outside the box is its nearest one.
struct TensorChannel {
  const float* factor;
  int nx, ny, voxels, channel;
  int x_begin, x_end, y_begin, y_end, z_begin, z_end;
  __device__ float operator()(int x, int y, int z) const {
    x = min(max(x, x_begin), x_end - 1), y = min(max(y, y_begin), y_end - 1),
    z = min(max(z, z_begin), z_end - 1);
    return llt(factor, voxels, (z * ny + y) * nx + x, channel);
  }
};

struct Problem {
  const float* factor;  // [6, nz, ny, nx]
  const float* noisy;
  float* next;
  int nx, ny, nz;
  Spacing spacing;
  float lambda, step;

  __device__ int voxels() const { return nx * ny * nz; }

  /// What a region of X x Y x Z voxels at (x, y, z) sees of the tensors.
  template <int X, int Y, int Z, bool kHalo>
  __device__ TensorChannel tensors(int x, int y, int z, int channel) const {
    if (kHalo) return {factor, nx, ny, voxels(), channel, 0, nx, 0, ny, 0, nz};
    return {factor, nx, ny, voxels(), channel, x, min(x + X, nx), y, min(y + Y, ny), z, min(z + Z, nz)};
  }

  /// P instead of L: for kernels that end where P is computed, so that its time can be told.
  __device__ void store(int v, const float* p) const {
    for (int c = 0; c < 6; ++c) next[c * voxels() + v] = p[c];
  }

  /// L at voxel v after the step.
  __device__ void update(int v, const float* p) const {
    const int n = voxels();
    const auto at = [=](const float* image) { return [=](int c) { return image[c * n + v]; }; };
    const auto tensor = [=](int c) { return llt(factor, n, v, c); };
    for (int c = 0; c < 6; ++c)
      next[c * n + v] = factor[c * n + v] - step * gradient(
                                                       row(c), column(c), lambda, tensor, at(noisy),
                                                       [=](int k) { return p[k]; }, at(factor));
  }
};

}  // namespace bench

// Images [6, nz, ny, nx] with the elements 11 21 31 22 32 33; spacings [length].
#define INDEPENDENT_ARGUMENTS                                                                          \
  const float *__restrict__ factor, const float *__restrict__ noisy, float *__restrict__ next, int nx, \
      int ny, int nz, float dx, float dy, float dz, float lambda, float step
#define INDEPENDENT_PROBLEM \
  bench::Problem { factor, noisy, next, nx, ny, nz, {dx, dy, dz}, lambda, step }
