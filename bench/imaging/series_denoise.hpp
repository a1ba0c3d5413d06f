#pragma once

#include <cmath>
#include <cstdint>
#include <random>

#include "warploom/imaging/series_denoise.hpp"

/// A series of smooth single-fibre voxels whose direction turns, b = 0 and 1 ms/um^2, with noise of 1/25 of S0.
inline warploom::imaging::Image series_scene(const warploom::imaging::Grid& grid, int volumes) {
  warploom::imaging::Image image(grid, volumes);
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::size_t v = 0;
  for (int c = 0; c < volumes; ++c) {
    const double azimuth = 2.4 * c, height = 2.0 * (c + 0.5) / volumes - 1, radius = std::sqrt(1 - height * height);
    const double g[3] = {radius * std::cos(azimuth), radius * std::sin(azimuth), height}, b = c < 5 ? 0 : 1;
    for (std::int64_t z = 0; z < grid.nz; ++z)
      for (std::int64_t y = 0; y < grid.ny; ++y)
        for (std::int64_t x = 0; x < grid.nx; ++x, ++v) {
          const double angle = 0.05 * double(x) + 0.03 * double(y), lift = 0.04 * double(z);
          const double along = g[0] * std::cos(angle) * std::cos(lift) + g[1] * std::sin(angle) * std::cos(lift) +
                               g[2] * std::sin(lift);
          image.data[v] = static_cast<float>(1000 * std::exp(-b * (0.3 + 1.4 * along * along))) + 40 * normal(engine);
        }
  }
  return image;
}
