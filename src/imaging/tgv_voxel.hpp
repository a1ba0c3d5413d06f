#pragma once

/// Total generalised variation at one voxel of one channel: the arithmetic that CPU and GPU share. tgv.hpp
/// says how the fields lie in memory.

#include <cstdint>

#include "tv_schedule.hpp"

namespace warploom::imaging {

struct TgvShape {
  std::int64_t voxels = 0;
  std::int64_t stride = 0;                       ///< of components
  std::int64_t padding = 0;                      ///< before a field's first component
  std::int64_t right = 0, below = 0, above = 0;  ///< to the next voxel along x, y, z; 0: there is none
  int nx = 1, ny = 1, nz = 1;
  int channels = 0;
  bool tensor = false;  ///< six channels, of which three count twice
  float h[3] = {};      ///< one over the spacings, in units of the smallest; 0 along an axis of one voxel
};

/// First components; channel c's follow at c times as many.
struct TgvFields {
  float *u = nullptr, *u_bar = nullptr;  ///< 1 component a channel
  float *w = nullptr, *w_bar = nullptr;  ///< 3
  float* p = nullptr;                    ///< 3
  float* q = nullptr;                    ///< 6: xx xy xz yy yz zz
  float* q_mean = nullptr;               ///< 6, over some iterations
  float* noisy = nullptr;                ///< 1
};

struct TgvSteps {
  float tau = 0, sigma = 0, lambda = 0, ratio = 0;
};

/// What one look at u, w and q_mean adds up.
struct TgvSums {
  double slope = 0;     ///< sum of |grad u - w|
  double strain = 0;    ///< sum of |sym_grad w|
  double fidelity = 0;  ///< <u - noisy, u - noisy>
  double dual = 0;      ///< min over u of <grad u, s> + lambda/2 |u - noisy|^2, with s = sym_grad^T q_mean
  double largest = 0;   ///< the largest |s|^2 of a voxel
};

WARPLOOM_HOST_DEVICE inline float tgv_weight(const TgvShape& s, int c) {
  return s.tensor && (c == 1 || c == 2 || c == 4) ? 2.0F : 1.0F;
}
/// Of q's components.
WARPLOOM_HOST_DEVICE inline constexpr float tgv_strain_weight(int k) {
  return k == 1 || k == 2 || k == 4 ? 2.0F : 1.0F;
}
/// A difference with what does not exist is NaN, and counts 0.
WARPLOOM_HOST_DEVICE inline float tgv_counted(float value) { return value == value ? value : 0.0F; }

/// grad u - w, forward differences.
WARPLOOM_HOST_DEVICE inline void tgv_slope(const float* u, const float* w, const TgvShape& s, std::int64_t v,
                                           float (&g)[3]) {
  g[0] = tgv_counted(s.h[0] * (u[v + s.right] - u[v]) - w[v]);
  g[1] = tgv_counted(s.h[1] * (u[v + s.below] - u[v]) - w[v + s.stride]);
  g[2] = tgv_counted(s.h[2] * (u[v + s.above] - u[v]) - w[v + 2 * s.stride]);
}

/// The symmetrised gradient of w: xx xy xz yy yz zz. w_x lies between two voxels along x: its differences
/// along x are backward, to lie at a voxel, all others forward, to lie in the middle of four.
WARPLOOM_HOST_DEVICE inline void tgv_strain(const float* w, const TgvShape& s, std::int64_t v,
                                            float (&e)[6]) {
  const float *x = w + v, *y = x + s.stride, *z = y + s.stride;
  e[0] = tgv_counted(s.h[0] * (x[0] - x[-s.right]));
  e[1] = tgv_counted(0.5F * (s.h[1] * (x[s.below] - x[0]) + s.h[0] * (y[s.right] - y[0])));
  e[2] = tgv_counted(0.5F * (s.h[2] * (x[s.above] - x[0]) + s.h[0] * (z[s.right] - z[0])));
  e[3] = tgv_counted(s.h[1] * (y[0] - y[-s.below]));
  e[4] = tgv_counted(0.5F * (s.h[2] * (y[s.above] - y[0]) + s.h[1] * (z[s.below] - z[0])));
  e[5] = tgv_counted(s.h[2] * (z[0] - z[-s.above]));
}

/// -grad^T p.
WARPLOOM_HOST_DEVICE inline float tgv_divergence(const float* p, const TgvShape& s, std::int64_t v) {
  const float *x = p + v, *y = x + s.stride, *z = y + s.stride;
  return s.h[0] * (x[0] - x[-s.right]) + s.h[1] * (y[0] - y[-s.below]) + s.h[2] * (z[0] - z[-s.above]);
}

/// One component of sym_grad^T q: `own` is q's diagonal element of its axis, `one` and `other` are the
/// elements with the two other axes; `next`, `along_one`, `along_other` are the distances along these axes.
WARPLOOM_HOST_DEVICE inline float tgv_component(const float* own, std::int64_t next, float h,
                                                const float* one, std::int64_t along_one, float h_one,
                                                const float* other, std::int64_t along_other, float h_other) {
  return h * (own[0] - own[next]) + h_one * (one[-along_one] - one[0]) +
         h_other * (other[-along_other] - other[0]);
}
WARPLOOM_HOST_DEVICE inline float tgv_adjoint_x(const float* q, const TgvShape& s, std::int64_t v) {
  return tgv_component(q + v, s.right, s.h[0], q + v + s.stride, s.below, s.h[1], q + v + 2 * s.stride,
                       s.above, s.h[2]);
}
WARPLOOM_HOST_DEVICE inline float tgv_adjoint_y(const float* q, const TgvShape& s, std::int64_t v) {
  return tgv_component(q + v + 3 * s.stride, s.below, s.h[1], q + v + s.stride, s.right, s.h[0],
                       q + v + 4 * s.stride, s.above, s.h[2]);
}
WARPLOOM_HOST_DEVICE inline float tgv_adjoint_z(const float* q, const TgvShape& s, std::int64_t v) {
  return tgv_component(q + v + 5 * s.stride, s.above, s.h[2], q + v + 2 * s.stride, s.right, s.h[0],
                       q + v + 4 * s.stride, s.below, s.h[1]);
}

/// u after its step, before the projection.
WARPLOOM_HOST_DEVICE inline float tgv_step(float u, float divergence, float noisy, const TgvSteps& k) {
  return (u + k.tau * (divergence + k.lambda * noisy)) / (1 + k.tau * k.lambda);
}

/// Whether the slope at v along an axis (0 1 2) lies within the grid and the mask.
WARPLOOM_HOST_DEVICE inline bool tgv_exists(const float* noisy, const TgvShape& s, std::int64_t v, int axis) {
  const std::int64_t x = v % s.nx, y = v / s.nx % s.ny, z = v / s.nx / s.ny;
  const bool ends = axis == 0 ? x + 1 == s.nx : axis == 1 ? y + 1 == s.ny : z + 1 == s.nz;
  if (ends) return false;
  const float next = noisy[v + (axis == 0 ? s.right : axis == 1 ? s.below : s.above)];
  return noisy[v] == noisy[v] && next == next;
}

}  // namespace warploom::imaging
