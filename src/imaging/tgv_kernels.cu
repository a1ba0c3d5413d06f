#include "tgv_kernels.hpp"
#include "tv_project.cuh"

// One thread a voxel, neighbours from the caches: what bounds the two halves of an iteration is the memory,
// 264 floats a voxel of a tensor image. kChannels is 6 for tensors, whose values then stay in registers, and
// 0 for any number of channels that are no tensor.

namespace warploom::imaging {
namespace {

constexpr int kThreads = 256, kTensor = 6;

template <int kChannels>
__device__ int channels_of(const TgvShape& s) {
  return kChannels > 0 ? kChannels : s.channels;
}
/// tgv_weight(), known to the compiler.
template <int kChannels>
__device__ constexpr float weight_of(int c) {
  return kChannels == kTensor && (c == 1 || c == 2 || c == 4) ? 2.0F : 1.0F;
}

__device__ inline std::int64_t first_voxel() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + static_cast<std::int64_t>(threadIdx.x);
}

/// Behind their padding. The simulator gives a kernel one buffer a pointer, so they come one by one.
__device__ inline TgvFields fields_at(const TgvShape& s, float* u, float* u_bar, float* w, float* w_bar,
                                      float* p, float* q, float* q_mean, float* noisy) {
  return {u + s.padding, u_bar + s.padding, w + s.padding,      w_bar + s.padding,
          p + s.padding, q + s.padding,     q_mean + s.padding, noisy + s.padding};
}

/// field <- (field + sigma * change) cut to the length `limit`; change(c, values) gives what is added in one
/// channel.
template <int kChannels, int kComponents, class Change, class Weight>
__device__ void raise(float* field, const TgvShape& s, float sigma, float limit, const Change& change,
                      const Weight& weight) {
  constexpr int kKept = kChannels > 0 ? kChannels : 1;
  const int channels = channels_of<kChannels>(s);
  float raised[kKept][kComponents], length = 0;
#pragma unroll
  for (int c = 0; c < channels; ++c) {
    float(&to)[kComponents] = raised[kChannels > 0 ? c : 0];
    change(c, to);
#pragma unroll
    for (int k = 0; k < kComponents; ++k) {
      float* const at = field + (c * kComponents + k) * s.stride;
      to[k] = *at + sigma * to[k];
      length += weight_of<kChannels>(c) * weight(k) * to[k] * to[k];
      if (kChannels == 0) *at = to[k];
    }
  }
  const float scale = length > limit * limit ? limit * rsqrtf(length) : 1.0F;
#pragma unroll
  for (int c = 0; c < channels; ++c)
#pragma unroll
    for (int k = 0; k < kComponents; ++k) {
      float* const at = field + (c * kComponents + k) * s.stride;
      *at = scale * (kChannels > 0 ? raised[c][k] : *at);
    }
}

/// p and q. Grid: a thread a voxel. Pointers are to the fields' padding.
template <int kChannels>
__global__ void __launch_bounds__(kThreads)
    tgv_dual(float* u_bar, float* w_bar, float* p, float* q, TgvShape s, TgvSteps k) {
  const TgvFields f = fields_at(s, nullptr, u_bar, nullptr, w_bar, p, q, nullptr, nullptr);
  const std::int64_t v = first_voxel();
  if (v >= s.voxels) return;
  raise<kChannels, 3>(
      f.p + v, s, k.sigma, 1,
      [&](int c, float(&g)[3]) { tgv_slope(f.u_bar + c * s.stride, f.w_bar + 3 * c * s.stride, s, v, g); },
      [](int) { return 1.0F; });
  raise<kChannels, 6>(
      f.q + v, s, k.sigma, k.ratio,
      [&](int c, float(&e)[6]) { tgv_strain(f.w_bar + 3 * c * s.stride, s, v, e); },
      [](int component) { return tgv_strain_weight(component); });
}

/// u and w. Grid and pointers as for tgv_dual.
template <int kChannels>
__global__ void __launch_bounds__(kThreads)
    tgv_primal(float* u, float* u_bar, float* w, float* w_bar, float* p, float* q, float* noisy, TgvShape s,
               TgvSteps k) {
  const TgvFields f = fields_at(s, u, u_bar, w, w_bar, p, q, nullptr, noisy);
  const std::int64_t v = first_voxel();
  if (v >= s.voxels) return;
  const int channels = channels_of<kChannels>(s);
  const auto step = [&](int c) {
    const std::int64_t at = c * s.stride + v;
    return tgv_step(f.u[at], tgv_divergence(f.p + 3 * c * s.stride, s, v), f.noisy[at], k);
  };
  const auto take = [](float& now, float& bar, float to) {
    bar = 2 * to - now;
    now = to;
  };
  if constexpr (kChannels == kTensor) {
    float to[kTensor];
#pragma unroll
    for (int c = 0; c < kTensor; ++c) to[c] = step(c);
    if (to[0] == to[0] && !positive_definite(to)) project(to);
#pragma unroll
    for (int c = 0; c < kTensor; ++c) take(f.u[c * s.stride + v], f.u_bar[c * s.stride + v], to[c]);
  } else {
    for (int c = 0; c < channels; ++c) take(f.u[c * s.stride + v], f.u_bar[c * s.stride + v], step(c));
  }
#pragma unroll
  for (int c = 0; c < channels; ++c) {
    const float* const q = f.q + 6 * c * s.stride;
    const auto along = [&](int axis, float adjoint) {
      const std::int64_t at = (3 * c + axis) * s.stride + v;
      take(f.w[at], f.w_bar[at], f.w[at] + k.tau * (f.p[at] - adjoint));
    };
    along(0, tgv_adjoint_x(q, s, v));
    along(1, tgv_adjoint_y(q, s, v));
    along(2, tgv_adjoint_z(q, s, v));
  }
}

/// Grid: a thread a float of q, its padding among them.
__global__ void __launch_bounds__(kThreads)
    tgv_average(const float* __restrict__ q, float* __restrict__ q_mean, float newest, std::int64_t count) {
  const std::int64_t i = first_voxel();
  if (i < count) q_mean[i] += newest * (q[i] - q_mean[i]);
}

/// Adds what a voxel adds to the sums.
template <int kChannels>
__device__ void look(const TgvFields& f, const TgvShape& s, const TgvSteps& k, std::int64_t v,
                     TgvSums& sums) {
  const int channels = channels_of<kChannels>(s);
  const float inverse_lambda = 1 / k.lambda;
  float slope = 0, strain = 0, fidelity = 0, dual = 0, length = 0;
  float nearest[kTensor];  // the dual's minimiser
#pragma unroll
  for (int c = 0; c < channels; ++c) {
    const float weight = weight_of<kChannels>(c);
    const std::int64_t at = c * s.stride + v;
    const float *w = f.w + 3 * c * s.stride, *q = f.q_mean + 6 * c * s.stride;
    float g[3], e[6];
    tgv_slope(f.u + c * s.stride, w, s, v, g);
    slope += weight * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    tgv_strain(w, s, v, e);
#pragma unroll
    for (int j = 0; j < 6; ++j) strain += weight * tgv_strain_weight(j) * e[j] * e[j];
    const float d = tgv_counted(f.u[at] - f.noisy[at]);
    fidelity += weight * d * d;
    const float x = tgv_adjoint_x(q, s, v), y = tgv_adjoint_y(q, s, v), z = tgv_adjoint_z(q, s, v);
    length += weight * (x * x + y * y + z * z);
    const float divergence = s.h[0] * (x - tgv_adjoint_x(q, s, v - s.right)) +
                             s.h[1] * (y - tgv_adjoint_y(q, s, v - s.below)) +
                             s.h[2] * (z - tgv_adjoint_z(q, s, v - s.above));
    const float to = f.noisy[at] + inverse_lambda * divergence;
    if constexpr (kChannels == kTensor)
      nearest[c] = to;
    else
      dual += tgv_counted((to - f.noisy[at]) * (0.5F * (to - f.noisy[at]) - to));
  }
  if constexpr (kChannels == kTensor) {
    if (nearest[0] == nearest[0] && !positive_definite(nearest)) project(nearest);
#pragma unroll
    for (int c = 0; c < kTensor; ++c) {  // <a - P(a), P(a)> = 0 for a cone
      const float off = nearest[c] - f.noisy[c * s.stride + v];
      dual += weight_of<kChannels>(c) * tgv_counted(off * (0.5F * off - nearest[c]));
    }
  }
  sums.slope += static_cast<double>(sqrtf(slope));
  sums.strain += static_cast<double>(sqrtf(strain));
  sums.fidelity += static_cast<double>(fidelity);
  sums.dual += static_cast<double>(k.lambda * dual);
  sums.largest = fmax(sums.largest, static_cast<double>(length));
}

/// Grid: kTgvMeasureBlocks; block b takes every so manieth piece of kThreads voxels and leaves sums[b].
template <int kChannels>
__global__ void __launch_bounds__(kThreads) tgv_measure(float* u, float* w, float* q_mean, float* noisy,
                                                        TgvShape s, TgvSteps k, TgvSums* __restrict__ sums) {
  const TgvFields f = fields_at(s, u, nullptr, w, nullptr, nullptr, nullptr, q_mean, noisy);
  TgvSums mine;
  for (std::int64_t v = first_voxel(); v < s.voxels; v += static_cast<std::int64_t>(gridDim.x) * kThreads)
    look<kChannels>(f, s, k, v, mine);
  __shared__ double all[5][kThreads];
  const int t = static_cast<int>(threadIdx.x);
  all[0][t] = mine.slope, all[1][t] = mine.strain, all[2][t] = mine.fidelity, all[3][t] = mine.dual;
  all[4][t] = mine.largest;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) {
      for (int i = 0; i < 4; ++i) all[i][t] += all[i][t + half];
      all[4][t] = fmax(all[4][t], all[4][t + half]);
    }
  }
  if (t == 0) {
    TgvSums& to = sums[blockIdx.x];
    to.slope = all[0][0], to.strain = all[1][0], to.fidelity = all[2][0], to.dual = all[3][0];
    to.largest = all[4][0];
  }
}

