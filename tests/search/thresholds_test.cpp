#include "search/thresholds.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "search/signals.hpp"

namespace warploom::search {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

TEST(NormalQuantile, IsThatOfTables) {
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-12);
  EXPECT_NEAR(normal_quantile(0.025), -1.959963984540054, 1e-12);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(normal_quantile(1e-9), -5.997807015007686, 1e-9);
  EXPECT_EQ(normal_quantile(1), std::numeric_limits<double>::infinity());
}

TEST(NormalQuantile, IsTheLeastNumberThatIsNotLessProbable) {
  const auto less = [](double x, double probability) {
    return std::erfc(-x / std::numbers::sqrt2) / 2 < probability;
  };
  for (const double probability : {1e-300, 1e-40, 1e-9, 0.003, 0.1, 0.31, 0.5, 0.77, 0.999, 1 - 1e-12}) {
    const double quantile = normal_quantile(probability);
    EXPECT_FALSE(less(quantile, probability)) << probability;
    EXPECT_TRUE(less(std::nextafter(quantile, -100), probability)) << probability;
  }
}

TEST(SignificantDistance, IsMedianAndDeviationOfTheLogarithms) {
  // Logarithms -2, -1, 0, 1, 3: median 0, absolute deviations 0, 1, 1, 2, 3, their median 1.
  std::vector<float> distances;
  for (double logarithm : {1.0, -2.0, 3.0, 0.0, -1.0})
    distances.push_back(static_cast<float>(std::exp(logarithm)));
  EXPECT_NEAR(significant_distance(distances, 0.025), std::exp(-1.959964 * 1.4826), 1e-6);
  EXPECT_NEAR(significant_distance(distances, 0.5), 1, 1e-6);
  EXPECT_EQ(significant_distance(distances, 1), std::numeric_limits<double>::infinity());
}

TEST(SignificantDistance, HasItsShareBelowItOfLogNormalDistances) {
  std::mt19937 engine(1);
  std::lognormal_distribution<double> distribution(-1, 0.4);
  std::vector<float> distances;
  for (int k = 0; k < 100'000; ++k) distances.push_back(static_cast<float>(distribution(engine)));
  const double threshold = significant_distance(distances, 0.01);
  const auto below =
      std::count_if(distances.begin(), distances.end(), [&](float d) { return d < threshold; });
  EXPECT_NEAR(static_cast<double>(below), 1000, 150);
}

TEST(SignificantDistance, IsNotMovedByAFewLikenesses) {
  std::mt19937 engine(2);
  std::lognormal_distribution<double> distribution(0, 0.2);
  std::vector<float> distances;
  for (int k = 0; k < 1000; ++k) distances.push_back(static_cast<float>(distribution(engine)));
  const double before = significant_distance(distances, 0.001);
  for (int k = 0; k < 20; ++k) distances[k] = 0;
  EXPECT_NEAR(significant_distance(distances, 0.001), before, 0.05 * before);
}

TEST(SignificantDistance, OfNothingAcceptsNothing) { EXPECT_EQ(significant_distance({}, 0.05), 0); }

TEST(SampleWindows, AreAllWhereThereAreFew) {
  const std::vector<float> channel = random_walk(20, 1);
  const Signal signal = {channel};
  EXPECT_THAT(SampleWindows(signal, Normalization::z, {17}).of(0, 17), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(SampleWindows(signal, Normalization::z, {21}).of(0, 21), IsEmpty());
}

TEST(SampleWindows, AreEvenlySpacedAmongThoseWithoutMissingSamples) {
  std::vector<float> channel = random_walk(10'000, 2);
  for (int i = 3000; i < 7000; ++i) channel[i] = kMissing;
  const Signal signal = {channel};
  const SampleWindows windows(signal, Normalization::z, {100});
  const std::vector<std::int64_t>& offsets = windows.of(0, 100);
  ASSERT_THAT(offsets, SizeIs(1024));
  const double step = 2.0 * (3000 - 99) / 1024;
  for (std::size_t k = 0; k < offsets.size(); ++k) {
    EXPECT_TRUE(offsets[k] + 100 <= 3000 || offsets[k] >= 7000) << offsets[k];
    const double number = static_cast<double>(offsets[k] < 3000 ? offsets[k] : offsets[k] - 7000 + 3000 - 99);
    EXPECT_NEAR(number, static_cast<double>(k) * step, 1);
  }
}

TEST(SampleWindows, LeaveOutConstantOnesWhereTheyAreNormalised) {
  std::vector<float> channel = random_walk(100, 3);
  for (int i = 50; i < 100; ++i) channel[i] = 1;
  const Signal signal = {channel};
  EXPECT_THAT(SampleWindows(signal, Normalization::z, {10}).of(0, 10), SizeIs(50));
  EXPECT_THAT(SampleWindows(signal, Normalization::none, {10}).of(0, 10), SizeIs(91));
}

}  // namespace
}  // namespace warploom::search
