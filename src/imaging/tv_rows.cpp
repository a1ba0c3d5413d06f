#include "imaging/tv_rows.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

// Nothing from the standard library with a body: one copy of it is linked, and it could be the one that was
// compiled for a processor that is not there.
namespace warploom::imaging::WARPLOOM_INSTRUCTION_SET {
namespace {

/// 1 / sqrt(s). The processor's guess and one of Newton's steps in its place were not faster: what bounds a
/// pass is the memory.
inline float inverse_root(float s) { return 1 / __builtin_sqrtf(s); }

/// Added to a sum of squares, which may be 0, so that its root has an inverse.
constexpr float kTiny = 1e-37F;

template <bool kMasked>
inline float difference(float next, float here) {
  const float d = next - here;
  return !kMasked || d == d ? d : 0;
}

template <bool kMasked>
inline float counted(float value, float here) {
  return !kMasked || here == here ? value : 0;
}

void extrapolate(float* __restrict__ y, const float* __restrict__ x, const float* __restrict__ before,
                 float momentum, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] + momentum * (x[i] - before[i]);
  y[n] = y[n - 1];
}

void square(TvRow<float> d, TvRow<const float> l, std::int64_t n) {
  const float *l00 = l.data, *l10 = l00 + l.stride, *l20 = l10 + l.stride, *l11 = l20 + l.stride,
              *l21 = l11 + l.stride, *l22 = l21 + l.stride;
  float *xx = d.data, *xy = xx + d.stride, *xz = xy + d.stride, *yy = xz + d.stride, *yz = yy + d.stride,
        *zz = yz + d.stride;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float a = l00[i], b = l10[i], c = l20[i], e = l11[i], f = l21[i], g = l22[i];
    xx[i] = a * a;
    xy[i] = a * b;
    xz[i] = a * c;
    yy[i] = b * b + e * e;
    yz[i] = b * c + e * f;
    zz[i] = c * c + f * f + g * g;
  }
  for (int c = 0; c < 6; ++c) d.data[c * d.stride + n] = d.data[c * d.stride + n - 1];
}

template <bool kMasked>
float flux(const float* y, const float* next_y, const float* next_z, const float* inverse_spacing,
           float epsilon, float* flux_x, float* flux_y, float* flux_z, float* divergence, std::int64_t n) {
  const float hx = inverse_spacing[0] * inverse_spacing[0], hy = inverse_spacing[1] * inverse_spacing[1],
              hz = inverse_spacing[2] * inverse_spacing[2];
  const float square = epsilon * epsilon + kTiny;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) {
    const float here = y[i];
    const float dx = difference<kMasked>(y[i + 1], here), dy = difference<kMasked>(next_y[i], here),
                dz = difference<kMasked>(next_z[i], here);
    const float s = square + hx * dx * dx + hy * dy * dy + hz * dz * dz;
    const float r = inverse_root(s);
    sum += counted<kMasked>(s * r, here);
    const float fy = hy * dy * r, fz = hz * dz * r;
    flux_x[i] = hx * dx * r;
    divergence[i] = (fy - flux_y[i]) + (fz - flux_z[i]);
    flux_y[i] = fy;
    flux_z[i] = fz;
  }
  return sum;
}

template <bool kMasked>
float gradient(const float* y, const float* noisy, const float* flux_x, const float* divergence,
               float fidelity_step, float flux_step, float* move, std::int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) {
    const float d = y[i] - noisy[i];
    sum += counted<kMasked>(d * d, d);
    move[i] = fidelity_step * d - flux_step * (flux_x[i] - flux_x[i - 1] + divergence[i]);
  }
  return sum;
}

/// Symmetric tensors side by side, for the few that may not be positive semidefinite.
struct Tensors {
  static constexpr int kCount = 32;
  float d[6][kCount];  // xx xy xz yy yz zz; becomes diagonal
  float v[9][kCount];  // eigenvectors: component k of vector j is v[3 * k + j]
};

