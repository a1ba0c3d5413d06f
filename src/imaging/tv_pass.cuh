#pragma once

/// One pass of Solver::accelerated or Solver::descent over the image, as one kernel.
///
/// A block takes a tile of the plane and goes through a chunk of planes along z. In shared memory it has one
/// plane of the point y (where the gradient is taken) with a border of one voxel, and the fluxes alpha grad y
/// / |grad y| along x and y, so that each is computed once; that along z waits in a register for the next
/// plane. The next plane is in registers meanwhile, and the plane after it under way. A border outside the
/// image repeats the image's edge, so differences across the edge are 0 and no thread asks where it is.

#include <cstdint>

#include "tv_kernels.hpp"
#include "tv_project.cuh"
#include "tv_sums.cuh"
#include "tv_tiles.hpp"

namespace warploom::imaging {

/// Weight of a channel in the Frobenius norm.
template <int channels>
__device__ constexpr float tv_weight(int c) {
  return channels == 6 && (c == 1 || c == 2 || c == 4) ? 2.0F : 1.0F;
}

/// Solver::accelerated for a tensor (channels = 6) or for images of one channel each.
template <int channels>
struct TvAccelerated {
  using State = AcceleratedState;
  static constexpr int kChannels = channels;
  static constexpr bool kTwoInputs = true;  ///< x and the x before
  static constexpr bool kCoupled = false;   ///< whether a channel of y needs all channels of x

  template <int n>
  __device__ static void point(const float (&x)[n], const float (&before)[n], const TvCoefficients& k,
                               float (&y)[n]) {
#pragma unroll
    for (int c = 0; c < n; ++c) y[c] = x[c] + k.momentum * (x[c] - before[c]);
  }

  /// x+ from y, div = the divergence of the flux, d = y - noisy.
  __device__ static void step(const float (&y)[channels], const float (&div)[channels],
                              const float (&d)[channels], const float (&x)[channels], float lambda,
                              const TvCoefficients& k, bool counts, float (&next)[channels], float& mapping,
                              float& turn) {
    float move[channels];
#pragma unroll
    for (int c = 0; c < channels; ++c) {
      move[c] = k.step * (lambda * d[c] - div[c]);
      next[c] = y[c] - move[c];
    }
    if constexpr (channels == 6)
      if (k.step > 0 && counts && !positive_definite(next)) {
        project(next);
#pragma unroll
        for (int c = 0; c < channels; ++c) move[c] = y[c] - next[c];
      }
    if (counts) {
#pragma unroll
      for (int c = 0; c < channels; ++c) {
        const float weighted = tv_weight<channels>(c) * move[c];
        mapping += weighted * move[c];
        turn += weighted * (next[c] - x[c]);
      }
    }
  }

  __device__ static void coefficients(const State& s, const TvConstants& constants, TvCoefficients& k) {
    k.step = static_cast<float>(s.step);
    k.momentum = static_cast<float>(s.momentum);
    for (int c = 0; c < constants.channels; ++c) k.alpha[c] = static_cast<float>(s.alpha[c]);
  }
};

/// Solver::descent: x is L, y is L L^T.
struct TvDescent {
  using State = DescentState;
  static constexpr int kChannels = 6;
  static constexpr bool kTwoInputs = false;
  static constexpr bool kCoupled = true;

  __device__ static void point(const float (&l)[6], const float (&)[6], const TvCoefficients&,
                               float (&y)[6]) {
    multiply_factor(l, y);
  }

