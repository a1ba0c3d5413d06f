#include "imaging/tgv_rows.hpp"

// As in tv_rows.cpp: nothing from the standard library with a body.
namespace warploom::imaging::WARPLOOM_INSTRUCTION_SET {
namespace {

/// Cuts vectors of `components` components a channel to the length `limit`; `square` holds their squared
/// lengths and is used up.
void cut(float* field, int components, const TgvShape& s, float limit, std::int64_t n, float* square) {
  float largest = 0;
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < n; ++i) {
    largest = square[i] > largest ? square[i] : largest;
    square[i] = square[i] > limit * limit ? limit / __builtin_sqrtf(square[i]) : 1;
  }
  if (!(largest > limit * limit)) return;
  for (int k = 0; k < components * s.channels; ++k) {
    float* const of = field + k * s.stride;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) of[i] *= square[i];
  }
}

void clear(float* values, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) values[i] = 0;
}

void dual(const TgvFields& f, const TgvShape& shape, const TgvSteps& k, std::int64_t begin, std::int64_t n,
          float* square) {
  const TgvShape s = shape;
  const float sigma = k.sigma;
  clear(square, n);
  for (int c = 0; c < s.channels; ++c) {
    const float *u = f.u_bar + c * s.stride + begin, *w = f.w_bar + 3 * c * s.stride + begin;
    float* const p = f.p + 3 * c * s.stride + begin;
    const float weight = tgv_weight(s, c);
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      float g[3];
      tgv_slope(u, w, s, i, g);
      const float x = p[i] + sigma * g[0], y = p[i + s.stride] + sigma * g[1],
                  z = p[i + 2 * s.stride] + sigma * g[2];
      p[i] = x, p[i + s.stride] = y, p[i + 2 * s.stride] = z;
      square[i] += weight * (x * x + y * y + z * z);
    }
  }
  cut(f.p + begin, 3, s, 1, n, square);

  clear(square, n);
  for (int c = 0; c < s.channels; ++c) {
    const float* const w = f.w_bar + 3 * c * s.stride + begin;
    float* const q = f.q + 6 * c * s.stride + begin;
    const float weight = tgv_weight(s, c);
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      float e[6];
      tgv_strain(w, s, i, e);
      float sum = 0;
      for (int j = 0; j < 6; ++j) {
        const float to = q[i + j * s.stride] + sigma * e[j];
        q[i + j * s.stride] = to;
        sum += tgv_strain_weight(j) * to * to;
      }
      square[i] += weight * sum;
    }
  }
  cut(f.q + begin, 6, s, k.ratio, n, square);
}

void step_u(const TgvFields& f, const TgvShape& shape, const TgvSteps& steps, std::int64_t begin,
            std::int64_t n, TvRow<float> move) {
  const TgvShape s = shape;
  const TgvSteps k = steps;
  for (int c = 0; c < s.channels; ++c) {
    const float *u = f.u + c * s.stride + begin, *noisy = f.noisy + c * s.stride + begin,
                *p = f.p + 3 * c * s.stride + begin;
    float* const to = move.data + c * move.stride;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) to[i] = u[i] - tgv_step(u[i], tgv_divergence(p, s, i), noisy[i], k);
  }
}

void take_u(const TgvFields& f, const TgvShape& s, std::int64_t begin, std::int64_t n,
            TvRow<const float> next) {
  for (int c = 0; c < s.channels; ++c) {
    float *u = f.u + c * s.stride + begin, *bar = f.u_bar + c * s.stride + begin;
    const float* const to = next.data + c * next.stride;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      bar[i] = 2 * to[i] - u[i];
      u[i] = to[i];
    }
  }
}

