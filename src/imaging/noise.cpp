#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/imaging/mask.hpp"

namespace warploom::imaging {
namespace {

constexpr std::int64_t kLeastBlocks = 32;
constexpr double kNormalMedian = 0.67448975019608174;  // median of |N(0, 1)|

// The corners of a block of two voxels along every axis that has two, as offsets from its first voxel, with
// the sign that a difference along all those axes gives them.
struct Corner {
  std::size_t offset;
  int sign;
};
std::vector<Corner> block(const Grid& grid) {
  std::vector<Corner> corners{{0, 1}};
  std::int64_t stride = 1;
  for (const std::int64_t extent : {grid.nx, grid.ny, grid.nz}) {
    if (extent > 1)
      for (std::size_t k = 0, count = corners.size(); k < count; ++k)
        corners.push_back({corners[k].offset + static_cast<std::size_t>(stride), -corners[k].sign});
    stride *= extent;
  }
  return corners;
}

// |difference| of every block that is wholly inside.
std::vector<float> block_differences(std::span<const float> values, const Grid& grid, const Mask& mask,
                                     const std::vector<Corner>& corners) {
  std::vector<float> differences;
  const auto firsts = [](std::int64_t extent) { return std::max<std::int64_t>(1, extent - 1); };
  for (std::int64_t z = 0; z < firsts(grid.nz); ++z) {
    check_interrupt();
    for (std::int64_t y = 0; y < firsts(grid.ny); ++y)
      for (std::int64_t x = 0; x < firsts(grid.nx); ++x) {
        const auto first = static_cast<std::size_t>((z * grid.ny + y) * grid.nx + x);
        if (!std::all_of(corners.begin(), corners.end(),
                         [&](const Corner& corner) { return inside(mask, first + corner.offset); }))
          continue;
        float difference = 0;
        for (const auto& [offset, sign] : corners)
          difference += static_cast<float>(sign) * values[first + offset];
        if (std::isfinite(difference)) differences.push_back(std::abs(difference));
      }
  }
  return differences;
}

}  // namespace

std::vector<double> noise_level(const Image& image, const Mask& mask, const Run& run) {
  const RunScope scope(run);
  image.check();
  require_mask(mask, image.grid);
  const auto corners = block(image.grid);
  std::vector<double> level(static_cast<std::size_t>(image.channels));
  parallel_for(image.channels, [&](std::int64_t c) {
    auto differences = block_differences(image.channel(static_cast<int>(c)), image.grid, mask, corners);
    if (std::ssize(differences) < kLeastBlocks)
      throw BadInput(fmt::format(
          "the noise level needs {} blocks of {} neighbouring voxels inside the mask with finite values, "
          "channel {} has {}; give a larger mask, or `lambda` as a number",
          kLeastBlocks, corners.size(), c, differences.size()));
    level[static_cast<std::size_t>(c)] =
        median(differences) / (kNormalMedian * std::sqrt(static_cast<double>(corners.size())));
  });
  return level;
}

}  // namespace warploom::imaging
