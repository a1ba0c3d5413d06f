#include "warploom/imaging/mask.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "oracle/phantom.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"

namespace warploom::imaging {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// Calls set(x, y, z, value of the voxel) for every voxel.
template <class Set>
void for_voxels(Image& image, const Set& set) {
  const Grid& grid = image.grid;
  std::size_t voxel = 0;
  for (std::int64_t z = 0; z < grid.nz; ++z)
    for (std::int64_t y = 0; y < grid.ny; ++y)
      for (std::int64_t x = 0; x < grid.nx; ++x) set(x, y, z, image.data[voxel++]);
}

// The median filter and Otsu's threshold by their definitions, on whole numbers from 0 to 4095, where levels
// are values.
namespace mask_oracle {

std::vector<float> median_filtered(const Image& image) {
  const Grid& g = image.grid;
  const auto mirrored = [](std::int64_t p, std::int64_t n) {
    return p < 0 ? -1 - p : p >= n ? 2 * n - 1 - p : p;
  };
  Image result = image;
  for_voxels(result, [&](std::int64_t x, std::int64_t y, std::int64_t z, float& value) {
    std::vector<float> window;
    const std::int64_t rx = g.nx > 1 ? 2 : 0, ry = g.ny > 1 ? 2 : 0, rz = g.nz > 1 ? 2 : 0;
    for (std::int64_t dz = -rz; dz <= rz; ++dz)
      for (std::int64_t dy = -ry; dy <= ry; ++dy)
        for (std::int64_t dx = -rx; dx <= rx; ++dx)
          window.push_back(image.data[static_cast<std::size_t>(
              (mirrored(z + dz, g.nz) * g.ny + mirrored(y + dy, g.ny)) * g.nx + mirrored(x + dx, g.nx))]);
    std::sort(window.begin(), window.end());
    value = window[window.size() / 2];
  });
  return result.data;
}

// Foreground of the split with the least variance within the two classes.
Mask otsu(const std::vector<float>& values) {
  auto sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const auto count = double(sorted.size());
  double total = 0, total_squares = 0;
  for (const double v : sorted) total += v, total_squares += v * v;
  double sum = 0, squares = 0, best = std::numeric_limits<double>::infinity();
  float threshold = 0;
  for (std::size_t k = 0; k + 1 < sorted.size(); ++k) {
    const double v = sorted[k], below = double(k + 1);
    sum += v, squares += v * v;
    if (sorted[k] == sorted[k + 1]) continue;
    const double within = squares - sum * sum / below + (total_squares - squares) -
                          (total - sum) * (total - sum) / (count - below);
    if (within < best) best = within, threshold = sorted[k];
  }
  Mask mask;
  for (const float v : values) mask.push_back(v > threshold);
  return mask;
}

}  // namespace mask_oracle

// One ball with noise, in whole numbers; the range from 0 to 4095 is used.
Image noisy_ball(const Grid& grid) {
  Image image(grid, 1);
  add_noise(image, 250, 11);
  const auto centre = [](std::int64_t n) { return double(n - 1) / 2; };
  for_voxels(image, [&](std::int64_t x, std::int64_t y, std::int64_t z, float& value) {
    const double r =
        std::hypot(double(x) - centre(grid.nx), double(y) - centre(grid.ny), double(z) - centre(grid.nz));
    value = std::clamp(std::round(value + (r < 0.35 * double(grid.nx) ? 2200.0F : 900.0F)), 0.0F, 4095.0F);
  });
  image.data.front() = 0;
  image.data.back() = 4095;
  return image;
}

class MaskOfABall : public testing::TestWithParam<Grid> {};

TEST_P(MaskOfABall, IsTheThresholdOfTheMedians) {
  Image image = noisy_ball(GetParam());
  const Mask mask = automatic_mask(image);
  for (int pass = 0; pass < 2; ++pass) image.data = mask_oracle::median_filtered(image);
  EXPECT_EQ(mask, mask_oracle::otsu(image.data));  // one component without holes
  EXPECT_GT(std::count(mask.begin(), mask.end(), 1), 30);
}

INSTANTIATE_TEST_SUITE_P(Sizes, MaskOfABall,
                         testing::Values(Grid{20, 23, 19}, Grid{40, 37, 1}, Grid{18, 18, 2}, Grid{20, 20, 5}),
                         [](const auto& size) {
                           return std::to_string(size.param.nx) + "x" + std::to_string(size.param.ny) + "x" +
                                  std::to_string(size.param.nz);
                         });

TEST(AutomaticMask, KeepsTheLargestComponentAndFillsItsHoles) {
  Image image(Grid{40, 24, 24}, 1);
  Mask expected;
  for_voxels(image, [&](std::int64_t x, std::int64_t y, std::int64_t z, float& value) {
    const auto cube = [&](std::int64_t low, std::int64_t high) {
      return std::min({x, y, z}) >= low && std::max({x, y, z}) <= high;
    };
    const bool body = cube(3, 19), hole = cube(8, 14);
    const bool other = x >= 28 && x < 36 && y >= 4 && y < 14 && z >= 4 && z < 14;
    value = (body && !hole) || other ? 100 : 5;
    expected.push_back(body);
  });
  const Mask mask = automatic_mask(image);
  std::int64_t differing = 0;
  for (std::size_t v = 0; v < mask.size(); ++v) differing += mask[v] != expected[v];
  // The medians round off the edges of the cube and nothing else.
  EXPECT_LT(differing, 17 * 12 * 5);
  const auto at = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    return mask[static_cast<std::size_t>((z * 24 + y) * 40 + x)];
  };
  EXPECT_EQ(at(11, 11, 11), 1);
  EXPECT_EQ(at(3, 11, 11), 1);
  EXPECT_EQ(at(2, 11, 11), 0);
  EXPECT_EQ(at(32, 9, 9), 0);
}