/// Turns the plane of the axes p and q so that d_pq, element `pq`, vanishes; r is the third axis. (Golub &
/// Van Loan 2013, section 8.5: the smaller of the two angles.)
template <int p, int q, int pp, int pq, int qq, int pr, int qr>
inline void rotate(Tensors& t, int i) {
  const float off = t.d[pq][i], gap = t.d[qq][i] - t.d[pp][i];
  const float below = __builtin_fabsf(gap) + __builtin_sqrtf(gap * gap + 4 * off * off);
  const float tangent = (gap < 0 ? -2.0F : 2.0F) * off / (below > 0 ? below : 1);
  const float cosine = inverse_root(1 + tangent * tangent), sine = tangent * cosine;
  t.d[pp][i] -= tangent * off;
  t.d[qq][i] += tangent * off;
  t.d[pq][i] = 0;
  const float rp = t.d[pr][i], rq = t.d[qr][i];
  t.d[pr][i] = cosine * rp - sine * rq;
  t.d[qr][i] = sine * rp + cosine * rq;
  for (int k = 0; k < 9; k += 3) {
    const float vp = t.v[k + p][i], vq = t.v[k + q][i];
    t.v[k + p][i] = cosine * vp - sine * vq;
    t.v[k + q][i] = sine * vp + cosine * vq;
  }
}

/// Jacobi's method, until what is left beside the diagonal does not count in float.
void diagonalise(Tensors& t, int count) {
  for (int k = 0; k < 9; ++k)
    for (int i = 0; i < count; ++i) t.v[k][i] = k % 4 == 0 ? 1 : 0;
  int left = 1;
  for (int sweep = 0; sweep < 6 && left != 0; ++sweep) {
    left = 0;
#pragma omp simd reduction(+ : left)
    for (int i = 0; i < count; ++i) {
      rotate<0, 1, 0, 1, 3, 2, 4>(t, i);
      rotate<0, 2, 0, 2, 5, 1, 4>(t, i);
      rotate<1, 2, 3, 4, 5, 1, 2>(t, i);
      const float trace =
          __builtin_fabsf(t.d[0][i]) + __builtin_fabsf(t.d[3][i]) + __builtin_fabsf(t.d[5][i]);
      const float off = __builtin_fabsf(t.d[1][i]) + __builtin_fabsf(t.d[2][i]);
      left += off > 1e-8F * trace ? 1 : 0;
    }
  }
}

/// Projects the tensors of `next` where `suspect` is not 0, and adds to the sums what they add.
void project_suspects(TvRow<const float> y, const float* suspect, TvRow<const float> x, TvRow<float> next,
                      std::int64_t n, TvRowSums& sums) {
  constexpr float kWeights[6] = {1, 2, 2, 1, 2, 1};
  Tensors t{};
  std::int64_t where[Tensors::kCount];
  for (std::int64_t begin = 0; begin < n;) {
    int count = 0;
    for (; begin < n && count < Tensors::kCount; ++begin)
      if (suspect[begin] != 0) {
        for (int c = 0; c < 6; ++c) t.d[c][count] = next.data[c * next.stride + begin];
        where[count++] = begin;
      }
    diagonalise(t, (count + 15) / 16 * 16);
    for (int i = 0; i < count; ++i) {
      for (int c = 0, row = 0; row < 3; ++row)
        for (int column = row; column < 3; ++column, ++c) {
          float raise = 0;  // minus the part of the negative eigenvalues
          for (int k = 0; k < 3; ++k) {
            const float value = t.d[k == 0 ? 0 : 2 * k + 1][i];
            if (value < 0) raise -= value * t.v[3 * row + k][i] * t.v[3 * column + k][i];
          }
          float& to = next.data[c * next.stride + where[i]];
          to += raise;
          const float moved = y.data[c * y.stride + where[i]] - to;
          sums.mapping += kWeights[c] * moved * moved;
          sums.turn += kWeights[c] * moved * (to - x.data[c * x.stride + where[i]]);
        }
    }
  }
}

