#include <algorithm>
#include <cmath>
#include <vector>

#include "imaging/segment_convex.hpp"

namespace warploom::imaging {

NoiseSample noise_sample(const Grid& grid) {
  constexpr std::int64_t kEnoughRows = 1 << 18;
  const auto firsts = [](std::int64_t extent) { return std::max<std::int64_t>(1, extent - 1); };
  const auto beyond = [](std::int64_t extent, std::int64_t stride) { return extent > 1 ? stride : 0; };
  NoiseSample out{.nx = grid.nx,
                  .ny = grid.ny,
                  .dx = beyond(grid.nx, 1),
                  .dy = beyond(grid.ny, grid.nx),
                  .dz = beyond(grid.nz, grid.nx * grid.ny),
                  .first_x = firsts(grid.nx),
                  .first_y = firsts(grid.ny),
                  .rows = firsts(grid.ny) * firsts(grid.nz),
                  .step = 1,
                  .axes = 0};
  for (const std::int64_t extent : {grid.nx, grid.ny, grid.nz}) out.axes += extent > 1 ? 1 : 0;
  // The standard error stays below a thousandth.
  out.step = std::max<std::int64_t>(1, out.rows * grid.nx / (4 * kEnoughRows));
  return out;
}

double noise_of(std::vector<float>& size, int axes) {
  constexpr std::int64_t kLeastBlocks = 32;
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

double finest_noise(const float* image, const Grid& grid, const Mask& mask) {
  const NoiseSample sample = noise_sample(grid);
  std::vector<float> size;
  for (std::int64_t block = 0; block < sample.count(); ++block)
    if (const float one = noise_difference(image, mask.empty() ? nullptr : mask.data(), sample, block);
        one >= 0)
      size.push_back(one);
  return noise_of(size, sample.axes);
}

}  // namespace warploom::imaging
