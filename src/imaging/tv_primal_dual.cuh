#pragma once

/// The two half passes of Solver::primal_dual. They are bound by memory, and neighbours' values come from the
/// first cache: threads take a column of voxels along z each and keep only what the next plane needs.

#include <cstdint>

#include "tv_pass.cuh"

namespace warploom::imaging {

using TvColumns = TvTile<32, 8, 1, 2>;

/// Where a thread of the half passes is.
struct TvColumn {
  int x, y, z_begin, z_end;
  bool valid;
  std::int64_t plane_size;

  __device__ TvColumn(int nx, int ny, int nz, int first_chunk, int chunk)
      : plane_size(static_cast<std::int64_t>(nx) * ny) {
    constexpr int W = TvColumns::kWidth, H = TvColumns::kHeight;
    const int tiles_x = (nx + W - 1) / W, thread = static_cast<int>(threadIdx.x);
    x = static_cast<int>(blockIdx.x) % tiles_x * W + thread % W;
    y = static_cast<int>(blockIdx.x) / tiles_x * H + thread / W;
    valid = x < nx && y < ny;
    z_begin = (first_chunk + static_cast<int>(blockIdx.y)) * chunk;
    z_end = valid ? min(nz, z_begin + chunk) : z_begin;
  }
};

/// p <- p + sigma grad xbar, cut to |p_c| <= alpha_c; total variation of x. p: [3, channels of all images,
/// planes]. Grid, block and arrays as for tv_pass with TvColumns.
template <int channels, bool outside>
__global__ void __launch_bounds__(TvColumns::kThreads)
    tv_dual(const float* __restrict__ x, const float* __restrict__ before, float* __restrict__ p,
            std::int64_t stride, int nx, int ny, int nz, int first_plane, int first_chunk, int chunk,
            float hx, float hy, float hz, const PrimalDualState* state, const TvCoefficients* __restrict__ k,
            double* partials) {
  if (state->progress.done) return;
  const TvColumn at(nx, ny, nz, first_chunk, chunk);
  const int image = static_cast<int>(blockIdx.z) * channels;
  const std::int64_t component = stride * channels * gridDim.z;
  const int right = at.x + 1 < nx ? 1 : 0, below = at.y + 1 < ny ? nx : 0;
  const float momentum = k->momentum, sigma = k->sigma;
  float tv[channels] = {};
  for (int z = at.z_begin; z < at.z_end; ++z) {
    const std::int64_t above = z + 1 < nz ? at.plane_size : 0;
#pragma unroll
    for (int c = 0; c < channels; ++c) {
      const std::int64_t v = (image + c) * stride + (z - first_plane) * at.plane_size +
                             static_cast<std::int64_t>(at.y) * nx + at.x;
      const float x_here = x[v], before_here = before[v];
      const auto gradient = [&](std::int64_t neighbour, float h, float& of_x, float& of_xbar) {
        of_x = h * tv_difference<outside>(x[v + neighbour], x_here);
        of_xbar = of_x + momentum * (of_x - h * tv_difference<outside>(before[v + neighbour], before_here));
      };
      float gx, gy, gz, bx, by, bz;
      gradient(right, hx, gx, bx);
      gradient(below, hy, gy, by);
      gradient(above, hz, gz, bz);
      const float square = gx * gx + gy * gy + gz * gz;
      tv[c] += square * approximate_rsqrt(fmaxf(square, 1e-37F));
      float px = p[v] + sigma * bx, py = p[v + component] + sigma * by,
            pz = p[v + 2 * component] + sigma * bz;
      const float alpha = k->alpha[image + c], length = px * px + py * py + pz * pz;
      const float scale = length > alpha * alpha ? alpha * approximate_rsqrt(length) : 1.0F;
      p[v] = scale * px;
      p[v + component] = scale * py;
      p[v + 2 * component] = scale * pz;
    }
  }
  __shared__ double scratch[TvColumns::kThreads / 32][channels];
  put_partials(tv, scratch, TvPartials(partials, nz, chunk, first_chunk), 0);
}

/// What one thread does when the sums of both halves are there.
__device__ inline void advance_halves(PrimalDualState& s, const PrimalDualSums& sums,
                                      const TvConstants& constants, TvCoefficients& k, bool first) {
  if (first)
    begin(s, sums.tv, sums.fidelity, constants);
  else
    advance(s, sums, constants);
  k.sigma = static_cast<float>(s.sigma);
  k.tau = static_cast<float>(s.tau);
  k.momentum = first ? 0.0F : static_cast<float>(s.momentum);
  for (int i = 0; i < constants.channels; ++i) k.alpha[i] = static_cast<float>(s.alpha[i]);
}

/// next <- P((x + tau (div p + lambda noisy)) / (1 + tau lambda)), the rest of the sums, and the state's
/// advance; with `begin` its begin(). Grid, block and arrays as for tv_pass with TvColumns.
template <int channels, bool outside>
__global__ void __launch_bounds__(TvColumns::kThreads)
    tv_primal(const float* __restrict__ noisy, const float* __restrict__ x, float* __restrict__ next,
              const float* __restrict__ p, std::int64_t stride, int nx, int ny, int nz, int first_plane,
              int first_chunk, int chunk, float lambda, float hx, float hy, float hz,
              const TvConstants* __restrict__ constants, PrimalDualState* state, TvCoefficients* k,
              double* partials, unsigned* ticket, TvProgress* log, int log_length, int begin_state) {
  if (state->progress.done) return;
  const TvColumn at(nx, ny, nz, first_chunk, chunk);
  const int image = static_cast<int>(blockIdx.z) * channels;
  const std::int64_t component = stride * channels * gridDim.z;
  const float tau = k->tau, over = 1 / (1 + tau * lambda), inverse_lambda = 1 / lambda;
  float values[2] = {};  // fidelity, dual
  float below[channels];
#pragma unroll
  for (int c = 0; c < channels; ++c)
    below[c] = at.valid && at.z_begin > 0
                   ? p[2 * component + (image + c) * stride + (at.z_begin - 1 - first_plane) * at.plane_size +
                       static_cast<std::int64_t>(at.y) * nx + at.x]
                   : 0.0F;
  for (int z = at.z_begin; z < at.z_end; ++z) {
    const std::int64_t base = (z - first_plane) * at.plane_size + static_cast<std::int64_t>(at.y) * nx + at.x;
    float to[channels], noisy_here[channels], nearest[channels],
        div[channels];  // nearest: the dual's minimiser
#pragma unroll
    for (int c = 0; c < channels; ++c) {
      const std::int64_t v = (image + c) * stride + base;
      const float pz = p[v + 2 * component];
      div[c] = hx * (p[v] - (at.x > 0 ? p[v - 1] : 0.0F)) +
               hy * (p[v + component] - (at.y > 0 ? p[v + component - nx] : 0.0F)) + hz * (pz - below[c]);
      below[c] = pz;
      noisy_here[c] = noisy[v];
      to[c] = (x[v] + tau * (div[c] + lambda * noisy_here[c])) * over;
      nearest[c] = noisy_here[c] + inverse_lambda * div[c];
    }
    const bool counts = !outside || noisy_here[0] == noisy_here[0];
    if constexpr (channels == 6)
      if (counts && begin_state == 0) {
        if (!positive_definite(to)) project(to);
        if (!positive_definite(nearest)) project(nearest);
      }
#pragma unroll
    for (int c = 0; c < channels; ++c) {
      next[(image + c) * stride + base] = to[c];
      if (counts) {
        const float d = to[c] - noisy_here[c], e = nearest[c] - noisy_here[c];
        values[0] += tv_weight<channels>(c) * d * d;
        values[1] +=
            tv_weight<channels>(c) * lambda * e * (0.5F * e - nearest[c]);  // <w - P(w), P(w)> = 0 for a cone
      }
    }
  }
  __shared__ double scratch[TvColumns::kThreads / 32][2];
  const TvPartials where(partials, nz, chunk, first_chunk);
  put_partials(values, scratch, where, channels);
  if (!last_block(ticket, where.blocks() * gridDim.z)) return;
  advance_state<TvColumns::kThreads, channels, 2, PrimalDualSums>(
      where, constants, state, log, log_length,
      [&](auto& s, const PrimalDualSums& sums, const TvConstants& c) {
        advance_halves(s, sums, c, *k, begin_state != 0);
      });
}

}  // namespace warploom::imaging
