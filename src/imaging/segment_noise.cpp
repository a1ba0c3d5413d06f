#include <algorithm>
#include <cmath>
#include <vector>

#include "imaging/segment_convex.hpp"
#include "imaging/voxels.hpp"

namespace warploom::imaging {

double finest_noise(const float* image, const Grid& grid, const Mask& mask) {
  // Differences over blocks of two voxels along every axis: what is smooth along one of them gives 0.
  constexpr std::int64_t kEnoughRows = 1 << 18, kLeastBlocks = 32;
  const auto firsts = [](std::int64_t extent) { return std::max<std::int64_t>(1, extent - 1); };
  const auto beyond = [](std::int64_t extent, std::int64_t stride) { return extent > 1 ? stride : 0; };
  const std::int64_t dx = beyond(grid.nx, 1), dy = beyond(grid.ny, grid.nx),
                     dz = beyond(grid.nz, grid.nx * grid.ny);
  int axes = 0;
  for (const std::int64_t extent : {grid.nx, grid.ny, grid.nz}) axes += extent > 1 ? 1 : 0;

  const std::int64_t rows = firsts(grid.ny) * firsts(grid.nz);
  // Of a large image every so manieth row will do: the standard error stays below a thousandth.
  const std::int64_t step = std::max<std::int64_t>(1, rows * grid.nx / (4 * kEnoughRows));
  std::vector<float> size;
  for (std::int64_t row = 0; row < rows; row += step) {
    const std::int64_t at = (row / firsts(grid.ny) * grid.ny + row % firsts(grid.ny)) * grid.nx;
    for (std::int64_t i = at; i < at + firsts(grid.nx); ++i) {
      float sum = 0;
      bool counts = true;
      for (int corner = 0; corner < 8; ++corner) {
        const bool x = (corner & 1) != 0, y = (corner & 2) != 0, z = (corner & 4) != 0;
        if ((x && dx == 0) || (y && dy == 0) || (z && dz == 0)) continue;
        const auto voxel = static_cast<std::size_t>(i + (x ? dx : 0) + (y ? dy : 0) + (z ? dz : 0));
        counts = counts && inside(mask, voxel);
        sum += (int{x} + int{y} + int{z}) % 2 != 0 ? -image[voxel] : image[voxel];
      }
      if (counts) size.push_back(std::abs(sum));
    }
  }
  if (std::ssize(size) < kLeastBlocks) return 0;
  // The median, or, where half of the image and more has no noise (a background that was cut off), the next
  // larger share that tells. The second number: below it is that share of |N(0, 1)|.
  constexpr double kShares[][2] = {{0.5, 0.67448975}, {0.75, 1.15034938}, {0.9, 1.64485363}};
  for (const auto& [share, quantile] : kShares) {
    const auto at = size.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(size.size()));
    std::nth_element(size.begin(), at, size.end());
    // What is less than that is how the scaling to 0 to 1 rounds.
    if (*at > 1e-6F) return double(*at) / quantile / std::sqrt(std::exp2(axes));
  }
  return 0;
}

}  // namespace warploom::imaging