template <bool kMasked>
TvRowSums project(TvRow<const float> y, TvRow<float> move, TvRow<const float> x, TvRow<float> next,
                  std::int64_t n) {
  TvRowSums sums;
  float mapping = 0, turn = 0;
  int suspects = 0;
  const float* const from[3] = {y.data, move.data, x.data};
  const auto element = [&](int array, std::int64_t stride, int c) { return from[array] + c * stride; };
  const float *y0 = element(0, y.stride, 0), *y1 = element(0, y.stride, 1), *y2 = element(0, y.stride, 2),
              *y3 = element(0, y.stride, 3), *y4 = element(0, y.stride, 4), *y5 = element(0, y.stride, 5);
  const float *x0 = element(2, x.stride, 0), *x1 = element(2, x.stride, 1), *x2 = element(2, x.stride, 2),
              *x3 = element(2, x.stride, 3), *x4 = element(2, x.stride, 4), *x5 = element(2, x.stride, 5);
  float *m0 = move.data, *m1 = m0 + move.stride, *m2 = m1 + move.stride, *m3 = m2 + move.stride,
        *m4 = m3 + move.stride, *m5 = m4 + move.stride;
  float *n0 = next.data, *n1 = n0 + next.stride, *n2 = n1 + next.stride, *n3 = n2 + next.stride,
        *n4 = n3 + next.stride, *n5 = n4 + next.stride;
#pragma omp simd reduction(+ : mapping, turn, suspects)
  for (std::int64_t i = 0; i < n; ++i) {
    const float xx = y0[i] - m0[i], xy = y1[i] - m1[i], xz = y2[i] - m2[i], yy = y3[i] - m3[i],
                yz = y4[i] - m4[i], zz = y5[i] - m5[i];
    n0[i] = xx;
    n1[i] = xy;
    n2[i] = xz;
    n3[i] = yy;
    n4[i] = yz;
    n5[i] = zz;
    // Sylvester: positive definite, with a margin for rounding, if these three are. The rest are looked at
    // closely.
    const float trace = xx + yy + zz, margin = 1e-6F * trace;
    const float minor = xx * yy - xy * xy;
    const float determinant = zz * minor - yz * (xx * yz - 2 * xy * xz) - yy * xz * xz;
    const bool suspect = !(xx > margin) | !(minor > margin * trace) | !(determinant > margin * trace * trace);
    const bool counts = !suspect;  // false for NaN
    m0[i] = suspect && (!kMasked || xx == xx) ? 1.0F : 0.0F;
    suspects += suspect && (!kMasked || xx == xx) ? 1 : 0;
    // y - next rather than the move: in float the two differ, and so do they where a tensor was projected.
    const float a = y0[i] - xx, b = y1[i] - xy, c = y2[i] - xz, d = y3[i] - yy, e = y4[i] - yz,
                f = y5[i] - zz;
    const float moved = a * a + d * d + f * f + 2 * (b * b + c * c + e * e);
    const float turned = a * (xx - x0[i]) + d * (yy - x3[i]) + f * (zz - x5[i]) +
                         2 * (b * (xy - x1[i]) + c * (xz - x2[i]) + e * (yz - x4[i]));
    mapping += counts ? moved : 0;
    turn += counts ? turned : 0;
  }
  sums.mapping = mapping;
  sums.turn = turn;
  if (suspects != 0) project_suspects(y, move.data, x, next, n, sums);
  return sums;
}

template <bool kMasked>
TvRowSums step(const float* __restrict__ y, const float* __restrict__ move, const float* __restrict__ x,
               float* __restrict__ next, std::int64_t n) {
  float mapping = 0, turn = 0;
#pragma omp simd reduction(+ : mapping, turn)
  for (std::int64_t i = 0; i < n; ++i) {
    const float to = y[i] - move[i], moved = y[i] - to;
    next[i] = to;
    mapping += counted<kMasked>(moved * moved, to);
    turn += counted<kMasked>(moved * (to - x[i]), to);
  }
  return {mapping, turn};
}

void descend(TvRow<const float> l, TvRow<const float> move, float factor, TvRow<float> next, std::int64_t n) {
  const float *l00 = l.data, *l10 = l00 + l.stride, *l20 = l10 + l.stride, *l11 = l20 + l.stride,
              *l21 = l11 + l.stride, *l22 = l21 + l.stride;
  const float *xx = move.data, *xy = xx + move.stride, *xz = xy + move.stride, *yy = xz + move.stride,
              *yz = yy + move.stride, *zz = yz + move.stride;
  float *n00 = next.data, *n10 = n00 + next.stride, *n20 = n10 + next.stride, *n11 = n20 + next.stride,
        *n21 = n11 + next.stride, *n22 = n21 + next.stride;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float a = l00[i], b = l10[i], c = l20[i], d = l11[i], e = l21[i], f = l22[i];
    n00[i] = a - factor * (xx[i] * a + xy[i] * b + xz[i] * c);
    n10[i] = b - factor * (xy[i] * a + yy[i] * b + yz[i] * c);
    n20[i] = c - factor * (xz[i] * a + yz[i] * b + zz[i] * c);
    n11[i] = d - factor * (yy[i] * d + yz[i] * e);
    n21[i] = e - factor * (yz[i] * d + zz[i] * e);
    n22[i] = f - factor * (zz[i] * f);
  }
}

