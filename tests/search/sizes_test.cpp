#include "search/sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace warploom::search {
namespace {

using testing::ElementsAre;
using testing::FloatNear;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Of mean `mean` and deviation `deviation`.
std::vector<float> wave(float mean, float deviation) {
  return {mean - deviation, mean + deviation, mean - deviation, mean + deviation};
}

float factor_of(const Sizes& sizes, const std::vector<float>& window) {
  const WindowMoments all = window_moments(window, std::ssize(window), 0, 1);
  return sizes.factor(all.mean[0], all.rest[0], all.scale[0]);
}

TEST(Sizes, AWindowOfTheSameSizeAndLevelIsNoFarther) {
  EXPECT_FLOAT_EQ(factor_of({wave(3, 2), 5}, wave(3, 2)), 1);
}

TEST(Sizes, TwiceAndHalfTheSizeAreAsFar) {
  const Sizes sizes(wave(3, 2), 5);
  EXPECT_FLOAT_EQ(factor_of(sizes, wave(3, 4)), std::sqrt(1.25F));
  EXPECT_FLOAT_EQ(factor_of(sizes, wave(3, 1)), std::sqrt(1.25F));
}

TEST(Sizes, ALevelCountsBesideTheDeviationsOfTheWindowsAndOfTheChannel) {
  EXPECT_FLOAT_EQ(factor_of({wave(0, 2), 0}, wave(6, 2)), std::pow(1 + 36 / 8.F, 0.25F));
  EXPECT_FLOAT_EQ(factor_of({wave(0, 2), 10}, wave(6, 2)), std::pow(1 + 36 / 108.F, 0.25F));
}

TEST(Sizes, OfALargeLevelNoDigitsAreLost) {
  EXPECT_NEAR(factor_of({wave(1e6F, 2), 2}, wave(1e6F + 3, 2)), std::pow(1 + 9 / 12.0, 0.25), 1e-5);
}

TEST(Sizes, WindowsThatAreConstantOrMissASampleHaveAFactor) {
  const Sizes sizes(wave(0, 2), 5);
  EXPECT_FLOAT_EQ(factor_of(sizes, {0, 0, 0, 0}), 32);
  EXPECT_FLOAT_EQ(factor_of(sizes, {0, kNaN, 0, 0}), 1);
}

TEST(Sizes, ASpreadIsOfTheSamplesThatAreThere) {
  EXPECT_DOUBLE_EQ(spread_of(std::vector<float>{1, kNaN, 5, 1, 5, kNaN}), 2);
  EXPECT_EQ(spread_of(std::vector<float>{kNaN}), 0);
}

TEST(GeometricMean, OfManyChannelsIsNeitherZeroNorInfinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  GeometricMean mean;
  for (int c = 0; c < 100; ++c)
    mean.add(std::vector<float>{0, 0.5F, c % 2 == 0 ? 2.F : 8.F, 1e6F, infinity},
             [](std::size_t k) { return k == 1 ? 3.F : 1.F; });
  EXPECT_THAT(std::move(mean).values(), ElementsAre(FloatNear(1e-7F, 1e-12F), FloatNear(1.5F, 1e-5F),
                                                    FloatNear(4, 1e-4F), FloatNear(1e6F, 10), infinity));
}

}  // namespace
}  // namespace warploom::search
