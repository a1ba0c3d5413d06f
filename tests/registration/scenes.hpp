#pragma once

/// Spaces, fields and images that several tests of registration take, all of formulas.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "warploom/registration/field.hpp"

namespace warploom::registration {

inline Space box(std::int64_t nx, std::int64_t ny, std::int64_t nz,
                 const Affine& to_world = identity_affine()) {
  return {{nx, ny, nz, {1, 1, 1}}, to_world};
}

/// Oblique, of different spacings, and reflected.
inline constexpr Affine kOblique{{{0.9, -0.3, 0.2, -12}, {0.4, 1.1, -0.1, 5}, {0.1, 0.2, -1.4, 20}}};

/// Calls body(x, y, z, voxel) for every voxel of a space.
template <class Body>
void for_voxels(const Space& space, const Body& body) {
  std::size_t voxel = 0;
  for (std::int64_t z = 0; z < space.grid.nz; ++z)
    for (std::int64_t y = 0; y < space.grid.ny; ++y)
      for (std::int64_t x = 0; x < space.grid.nx; ++x)
        body(static_cast<double>(x), static_cast<double>(y), static_cast<double>(z), voxel++);
}

/// A smooth field of about `reach` mm that turns and stretches.
inline DisplacementField waves(const Space& space, double reach) {
  DisplacementField field = zero_field(space);
  const auto voxels = static_cast<std::size_t>(space.grid.voxels());
  for_voxels(space, [&](double x, double y, double z, std::size_t v) {
    const Point d{std::sin(0.21 * y + 0.1 * z), std::cos(0.17 * x - 0.2 * z), std::sin(0.13 * x + 0.19 * y)};
    for (std::size_t c = 0; c < 3; ++c) field.mm[c * voxels + v] = static_cast<float>(reach * d[c]);
  });
  return field;
}

/// The 48 ways to number the voxels of a grid: order of axes, and which run backwards.
template <class Body>
void for_orientations(const Body& body) {
  std::array<std::size_t, 3> order{0, 1, 2};
  do {
    for (unsigned flips = 0; flips < 8; ++flips) body(order, flips);
  } while (std::next_permutation(order.begin(), order.end()));
}

/// The same voxels at the same places of the world, numbered otherwise. @param source  voxel of the old grid
/// for each of the new one
inline Space reordered(const Space& space, const std::array<std::size_t, 3>& order, unsigned flips,
                       std::vector<std::size_t>& source) {
  const std::array<std::int64_t, 3> size{space.grid.nx, space.grid.ny, space.grid.nz};
  Space out = box(size[order[0]], size[order[1]], size[order[2]]);
  for (std::size_t r = 0; r < 3; ++r) out.to_world[r][3] = space.to_world[r][3];
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t r = 0; r < 3; ++r) {
      const double step = space.to_world[r][order[a]];
      const bool back = (flips >> a & 1U) != 0;
      out.to_world[r][a] = back ? -step : step;
      if (back) out.to_world[r][3] += step * static_cast<double>(size[order[a]] - 1);
    }
  source.clear();
  for_voxels(out, [&](double x, double y, double z, std::size_t) {
    const std::array<double, 3> at{x, y, z};
    std::array<std::int64_t, 3> from{};
    for (std::size_t a = 0; a < 3; ++a) {
      const auto k = static_cast<std::int64_t>(at[a]);
      from[order[a]] = (flips >> a & 1U) != 0 ? size[order[a]] - 1 - k : k;
    }
    source.push_back(static_cast<std::size_t>((from[2] * size[1] + from[1]) * size[0] + from[0]));
  });
  return out;
}

}  // namespace warploom::registration