  __device__ static void step(const float (&y)[6], const float (&div)[6], const float (&d)[6],
                              const float (&l)[6], float lambda, const TvCoefficients& k, bool counts,
                              float (&next)[6], float& mapping, float&) {
    float g[6], probed[6];
#pragma unroll
    for (int c = 0; c < 6; ++c) {
      g[c] = lambda * d[c] - div[c];
      probed[c] = y[c] - k.momentum * g[c];
    }
    const float twice = 2 * k.step;
    next[0] = l[0] - twice * (g[0] * l[0] + g[1] * l[1] + g[2] * l[2]);
    next[1] = l[1] - twice * (g[1] * l[0] + g[3] * l[1] + g[4] * l[2]);
    next[2] = l[2] - twice * (g[2] * l[0] + g[4] * l[1] + g[5] * l[2]);
    next[3] = l[3] - twice * (g[3] * l[3] + g[4] * l[4]);
    next[4] = l[4] - twice * (g[4] * l[3] + g[5] * l[4]);
    next[5] = l[5] - twice * (g[5] * l[5]);
    const bool projected = k.momentum > 0 && counts && !positive_definite(probed);
    if (projected) project(probed);
    if (counts) {
#pragma unroll
      for (int c = 0; c < 6; ++c) {
        const float move = projected ? y[c] - probed[c] : k.momentum * g[c];
        mapping += tv_weight<6>(c) * move * move;
      }
    }
  }

  __device__ static void coefficients(const State& s, const TvConstants& constants, TvCoefficients& k) {
    k.step = static_cast<float>(s.step);
    k.momentum = static_cast<float>(s.probe);
    for (int c = 0; c < constants.channels; ++c) k.alpha[c] = static_cast<float>(s.alpha[c]);
  }
};

/// What one thread does when the sums of a pass are there.
template <class Scheme>
__device__ void advance_pass(typename Scheme::State& s, const TvSums& sums, const TvConstants& constants,
                             TvCoefficients& k) {
  advance(s, sums, constants);
  Scheme::coefficients(s, constants, k);
}

template <bool outside>
__device__ inline float tv_difference(float next, float here) {
  const float d = next - here;
  return !outside || d == d ? d : 0.0F;
}

/// Grid: (tiles, chunks of this launch, images of kChannels). Launch: Tile::kThreads threads. The arrays hold
/// the planes from `first_plane` on, `stride` floats a channel; a launch computes its chunks, and needs one
/// plane more on either side. The last block of all launches of a pass advances the state.
template <class Scheme, class Tile, bool outside>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    tv_pass(const float* __restrict__ noisy, const float* __restrict__ x, const float* __restrict__ before,
            float* __restrict__ next, std::int64_t stride, int nx, int ny, int nz, int first_plane,
            int first_chunk, int chunk, float lambda, float epsilon_squared, float wx, float wy,
            float wz,  // w: 1 / spacing^2
            const TvConstants* __restrict__ constants, typename Scheme::State* state,
            TvCoefficients* coefficients, double* partials, unsigned* ticket, TvProgress* log,
            int log_length) {
  constexpr int C = Scheme::kChannels, W = Tile::kWidth, H = Tile::kHeight, R = Tile::kRows,
                T = Tile::kThreads;
  // The border: left column, upper row (both with fluxes), right column from one above, lower row from one
  // before.
  constexpr int kBorder = 2 * (W + H) + 2, kBorderThreads = (kBorder + 31) / 32 * 32;
  constexpr int kGroups = Scheme::kCoupled || C == 1 ? 1
                          : T / kBorderThreads >= 6  ? 6
                          : T / kBorderThreads >= 3  ? 3
                          : T / kBorderThreads >= 2  ? 2
                                                     : 1;
  constexpr int B = C / kGroups;  // channels of one voxel of the border that a thread takes
  static_assert(T >= kBorderThreads);

  __shared__ float plane[C][H + 2][W + 2];
  __shared__ float flux_x[C][H][W + 1];      // of the voxel to the left
  __shared__ float flux_y[C][H / R + 1][W];  // of the voxel above a thread's rows

  if (state->progress.done) return;
  TvCoefficients k;
  k.step = coefficients->step;
  k.momentum = coefficients->momentum;
  const int image = static_cast<int>(blockIdx.z) * C;
#pragma unroll
  for (int c = 0; c < C; ++c) k.alpha[c] = coefficients->alpha[image + c];

  const int tiles_x = (nx + W - 1) / W;
  const int x0 = static_cast<int>(blockIdx.x) % tiles_x * W, y0 = static_cast<int>(blockIdx.x) / tiles_x * H;
  const int thread = static_cast<int>(threadIdx.x), column = thread % W, strip = thread / W;
  const int z_begin = (first_chunk + static_cast<int>(blockIdx.y)) * chunk, z_end = min(nz, z_begin + chunk);
  const std::int64_t plane_size = static_cast<std::int64_t>(nx) * ny;
  noisy += image * stride;
  x += image * stride;
  if (Scheme::kTwoInputs) before += image * stride;
  next += image * stride;

  // A thread's voxels in a plane: its own, and one of the border.
  int own[R];
  bool valid[R];
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const int y = y0 + strip * R + r;
    valid[r] = x0 + column < nx && y < ny;
    own[r] = min(y, ny - 1) * nx + min(x0 + column, nx - 1);
  }
  const int border = thread % kBorderThreads, border_channel = thread / kBorderThreads * B;
  const bool has_border = border < kBorder && border_channel < C;
  int border_x, border_y;  // in the tile
  if (border < H) {
    border_x = -1, border_y = border;
  } else if (border < H + W) {
    border_x = border - H, border_y = -1;
  } else if (border < 2 * H + W + 1) {
    border_x = W, border_y = border - H - W - 1;
  } else {
    border_x = border - 2 * H - W - 2, border_y = H;
  }
  const bool has_flux = has_border && border < H + W;
  const int border_offset = min(max(y0 + border_y, 0), ny - 1) * nx + min(max(x0 + border_x, 0), nx - 1);