void step_w(const TgvFields& f, const TgvShape& shape, const TgvSteps& k, std::int64_t begin,
            std::int64_t n) {
  const TgvShape s = shape;
  const float tau = k.tau;
  for (int c = 0; c < s.channels; ++c) {
    float *w = f.w + 3 * c * s.stride + begin, *bar = f.w_bar + 3 * c * s.stride + begin;
    const float *p = f.p + 3 * c * s.stride + begin, *q = f.q + 6 * c * s.stride + begin;
    const auto along = [&](int axis, const auto& adjoint) {
      const std::int64_t at = axis * s.stride;
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) {
        const float here = w[i + at], to = here + tau * (p[i + at] - adjoint(q, s, i));
        w[i + at] = to;
        bar[i + at] = 2 * to - here;
      }
    };
    along(0, [](const float* of, const TgvShape& as, std::int64_t i) { return tgv_adjoint_x(of, as, i); });
    along(1, [](const float* of, const TgvShape& as, std::int64_t i) { return tgv_adjoint_y(of, as, i); });
    along(2, [](const float* of, const TgvShape& as, std::int64_t i) { return tgv_adjoint_z(of, as, i); });
  }
}

void average(const TgvFields& f, const TgvShape& s, float newest, std::int64_t begin, std::int64_t n) {
  for (int k = 0; k < 6 * s.channels; ++k) {
    const float* const q = f.q + k * s.stride + begin;
    float* const mean = f.q_mean + k * s.stride + begin;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) mean[i] += newest * (q[i] - mean[i]);
  }
}

float sum_of_roots(const float* square, std::int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += __builtin_sqrtf(square[i]);
  return sum;
}

TgvRowSums measure(const TgvFields& f, const TgvShape& shape, const TgvSteps& k, std::int64_t begin,
                   std::int64_t n, float* square, TvRow<float> move) {
  const TgvShape s = shape;
  TgvRowSums sums;
  clear(square, n);
  for (int c = 0; c < s.channels; ++c) {
    const float *u = f.u + c * s.stride + begin, *w = f.w + 3 * c * s.stride + begin,
                *noisy = f.noisy + c * s.stride + begin;
    const float weight = tgv_weight(s, c);
    float fidelity = 0;
#pragma omp simd reduction(+ : fidelity)
    for (std::int64_t i = 0; i < n; ++i) {
      float g[3];
      tgv_slope(u, w, s, i, g);
      square[i] += weight * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
      const float d = tgv_counted(u[i] - noisy[i]);
      fidelity += d * d;
    }
    sums.fidelity += weight * fidelity;
  }
  sums.slope = sum_of_roots(square, n);

  clear(square, n);
  for (int c = 0; c < s.channels; ++c) {
    const float* const w = f.w + 3 * c * s.stride + begin;
    const float weight = tgv_weight(s, c);
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      float e[6];
      tgv_strain(w, s, i, e);
      float sum = 0;
      for (int j = 0; j < 6; ++j) sum += tgv_strain_weight(j) * e[j] * e[j];
      square[i] += weight * sum;
    }
  }
  sums.strain = sum_of_roots(square, n);

  clear(square, n);
  for (int c = 0; c < s.channels; ++c) {
    const float* const q = f.q_mean + 6 * c * s.stride + begin;
    const float weight = tgv_weight(s, c), over = -1 / k.lambda;
    float* const to = move.data + c * move.stride;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      const float x = tgv_adjoint_x(q, s, i), y = tgv_adjoint_y(q, s, i), z = tgv_adjoint_z(q, s, i);
      square[i] += weight * (x * x + y * y + z * z);
      to[i] = over * (s.h[0] * (x - tgv_adjoint_x(q, s, i - s.right)) +
                      s.h[1] * (y - tgv_adjoint_y(q, s, i - s.below)) +
                      s.h[2] * (z - tgv_adjoint_z(q, s, i - s.above)));
    }
  }
  float largest = 0;
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < n; ++i) largest = square[i] > largest ? square[i] : largest;
  sums.largest = largest;
  return sums;
}

}  // namespace

extern const TgvRows tgv_rows;
const TgvRows tgv_rows = {dual, step_u, take_u, step_w, average, measure};

}  // namespace warploom::imaging::WARPLOOM_INSTRUCTION_SET
