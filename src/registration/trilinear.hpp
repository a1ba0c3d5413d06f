#pragma once

/// Where a point lies among voxels.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "warploom/imaging/image.hpp"
#include "warploom/registration/affine.hpp"

namespace warploom::registration {

/// The extents of a grid and its strides, for inner loops.
struct Extents {
  std::array<std::int64_t, 3> size, stride;
  explicit Extents(const imaging::Grid& grid)
      : size{grid.nx, grid.ny, grid.nz}, stride{1, grid.nx, grid.nx * grid.ny} {}
  /// Within the outermost voxels' faces: half a voxel beyond their centres. False of what is not finite.
  /// Upper faces are outside, as ITK has them.
  bool contains(const Point& index) const {
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (!(index[axis] >= -0.5 && index[axis] < static_cast<double>(size[axis]) - 0.5)) return false;
    return true;
  }
};

/// The eight voxels around a point, those of the border continued outward, and where the point is among them.
struct Corners {
  std::int64_t first = 0;              ///< of the least indices
  std::array<std::int64_t, 3> step{};  ///< to the next along each axis; 0 where there is none
  std::array<double, 3> share{};       ///< of the next, 0 to 1

  /// Of any point; what is not a number counts as 0.
  Corners(const Extents& extents, const Point& index) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t last = extents.size[axis] - 1;
      const double at = index[axis] > 0 ? std::min(index[axis], static_cast<double>(last)) : 0;
      const auto low = static_cast<std::int64_t>(at);  // not negative: cut is floor
      share[axis] = at - static_cast<double>(low);
      step[axis] = low < last ? extents.stride[axis] : 0;
      first += low * extents.stride[axis];
    }
  }
  /// Voxel n of eight: bit 0 is along x.
  std::int64_t voxel(unsigned n) const {
    return first + ((n & 1U) != 0 ? step[0] : 0) + ((n & 2U) != 0 ? step[1] : 0) +
           ((n & 4U) != 0 ? step[2] : 0);
  }
  std::array<double, 8> weights() const {
    std::array<double, 8> out{};
    for (unsigned n = 0; n < 8; ++n)
      out[n] = ((n & 1U) != 0 ? share[0] : 1 - share[0]) * ((n & 2U) != 0 ? share[1] : 1 - share[1]) *
               ((n & 4U) != 0 ? share[2] : 1 - share[2]);
    return out;
  }
  double mean(const float* values) const {
    const auto along = [](double a, double b, double s) { return a + s * (b - a); };
    const float* v = values + first;
    const auto row = [&](std::int64_t at) { return along(double(v[at]), double(v[at + step[0]]), share[0]); };
    return along(along(row(0), row(step[1]), share[1]), along(row(step[2]), row(step[1] + step[2]), share[1]),
                 share[2]);
  }
};

}  // namespace warploom::registration