  // x and before of the plane under way.
  float x_under_way[R][C], before_under_way[R][C], border_x_under_way[B], border_before_under_way[B];
  const auto fetch = [&](int z) {
    const std::int64_t base = (min(max(z, 0), nz - 1) - first_plane) * plane_size;
#pragma unroll
    for (int c = 0; c < C; ++c)
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const std::int64_t at = base + c * stride + own[r];
        x_under_way[r][c] = __ldg(x + at);
        before_under_way[r][c] = Scheme::kTwoInputs ? __ldg(before + at) : 0.0F;
      }
    if (has_border) {
#pragma unroll
      for (int c = 0; c < B; ++c) {
        const std::int64_t at = base + (border_channel + c) * stride + border_offset;
        border_x_under_way[c] = __ldg(x + at);
        border_before_under_way[c] = Scheme::kTwoInputs ? __ldg(before + at) : 0.0F;
      }
    }
  };
  float y_above[R][C], border_above[B];  // y in the next plane
  const auto arrive = [&] {
#pragma unroll
    for (int r = 0; r < R; ++r) Scheme::point(x_under_way[r], before_under_way[r], k, y_above[r]);
    if (has_border) Scheme::point(border_x_under_way, border_before_under_way, k, border_above);
  };
  float y_here[R][C];
  const auto put_plane = [&] {
#pragma unroll
    for (int c = 0; c < C; ++c)
#pragma unroll
      for (int r = 0; r < R; ++r) {
        y_here[r][c] = y_above[r][c];
        plane[c][strip * R + r + 1][column + 1] = y_above[r][c];
      }
    if (has_border) {
#pragma unroll
      for (int c = 0; c < B; ++c) plane[border_channel + c][border_y + 1][border_x + 1] = border_above[c];
    }
  };
  // The flux of one channel at a voxel, over the voxels' spacing.
  const auto flux = [&](float here, float right, float below, float above, float alpha, float& fx, float& fy,
                        float& fz) {
    const float dx = tv_difference<outside>(right, here), dy = tv_difference<outside>(below, here),
                dz = tv_difference<outside>(above, here);
    const float gx = dx * wx, gy = dy * wy, gz = dz * wz;
    const float square = epsilon_squared + gx * dx + gy * dy + gz * dz;
    const float inverse = approximate_rsqrt(square), scaled = alpha * inverse;
    fx = scaled * gx;
    fy = scaled * gy;
    fz = scaled * gz;
    return square * inverse;
  };

  float tv[C] = {}, fidelity = 0, mapping = 0, turn = 0;
  float flux_z[R][C] = {};  // of the plane below
  fetch(z_begin - 1);
  arrive();
  put_plane();
  fetch(z_begin);
  __syncthreads();
  for (int z = z_begin - 1; z < z_end; ++z) {
    const bool within = z >= z_begin;  // the plane below only gives flux_z
    const std::int64_t base = (z - first_plane) * plane_size;
    float d[R][C], x_here[R][C];
    if (within) {
#pragma unroll
      for (int c = 0; c < C; ++c)
#pragma unroll
        for (int r = 0; r < R; ++r) {
          d[r][c] = __ldg(noisy + base + c * stride + own[r]);
          x_here[r][c] = __ldg(x + base + c * stride + own[r]);
        }
    }
    arrive();

    float div[R][C];
#pragma unroll
    for (int c = 0; c < C; ++c) {
      float fy_before = 0;
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const int row = strip * R + r;
        const float below = r + 1 < R ? y_here[r + 1 < R ? r + 1 : 0][c] : plane[c][row + 2][column + 1];
        float fx, fy, fz;
        const float length =
            flux(y_here[r][c], plane[c][row + 1][column + 2], below, y_above[r][c], k.alpha[c], fx, fy, fz);
        if (within && valid[r] && (!outside || y_here[r][c] == y_here[r][c])) tv[c] += length;
        flux_x[c][row][column + 1] = fx;
        div[r][c] = (fx + fy) + (fz - flux_z[r][c]) - fy_before;
        flux_z[r][c] = fz;
        fy_before = fy;
      }
      flux_y[c][strip + 1][column] = fy_before;
    }
    if (has_flux) {
#pragma unroll
      for (int c = 0; c < B; ++c) {
        const int channel = border_channel + c;
        const float* here = &plane[channel][border_y + 1][border_x + 1];
        float fx, fy, fz;
        flux(here[0], here[1], here[W + 2], border_above[c], coefficients->alpha[image + channel], fx, fy,
             fz);
        if (border_x < 0)
          flux_x[channel][border_y][0] = fx;
        else
          flux_y[channel][0][border_x] = fy;
      }
    }
    __syncthreads();  // the fluxes are whole, and nobody needs this plane's y of others

    float y[R][C];
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int c = 0; c < C; ++c) y[r][c] = y_here[r][c];
    put_plane();
    if (z + 1 < z_end) fetch(z + 2);
    if (within) {
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const bool counts = valid[r] && (!outside || y[r][0] == y[r][0]);
        float sum = 0;
#pragma unroll
        for (int c = 0; c < C; ++c) {
          d[r][c] = y[r][c] - d[r][c];
          sum += tv_weight<C>(c) * d[r][c] * d[r][c];
          div[r][c] -= flux_x[c][strip * R + r][column];
          if (r == 0) div[r][c] -= flux_y[c][strip][column];
        }
        if (counts) fidelity += sum;
        float result[C];
        Scheme::step(y[r], div[r], d[r], x_here[r], lambda, k, counts, result, mapping, turn);
        if (valid[r]) {
#pragma unroll
          for (int c = 0; c < C; ++c) next[base + c * stride + own[r]] = result[c];
        }
      }
    }
    __syncthreads();  // the next plane's y is whole, and the fluxes are used up
  }

  __shared__ double scratch[T / 32][C + 3];
  float values[C + 3];
#pragma unroll
  for (int c = 0; c < C; ++c) values[c] = tv[c];
  values[C] = fidelity;
  values[C + 1] = mapping;
  values[C + 2] = turn;
  const TvPartials where(partials, nz, chunk, first_chunk);
  put_partials(values, scratch, where, 0);
  if (!last_block(ticket, where.blocks() * gridDim.z)) return;
  advance_state<T, C, 3, TvSums>(where, constants, state, log, log_length,
                                 [&](auto& s, const TvSums& sums, const TvConstants& c) {
                                   advance_pass<Scheme>(s, sums, c, *coefficients);
                                 });
}

}  // namespace warploom::imaging
