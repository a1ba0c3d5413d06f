#pragma once

#include <cmath>
#include <functional>

#include "warploom/registration/space.hpp"

/// A made-up head, known at every point of the world: images of it on any grid, and moved by any map, are
/// exact.
namespace warploom::registration {

/// Brightness at a point [mm]: a skull, brain, ventricles and folds of some 10 mm, none of them symmetric.
/// About 60 mm wide.
inline double head_at(const Point& p) {
  const auto ball = [&](double x, double y, double z, double a, double b, double c) {
    const double r =
        std::sqrt(std::pow((p[0] - x) / a, 2) + std::pow((p[1] - y) / b, 2) + std::pow((p[2] - z) / c, 2));
    return 1 / (1 + std::exp((r - 1) * 12));
  };
  const double brain = ball(1, 2, 0, 24, 29, 21);
  const double folds = std::sin(p[0] * 0.55 + 0.8 * std::sin(p[1] * 0.31)) *
                       std::sin(p[1] * 0.5 + 0.3 + 0.5 * std::sin(p[2] * 0.4)) *
                       std::sin(p[2] * 0.53 + 1.1 + 0.4 * std::sin(p[0] * 0.3));
  return 100 *
         (0.3 * ball(1, 2, 0, 29, 34, 26) + 0.5 * brain + 0.35 * brain * folds -
          0.5 * ball(5, 6, 3, 5, 9, 4) - 0.4 * ball(-6, 4, 2, 4, 8, 5) + 0.3 * ball(8, -14, -7, 7, 5, 5));
}

/// The head on a grid, each voxel's point taken through `map` first.
inline PlacedImage head_on(
    const Space& space, const std::function<Point(const Point&)>& map = [](const Point& p) { return p; }) {
  PlacedImage out;
  out.image = imaging::Image(space.grid, 1);
  out.to_world = space.to_world;
  std::size_t i = 0;
  for (std::int64_t z = 0; z < space.grid.nz; ++z)
    for (std::int64_t y = 0; y < space.grid.ny; ++y)
      for (std::int64_t x = 0; x < space.grid.nx; ++x)
        out.image.data[i++] = static_cast<float>(head_at(map(map_point(
            space.to_world, {static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)}))));
  return out;
}

/// A grid of nx x ny x nz voxels of `spacing` with its middle at 0.
inline Space space_around(std::int64_t nx, std::int64_t ny, std::int64_t nz,
                          const std::array<double, 3>& spacing = {2, 2, 2}) {
  Space out;
  out.grid = {nx, ny, nz, spacing};
  const std::int64_t n[3] = {nx, ny, nz};
  for (std::size_t c = 0; c < 3; ++c) {
    out.to_world[c][c] = spacing[c];
    out.to_world[c][3] = -spacing[c] * static_cast<double>(n[c] - 1) / 2;
  }
  return out;
}

/// Over the head: the mean distance of two maps [mm].
inline double mean_distance(const Space& space, const std::function<Point(const Point&)>& a,
                            const std::function<Point(const Point&)>& b) {
  double sum = 0;
  int count = 0;
  for (std::int64_t z = 0; z<space.grid.nz; z += space.grid.nz> 1 ? 2 : 1)
    for (std::int64_t y = 0; y < space.grid.ny; y += 2)
      for (std::int64_t x = 0; x < space.grid.nx; x += 2) {
        const Point p = map_point(space.to_world,
                                  {static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)});
        if (head_at(a(p)) < 40) continue;
        const Point at = a(p), other = b(p);
        sum += std::hypot(at[0] - other[0], at[1] - other[1], at[2] - other[2]);
        ++count;
      }
  return sum / count;
}

}  // namespace warploom::registration
