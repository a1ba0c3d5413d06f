#pragma once

#include <cmath>
#include <cstdint>

#include "../oracle/phantom.hpp"
#include "warploom/imaging/image.hpp"

/// Images to segment, of which the truth is known.
namespace warploom::imaging {

struct SegmentPhantom {
  Image image;  ///< 1 inside, 0 outside, and noise
  Mask truth;
};

/// Two dimensions (nz = 1): a disk, a rectangle and an ellipse. Three: a ball and a box.
/// @param snr  what the object has over the background, in standard deviations of the noise; 0: no noise
inline SegmentPhantom segment_phantom(const Grid& grid, double snr, std::uint32_t seed = 1) {
  SegmentPhantom out{Image(grid, 1), {}};
  const auto share = [](std::int64_t i, std::int64_t n) {
    return (static_cast<double>(i) + 0.5) / static_cast<double>(n);
  };
  for (std::int64_t k = 0; k < grid.nz; ++k)
    for (std::int64_t j = 0; j < grid.ny; ++j)
      for (std::int64_t i = 0; i < grid.nx; ++i) {
        const double x = share(i, grid.nx), y = share(j, grid.ny), z = share(k, grid.nz);
        const bool inside = grid.nz == 1 ? std::hypot(x - 0.3, y - 0.35) < 0.19 ||
                                               (std::abs(x - 0.72) < 0.16 && std::abs(y - 0.6) < 0.22) ||
                                               std::hypot((x - 0.7) / 0.18, (y - 0.2) / 0.1) < 1
                                         : std::hypot(x - 0.36, y - 0.42, z - 0.46) < 0.26 ||
                                               (std::abs(x - 0.74) < 0.14 && std::abs(y - 0.6) < 0.25 &&
                                                std::abs(z - 0.5) < 0.3);
        out.truth.push_back(inside ? 1 : 0);
      }
  for (std::size_t v = 0; v < out.truth.size(); ++v) out.image.data[v] = out.truth[v];
  if (snr > 0) add_noise(out.image, 1 / snr, seed);
  return out;
}

/// A ball of radius 10 in the middle of 32 x 32 x nz voxels, round in the unit of the spacing along z; no
/// noise.
inline Image ball_in(const Grid& grid) {
  Image image(grid, 1);
  for (std::int64_t v = 0; v < grid.voxels(); ++v) {
    const double x = static_cast<double>(v % grid.nx) - 15.5,
                 y = static_cast<double>(v / grid.nx % grid.ny) - 15.5,
                 z = (static_cast<double>(v / grid.nx / grid.ny) - static_cast<double>(grid.nz - 1) / 2) *
                     grid.spacing[2];
    image.data[static_cast<std::size_t>(v)] = std::hypot(x, y, z) < 10 ? 1.0F : 0.0F;
  }
  return image;
}

}  // namespace warploom::imaging
