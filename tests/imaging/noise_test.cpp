#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracle/phantom.hpp"
#include "warploom/core/error.hpp"
#include "warploom/imaging/mask.hpp"

namespace warploom::imaging {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(NoiseLevel, IsTheStandardDeviationInEveryChannel) {
  Image image(Grid{40, 40, 40}, 3);
  add_noise(image, 1, 1);
  for (float& value : image.channel(1)) value *= 0.15F;
  for (float& value : image.channel(2)) value = 1000 + 20 * value;
  const auto level = noise_level(image, {});
  ASSERT_EQ(level.size(), 3);
  EXPECT_NEAR(level[0], 1, 0.02);
  EXPECT_NEAR(level[1], 0.15, 0.003);
  EXPECT_NEAR(level[2], 20, 0.4);
}

TEST(NoiseLevel, DoesNotSeeAPlaneOrAnEdgeAlongAnAxis) {
  Image image(Grid{30, 30, 30}, 1);
  add_noise(image, 0.1, 2);
  for (std::size_t v = 0; v < image.data.size(); ++v)
    image.data[v] +=
        0.5F * float(v % 30) + float(v / 30 % 30) - 2 * float(v / 900) + (v % 30 > 12 ? 100.0F : 0.0F);
  EXPECT_NEAR(noise_level(image, {})[0], 0.1, 0.003);
}

TEST(NoiseLevel, OfAPhantomWithEdgesIsCloseToTheTruth) {
  TensorImage image = tensor_phantom(40);
  add_noise(image, 0.15, 3);
  for (const double level : noise_level(image, {})) EXPECT_NEAR(level, 0.15, 0.01);
}

TEST(NoiseLevel, OfASliceIsTheStandardDeviationToo) {
  Image image(Grid{150, 150, 1}, 1);
  add_noise(image, 3, 4);
  EXPECT_NEAR(noise_level(image, {})[0], 3, 0.08);
}

TEST(NoiseLevel, TakesOnlyBlocksInsideTheMask) {
  Image image(Grid{32, 32, 32}, 1);
  add_noise(image, 2, 5);
  Mask mask(image.data.size());
  for (std::size_t v = 0; v < mask.size(); ++v) {
    mask[v] = v % 32 < 16;
    if (mask[v] == 0) image.data[v] = v % 3 == 0 ? 1e6F : -1e6F;
  }
  EXPECT_NEAR(noise_level(image, mask)[0], 2, 0.06);
}

TEST(NoiseLevel, PassesOverBlocksThatAreNotFinite) {
  Image image(Grid{32, 32, 32}, 1);
  add_noise(image, 2, 6);
  for (std::size_t v = 0; v < image.data.size(); v += 97)
    image.data[v] = v % 2 ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  EXPECT_NEAR(noise_level(image, {})[0], 2, 0.08);
}

TEST(NoiseLevel, NeedsThirtyTwoBlocks) {
  Image image(Grid{33, 2, 2}, 1);  // 32 blocks
  add_noise(image, 1, 7);
  EXPECT_GT(noise_level(image, {})[0], 0.3);
  Mask mask(image.data.size(), 1);
  mask[0] = 0;
  EXPECT_THAT([&] { noise_level(image, mask); }, ThrowsMessage<BadInput>(HasSubstr("channel 0 has 31")));
}

}  // namespace
}  // namespace warploom::imaging