TEST(AutomaticMask, OfASliceFillsHolesThatTheBorderDoesNotReach) {
  Image image(Grid{40, 40, 1}, 1);
  for_voxels(image, [&](std::int64_t x, std::int64_t y, std::int64_t, float& value) {
    const double r = std::hypot(double(x) - 20, double(y) - 20);
    value = r < 15 && r > 5 ? 1 : 0;
  });
  const Mask mask = automatic_mask(image);
  EXPECT_EQ(mask[20 * 40 + 20], 1);
  EXPECT_EQ(mask[20 * 40 + 10], 1);
  EXPECT_EQ(mask[1 * 40 + 1], 0);
}

TEST(AutomaticMask, IgnoresSingleVoxelsThatAreBrightOrNotFinite) {
  Image image = noisy_ball(Grid{24, 24, 24});
  const Mask mask = automatic_mask(image);
  const auto voxel = static_cast<std::size_t>((2 * 24 + 2) * 24 + 2);
  image.data[voxel] = 4095;
  image.data[voxel + 7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(automatic_mask(image), mask);
}

TEST(AutomaticMask, DoesNotDependOnTheUnitOfTheImage) {
  Image image = noisy_ball(Grid{24, 24, 24});
  const Mask mask = automatic_mask(image);
  for (float& value : image.data) value = 0.25F * value - 100;
  EXPECT_EQ(automatic_mask(image), mask);
}

TEST(AutomaticMask, DoesNotDependOnTheNumberOfThreads) {
  const Image image = noisy_ball(Grid{24, 24, 24});
  const RunScope one_thread({.threads = 1});
  const Mask mask = automatic_mask(image);
  const RunScope three_threads({.threads = 3});
  EXPECT_EQ(automatic_mask(image), mask);
}

TEST(AutomaticMask, RejectsAConstantImage) {
  Image image(Grid{8, 8, 8}, 1);
  EXPECT_THAT([&] { automatic_mask(image); }, ThrowsMessage<BadInput>(HasSubstr("the image is constant")));
  image.data[100] = 1;
  EXPECT_THAT([&] { automatic_mask(image); }, ThrowsMessage<BadInput>(HasSubstr("constant but for")));
  std::fill(image.data.begin(), image.data.end(), std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT([&] { automatic_mask(image); }, ThrowsMessage<BadInput>(HasSubstr("the image is constant")));
}

TEST(AutomaticMask, RejectsSeveralChannels) {
  EXPECT_THAT(
      [] {
        automatic_mask(Image(Grid{8, 8, 8}, 6));
      },
      ThrowsMessage<BadInput>(HasSubstr("this one has 6")));
}

}  // namespace
}  // namespace warploom::imaging
