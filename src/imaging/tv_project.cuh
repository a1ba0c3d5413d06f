#pragma once

/// Projection of a symmetric 3x3 matrix on the positive semidefinite ones, for one thread.

namespace warploom::imaging {

/// Without the steps that nvcc adds for subnormal numbers; relative error 2^-22.
__device__ inline float approximate_rsqrt(float a) {
  float result;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
}
__device__ inline float approximate_reciprocal(float a) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
}

/// Whether all leading minors are positive (Sylvester), with a margin for rounding. False for a NaN.
/// Elements: xx, xy, xz, yy, yz, zz.
__device__ inline bool positive_definite(const float (&d)[6]) {
  const float trace = d[0] + d[3] + d[5], margin = 1e-6F * trace;
  const float minor = d[0] * d[3] - d[1] * d[1];
  const float determinant = d[5] * minor - d[4] * (d[0] * d[4] - 2 * d[1] * d[2]) - d[3] * d[2] * d[2];
  return d[0] > margin && minor > margin * trace && determinant > margin * trace * trace;
}

/// Turns the plane of axes p, q so that a_pq becomes 0 (Jacobi); a_rp and a_rq belong to the third axis.
__device__ inline void rotate(float& a_pp, float& a_qq, float& a_pq, float& a_rp, float& a_rq) {
  constexpr float kTiny = 1e-37F;  // keeps 0 / 0 out
  const float difference = a_qq - a_pp, twice = 2 * a_pq;
  const float square = difference * difference + twice * twice + kTiny;
  const float root = square * approximate_rsqrt(square);
  const float tangent =
      copysignf(twice, twice * difference) * approximate_reciprocal(fabsf(difference) + root);
  const float cosine = approximate_rsqrt(1 + tangent * tangent), sine = tangent * cosine;
  const float change = tangent * a_pq, rp = a_rp, rq = a_rq;
  a_pp -= change;
  a_qq += change;
  a_pq = 0;
  a_rp = cosine * rp - sine * rq;
  a_rq = sine * rp + cosine * rq;
}

/// (max(0, b) - max(0, a)) / (b - a), for a <= b.
__device__ inline float slope_of_positive_part(float a, float b) {
  return a >= 0 ? 1.0F : b <= 0 ? 0.0F : b * approximate_reciprocal(b - a);
}

/// d <- the nearest positive semidefinite matrix in the Frobenius norm. Only eigenvalues are needed: the
/// positive part of d is the polynomial in d that takes the value max(0, l) at every eigenvalue l, in
/// Newton's form. All divided differences are bounded, so that coinciding eigenvalues do no harm.
__device__ inline void project(float (&d)[6]) {
  float xx = d[0], xy = d[1], xz = d[2], yy = d[3], yz = d[4], zz = d[5];
  const float scale = xx * xx + yy * yy + zz * zz + 2 * (xy * xy + xz * xz + yz * yz);
#pragma unroll 1
  for (int sweep = 0; sweep < 6 && xy * xy + xz * xz + yz * yz > 1e-15F * scale; ++sweep) {
    rotate(xx, yy, xy, xz, yz);
    rotate(xx, zz, xz, xy, yz);
    rotate(yy, zz, yz, xy, xz);
  }
  const float low = fminf(xx, fminf(yy, zz)), high = fmaxf(xx, fmaxf(yy, zz));
  const float middle = fmaxf(fminf(xx, yy), fminf(fmaxf(xx, yy), zz));
  const float first = slope_of_positive_part(low, middle);
  const float second =
      (slope_of_positive_part(middle, high) - first) * approximate_reciprocal(fmaxf(high - low, 1e-37F));
  // f(low) + first (d - low) + second (d - low)(d - middle)
  const float constant = fmaxf(low, 0.0F) - first * low;
  const float a0 = d[0] - low, a3 = d[3] - low, a5 = d[5] - low;
  const float b0 = d[0] - middle, b3 = d[3] - middle, b5 = d[5] - middle;
  const float x01 = d[1], x02 = d[2], x12 = d[4];
  d[0] = constant + first * d[0] + second * (a0 * b0 + x01 * x01 + x02 * x02);
  d[1] = first * x01 + second * (a0 * x01 + x01 * b3 + x02 * x12);
  d[2] = first * x02 + second * (a0 * x02 + x01 * x12 + x02 * b5);
  d[3] = constant + first * d[3] + second * (x01 * x01 + a3 * b3 + x12 * x12);
  d[4] = first * x12 + second * (x01 * x02 + a3 * x12 + x12 * b5);
  d[5] = constant + first * d[5] + second * (x02 * x02 + x12 * x12 + a5 * b5);
}

/// D = L L^T; the elements of L in the order l11, l21, l31, l22, l32, l33.
__device__ inline void multiply_factor(const float (&l)[6], float (&d)[6]) {
  d[0] = l[0] * l[0];
  d[1] = l[0] * l[1];
  d[2] = l[0] * l[2];
  d[3] = l[1] * l[1] + l[3] * l[3];
  d[4] = l[1] * l[2] + l[3] * l[4];
  d[5] = l[2] * l[2] + l[4] * l[4] + l[5] * l[5];
}

}  // namespace warploom::imaging
