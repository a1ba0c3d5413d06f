#pragma once

#include <algorithm>
#include <array>

#include "warploom/imaging/maps.hpp"

namespace warploom::imaging {

/// Whether an eigenvalue is below 0 by more than storing a tensor as float explains.
inline bool has_negative(const Eigen3& eigen) {
  return eigen.values[2] < -1e-6 * std::max(eigen.values[0], -eigen.values[2]);
}

/// Sylvester's criterion: all leading minors are positive. Cheap, so that most voxels need no eigenvalues;
/// false for tensors that are only semidefinite.
inline bool positive_definite(const std::array<double, 6>& t) {
  const auto [xx, xy, xz, yy, yz, zz] = t;
  return xx > 0 && xx * yy - xy * xy > 0 &&
         xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz) > 0;
}

/// sum over k of values[k] vectors[k] vectors[k]^T, as xx xy xz yy yz zz.
std::array<double, 6> from_eigen(const Eigen3& eigen);

}  // namespace warploom::imaging
