// What the three designs share of the iteration (M. Moazeni's dissertation, UCLA 2013, Figure 48 completed to
// six elements): steepest descent in the Cholesky factor L of the tensors D = L L^T,
//
//   L <- L - step * dG/dL,   dG/dl_ij = 2 lambda ((D - X) L)_ij - 2 (P L)_ij,   X the noisy tensors,
//   P_ij = TV[d_ij] / TV[D] * div(grad d_ij / |grad d_ij|),   TV[D] = sqrt(sum over all nine TV[d_ij]^2).
//
// The figure prints `2*lambda*(T11-X11).*L11 + (T21-X21).*L21 + (T31-X31).*L31`: as it stands 2*lambda weighs
// the first product alone. The derivative of lambda/2 ||L L^T - X||^2 has it before the whole bracket, and so
// has ours.
#pragma once

namespace bench {

/// Channel of the element (i, j), i >= j, of a symmetric matrix or a lower-triangular factor: images are
/// [6, nz, ny, nx] with the elements 11, 21, 31, 22, 32, 33.
__host__ __device__ constexpr int lower(int i, int j) { return j * (5 - j) / 2 + i; }
__host__ __device__ constexpr int symmetric(int i, int j) { return i >= j ? lower(i, j) : lower(j, i); }
__host__ __device__ constexpr int row(int channel) {
  return channel < 3 ? channel : channel < 5 ? channel - 2 : 2;
}
__host__ __device__ constexpr int column(int channel) { return channel < 3 ? 0 : channel < 5 ? 1 : 2; }

/// The element `channel` of L L^T at voxel v.
__device__ inline float llt(const float* factor, int voxels, int v, int channel) {
  const int i = row(channel), j = column(channel);
  float sum = 0;
  for (int k = 0; k <= j; ++k) sum += factor[lower(i, k) * voxels + v] * factor[lower(j, k) * voxels + v];
  return sum;
}

/// dG/dl_ij at a voxel; the callables give a channel's value there.
template <class Tensor, class Noisy, class P, class Factor>
__device__ float gradient(int i, int j, float lambda, Tensor tensor, Noisy noisy, P p, Factor factor) {
  float fidelity = 0, regularity = 0;
  for (int m = j; m < 3; ++m) {
    const int c = symmetric(i, m);
    const float l = factor(lower(m, j));
    fidelity += (tensor(c) - noisy(c)) * l;
    regularity += p(c) * l;
  }
  return 2 * lambda * fidelity - 2 * regularity;
}

/// TV[d_ij] / TV[D], 0 where nothing varies; off-diagonal elements stand twice in D.
__device__ inline float tv_weight(const float* tv_norms, int channel) {
  float squares = 0;
  for (int c = 0; c < 6; ++c) squares += (row(c) == column(c) ? 1 : 2) * tv_norms[c] * tv_norms[c];
  return squares > 0 ? tv_norms[channel] / sqrtf(squares) : 0;
}

}  // namespace bench
