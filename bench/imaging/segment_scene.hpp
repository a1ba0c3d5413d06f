#pragma once

#include <algorithm>
#include <cmath>
#include <random>

#include "warploom/imaging/image.hpp"

namespace warploom::imaging {

/// Like a micrograph: `objects` disks or balls of random place, size and brightness on a background that
/// grows brighter from left to right, and white noise. The same on every machine up to the last bit of cos
/// and log.
inline Image scene(const Grid& grid, int objects, double noise, std::uint32_t seed = 1) {
  std::mt19937 engine(seed);
  const auto uniform = [&] { return (static_cast<double>(engine()) + 0.5) / 4294967296.0; };
  Image image(grid, 1);
  const auto at = [&](std::int64_t x, std::int64_t y, std::int64_t z) -> float& {
    return image.data[static_cast<std::size_t>((z * grid.ny + y) * grid.nx + x)];
  };
  for (std::int64_t z = 0; z < grid.nz; ++z)
    for (std::int64_t y = 0; y < grid.ny; ++y)
      for (std::int64_t x = 0; x < grid.nx; ++x)
        at(x, y, z) = static_cast<float>(0.25 + 0.1 * static_cast<double>(x) / static_cast<double>(grid.nx));
  for (int k = 0; k < objects; ++k) {
    const double radius = (0.01 + 0.03 * uniform()) * static_cast<double>(grid.nx);
    const double cx = uniform() * static_cast<double>(grid.nx), cy = uniform() * static_cast<double>(grid.ny),
                 cz = grid.nz > 1 ? uniform() * static_cast<double>(grid.nz) : 0;
    const float brightness = static_cast<float>(0.45 + 0.35 * uniform());
    const auto from = [&](double c) {
      return std::max<std::int64_t>(0, static_cast<std::int64_t>(c - radius));
    };
    const auto to = [&](double c, std::int64_t n) {
      return std::min(n, static_cast<std::int64_t>(c + radius) + 2);
    };
    for (std::int64_t z = from(cz); z < to(cz, grid.nz); ++z)
      for (std::int64_t y = from(cy); y < to(cy, grid.ny); ++y)
        for (std::int64_t x = from(cx); x < to(cx, grid.nx); ++x)
          if (std::hypot(static_cast<double>(x) - cx, static_cast<double>(y) - cy,
                         static_cast<double>(z) - cz) < radius)
            at(x, y, z) = brightness;
  }
  for (float& value : image.data)
    value += static_cast<float>(noise * std::sqrt(-2 * std::log(uniform())) *
                                std::cos(2 * 3.14159265358979323846 * uniform()));
  return image;
}

}  // namespace warploom::imaging
