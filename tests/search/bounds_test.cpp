// When a GPU's lower bounds pay, and what is told of it.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "search/bounds_choice.hpp"
#include "search/bounds_model.hpp"
#include "search/sum_bound.hpp"

namespace warploom::search {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(BoundsModel, TakesBoundsThatLeaveLessThanTheyCost) {
  // 10,000 instructions a matrix; 100 positions of 10 instructions are a tenth of them.
  constexpr double kMatrix = 10'000;
  const auto sample = [](std::int64_t left) {
    return BoundSample{.windows = 1000, .positions = 100'000, .left = left};
  };
  EXPECT_TRUE(bounds_pay(sample(0), kMatrix));
  EXPECT_TRUE(bounds_pay(sample(800), kMatrix));
  EXPECT_FALSE(bounds_pay(sample(830), kMatrix));
  EXPECT_FALSE(bounds_pay(sample(1000), kMatrix));
  EXPECT_FALSE(bounds_pay(sample(0), 900)) << "a matrix that costs less than its bounds";
  EXPECT_NEAR(cost_with_bounds(sample(500), kMatrix), 1000 + 1.1 * 5000, 1e-6);
}

TEST(Seeding, KeepsSeedsMoreThanTwoZonesApart) {
  std::mt19937_64 engine(1);
  int with_seeds = 0;
  for (int round = 0; round < 2000; ++round) {
    const auto any = [&](std::int64_t most) {
      return static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(most)) + 1;
    };
    const std::int64_t offsets = any(round % 2 == 0 ? 100'000 : 100'000'000), exclusion = any(3000) - 1,
                       limit = any(300), length = any(2000) + 1;
    const Seeding seeds =
        seeding(offsets, exclusion, limit, length, 3.2 * static_cast<double>(length * any(300)));
    if (seeds.groups == 0) continue;
    ++with_seeds;
    EXPECT_GE(seeds.groups, limit);
    EXPECT_LE(seeds.groups, kMostGroups);
    EXPECT_GT(seeds.stride - (kBoundWindows - 1), 2 * exclusion);
    EXPECT_LT((seeds.groups - 1) * seeds.stride, offsets) << "the last group has no offsets";
  }
  EXPECT_GT(with_seeds, 500);
}

TEST(Seeding, TakesAnyZoneAndLimit) {
  EXPECT_EQ(seeding(1000, kMost, 1, 50, 1e4).groups, 1);
  EXPECT_EQ(seeding(1000, kMost, 2, 50, 1e4).groups, 0);
  EXPECT_EQ(seeding(1000, 0, kMost, 50, 1e4).groups, 0);
  EXPECT_EQ(seeding(std::int64_t{1} << 31, 0, kMostGroups, 50, 1e4).groups, kMostGroups);
  EXPECT_EQ(seeding(1, 0, 1, 2, 1).groups, 1);
}

TEST(Seeding, CostsLittleOfWhatAllMatricesDo) {
  // As in a search of 10 million windows of 128 samples, radius 6 and 12.
  for (const double matrix : {5904., 10'700.}) {
    const Seeding seeds = seeding(10'000'000, 64, 100, 128, matrix);
    const double share = static_cast<double>(kBoundWindows) / static_cast<double>(seeds.stride);
    EXPECT_LE(share * 128 * kPositionCost, .051 * matrix);
    EXPECT_GE(seeds.groups, 4 * 100);
  }
}

TEST(Sampling, IsOfWindowsThatExist) {
  for (const std::int64_t windows : {1, 255, 256, 257, 1024, 1025, 5000, 60'000, 1'000'003, 100'000'000}) {
    const Sampling sample = sampling(windows);
    std::int64_t there = 0;
    for (std::int64_t g = 0; g < sample.groups; ++g) {
      ASSERT_LT(g * sample.stride, windows);
      there += std::min<std::int64_t>(kBoundWindows, windows - g * sample.stride);
    }
    EXPECT_EQ(sample.windows, there) << windows;
    EXPECT_GE(sample.stride, kBoundWindows);
    if (windows > 100'000) {
      EXPECT_LT(16 * sample.windows, windows + 16 * kBoundWindows);
    }
  }
}

TEST(SumBound, IsALittleAboveTheSumOfTheDistance) {
  for (const std::int64_t length : {2, 128, 8192})
    for (const float distance : {0.F, 1e-3F, .7F, 40.F}) {
      const double sum = double{distance} * distance * static_cast<double>(length);
      EXPECT_GE(sum_bound(distance, length), sum * (1 + 2e-7 * static_cast<double>(length)));
      EXPECT_LE(sum_bound(distance, length), sum * (1 + 4e-7 * static_cast<double>(length + 9)));
    }
  EXPECT_EQ(sum_bound(std::numeric_limits<float>::max(), 100), std::numeric_limits<float>::max());
}

TEST(BoundsChoice, SaysWhatWasChosenAndWhy) {
  EXPECT_EQ(BoundsChoice{.asked = Prune::never}.text(), "every matrix was computed, as was asked for");
  EXPECT_EQ(BoundsChoice{.too_little = true}.text(),
            "every matrix was computed, since all of them are less work than to try lower bounds");
  BoundsChoice choice{.pruned = 3, .windows = 1000, .left = 25};
  EXPECT_EQ(choice.text(), "lower bounds in 3 of 3 comparisons, of whose windows they left 2.5 %");
  choice.refused = 2;
  choice.sampled = 200;
  choice.sample_left = 180;
  choice.boundless = 1;
  const std::string text = choice.text();
  EXPECT_NE(text.find("lower bounds in 3 of 6 comparisons"), std::string::npos) << text;
  EXPECT_NE(
      text.find("none in 2, since they would cost more than they save: of samples of windows they left 90 %"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("none in 1, where no largest distance of candidates is given"), std::string::npos)
      << text;
  EXPECT_NE(
      (BoundsChoice{.refused = 1, .sampled = 4, .sample_left = 4}.text().find("every matrix was computed")),
      std::string::npos);
}

}  // namespace
}  // namespace warploom::search
