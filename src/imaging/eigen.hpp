#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "warploom/core/host_device.hpp"
#include "warploom/imaging/maps.hpp"

namespace warploom::imaging {

/// Whether an eigenvalue is below 0 by more than storing a tensor as float explains.
inline bool has_negative(const Eigen3& eigen) {
  return eigen.values[2] < -1e-6 * std::max(eigen.values[0], -eigen.values[2]);
}

/// Sylvester's criterion: all leading minors are positive. Cheap, so that most voxels need no eigenvalues;
/// false for tensors that are only semidefinite.
WARPLOOM_HOST_DEVICE inline bool positive_definite(const std::array<double, 6>& t) {
  const auto [xx, xy, xz, yy, yz, zz] = t;
  return xx > 0 && xx * yy - xy * xy > 0 &&
         xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz) > 0;
}

using Matrix3 = std::array<std::array<double, 3>, 3>;

/// A Jacobi rotation in the plane of the axes p and q that makes a[p][q] zero. The rows of `vectors` turn
/// along. r is the third axis.
WARPLOOM_HOST_DEVICE inline void rotate_axes(Matrix3& a, Matrix3& vectors, std::size_t p, std::size_t q,
                                             std::size_t r) {
  const double off = a[p][q];
  if (off == 0) return;
  // t = tan of the smaller angle; an infinite theta gives 0.
  const double theta = (a[q][q] - a[p][p]) / (2 * off);
  const double t = std::copysign(1 / (std::abs(theta) + std::sqrt(theta * theta + 1)), theta);
  const double c = 1 / std::sqrt(t * t + 1), s = t * c;
  a[p][p] -= t * off;
  a[q][q] += t * off;
  a[p][q] = a[q][p] = 0;
  const double rp = a[r][p], rq = a[r][q];
  a[r][p] = a[p][r] = c * rp - s * rq;
  a[r][q] = a[q][r] = s * rp + c * rq;
  for (std::size_t k = 0; k < 3; ++k) {
    const double vp = vectors[p][k], vq = vectors[q][k];
    vectors[p][k] = c * vp - s * vq;
    vectors[q][k] = s * vp + c * vq;
  }
}

/// Eigenvalues in any order, and eigenvectors of any sign: what eigen() begins with. By Jacobi's method:
/// unlike the closed form it keeps its accuracy where eigenvalues coincide.
WARPLOOM_HOST_DEVICE inline Eigen3 jacobi_eigen(const std::array<double, 6>& tensor) {
  // A sweep squares what is off the diagonal, relative to the rest; six reach rounding, ten are never needed.
  constexpr int kSweeps = 10;
  constexpr double kOffDiagonal = 1e-40;  // of the squared norm
  const auto [xx, xy, xz, yy, yz, zz] = tensor;
  Matrix3 a{{{xx, xy, xz}, {xy, yy, yz}, {xz, yz, zz}}};
  Eigen3 result{{}, {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}};
  const double stop = kOffDiagonal * (xx * xx + yy * yy + zz * zz + 2 * (xy * xy + xz * xz + yz * yz));
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    if (a[0][1] * a[0][1] + a[0][2] * a[0][2] + a[1][2] * a[1][2] <= stop) break;
    rotate_axes(a, result.vectors, 0, 1, 2);
    rotate_axes(a, result.vectors, 0, 2, 1);
    rotate_axes(a, result.vectors, 1, 2, 0);
  }
  result.values = {a[0][0], a[1][1], a[2][2]};
  return result;
}

/// sum over k of values[k] vectors[k] vectors[k]^T, as xx xy xz yy yz zz.
WARPLOOM_HOST_DEVICE inline std::array<double, 6> from_eigen(const Eigen3& eigen) {
  std::array<double, 6> tensor{};
  for (std::size_t k = 0; k < 3; ++k) {
    const auto& [x, y, z] = eigen.vectors[k];
    const double value = eigen.values[k];
    tensor[0] += value * x * x;
    tensor[1] += value * x * y;
    tensor[2] += value * x * z;
    tensor[3] += value * y * y;
    tensor[4] += value * y * z;
    tensor[5] += value * z * z;
  }
  return tensor;
}

}  // namespace warploom::imaging