template <bool kMasked>
float dual(const float* const x[3], const float* const before[3], float momentum,
           const float* inverse_spacing, float sigma, float alpha, float* p_x, float* p_y, float* p_z,
           std::int64_t n) {
  const float hx = inverse_spacing[0], hy = inverse_spacing[1], hz = inverse_spacing[2];
  const float *x0 = x[0], *xy = x[1], *xz = x[2], *b0 = before[0], *by = before[1], *bz = before[2];
  const float limit = alpha * alpha;
  const auto update = [=](std::int64_t i, float dx, float dx_before) {
    const float gx = hx * dx, gy = hy * difference<kMasked>(xy[i], x0[i]),
                gz = hz * difference<kMasked>(xz[i], x0[i]);
    const float qx = p_x[i] + sigma * (gx + momentum * (gx - hx * dx_before)),
                qy = p_y[i] + sigma * (gy + momentum * (gy - hy * difference<kMasked>(by[i], b0[i]))),
                qz = p_z[i] + sigma * (gz + momentum * (gz - hz * difference<kMasked>(bz[i], b0[i])));
    const float length = kTiny + qx * qx + qy * qy + qz * qz;
    const float cut = length > limit ? alpha * inverse_root(length) : 1;
    p_x[i] = cut * qx;
    p_y[i] = cut * qy;
    p_z[i] = cut * qz;
    return __builtin_sqrtf(gx * gx + gy * gy + gz * gz);
  };
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n - 1; ++i)
    sum += update(i, difference<kMasked>(x0[i + 1], x0[i]), difference<kMasked>(b0[i + 1], b0[i]));
  return sum + update(n - 1, 0, 0);
}

void divergence(const float* p_x, const float* p_y, const float* p_y_below, const float* p_z,
                const float* p_z_below, const float* inverse_spacing, float* __restrict__ result,
                std::int64_t n) {
  const float hx = inverse_spacing[0], hy = inverse_spacing[1], hz = inverse_spacing[2];
  for (std::int64_t i = 0; i < n; ++i)
    result[i] = hx * (p_x[i] - p_x[i - 1]) + hy * (p_y[i] - p_y_below[i]) + hz * (p_z[i] - p_z_below[i]);
}

void store(float* to, const float* from, std::int64_t n) {
  std::int64_t i = 0;
#if defined(__AVX512F__)
  for (; i < n && reinterpret_cast<std::uintptr_t>(to + i) % 64 != 0; ++i) to[i] = from[i];
  for (; i + 16 <= n; i += 16) _mm512_stream_ps(to + i, _mm512_loadu_ps(from + i));
#elif defined(__AVX__)
  for (; i < n && reinterpret_cast<std::uintptr_t>(to + i) % 32 != 0; ++i) to[i] = from[i];
  for (; i + 8 <= n; i += 8) _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i));
#elif defined(__SSE2__)
  for (; i < n && reinterpret_cast<std::uintptr_t>(to + i) % 16 != 0; ++i) to[i] = from[i];
  for (; i + 4 <= n; i += 4) _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
#endif
  for (; i < n; ++i) to[i] = from[i];
}

void fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace

extern const TvRows tv_rows;
const TvRows tv_rows = {extrapolate,
                        square,
                        {flux<false>, flux<true>},
                        {gradient<false>, gradient<true>},
                        {project<false>, project<true>},
                        {step<false>, step<true>},
                        descend,
                        {dual<false>, dual<true>},
                        divergence,
                        store,
                        fence};

}  // namespace warploom::imaging::WARPLOOM_INSTRUCTION_SET