/// Grid: a thread a voxel.
__global__ void __launch_bounds__(kThreads) tgv_begin(float* w, float* w_bar, float* noisy, TgvShape s) {
  const TgvFields f = fields_at(s, nullptr, nullptr, w, w_bar, nullptr, nullptr, nullptr, noisy);
  const std::int64_t v = first_voxel();
  if (v >= s.voxels) return;
  for (int axis = 0; axis < 3; ++axis)
    if (tgv_exists(f.noisy, s, v, axis))
      for (int c = 0; c < s.channels; ++c)
        f.w[(3 * c + axis) * s.stride + v] = f.w_bar[(3 * c + axis) * s.stride + v] = 0;
}

unsigned blocks_of(const TgvShape& s) { return static_cast<unsigned>((s.voxels + kThreads - 1) / kThreads); }

}  // namespace

cudaError_t launch_tgv_begin(const TgvFields& f, const TgvShape& s, cudaStream_t stream) {
  const auto d = s.padding;
  tgv_begin<<<blocks_of(s), kThreads, 0, stream>>>(f.w - d, f.w_bar - d, f.noisy - d, s);
  return cudaGetLastError();
}

cudaError_t launch_tgv_iteration(const TgvFields& f, const TgvShape& s, const TgvSteps& k,
                                 cudaStream_t stream) {
  const auto d = s.padding;
  (s.tensor ? tgv_dual<kTensor> : tgv_dual<0>)<<<blocks_of(s), kThreads, 0, stream>>>(
      f.u_bar - d, f.w_bar - d, f.p - d, f.q - d, s, k);
  (s.tensor ? tgv_primal<kTensor> : tgv_primal<0>)<<<blocks_of(s), kThreads, 0, stream>>>(
      f.u - d, f.u_bar - d, f.w - d, f.w_bar - d, f.p - d, f.q - d, f.noisy - d, s, k);
  return cudaGetLastError();
}

cudaError_t launch_tgv_measure(const TgvFields& f, const TgvShape& s, const TgvSteps& k, float newest,
                               TgvSums* sums, cudaStream_t stream) {
  const auto d = s.padding;
  const std::int64_t floats = d + 6 * s.channels * s.stride;
  tgv_average<<<static_cast<unsigned>((floats + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      f.q - d, f.q_mean - d, newest, floats);
  (s.tensor ? tgv_measure<kTensor> : tgv_measure<0>)<<<kTgvMeasureBlocks, kThreads, 0, stream>>>(
      f.u - d, f.w - d, f.q_mean - d, f.noisy - d, s, k, sums);
  return cudaGetLastError();
}

}  // namespace warploom::imaging
