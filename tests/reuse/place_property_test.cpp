// `place` against the oracles on random problems. WARPLOOM_PLACEMENT_GRAPHS says how many.
#include <gtest/gtest.h>

#include <algorithm>

#include "oracle/placement.hpp"
#include "warploom/reuse/place.hpp"

namespace warploom::reuse {
namespace {

using oracle::Sizes;

constexpr Sizes kSizes[] = {Sizes::bytes, Sizes::words, Sizes::arrays, Sizes::padded};

PlacementProblem random_problem(std::mt19937_64& random, std::uint32_t least, std::uint32_t most) {
  const auto n = static_cast<std::uint32_t>(least + random() % (most - least + 1));
  const Sizes sizes = kSizes[random() % 4];
  const auto percent = static_cast<unsigned>(10 + random() % 41);
  switch (random() % 4) {
    case 0:
      return oracle::random_intervals(random, std::min(n, 10u), sizes);  // dense: more is slow to check
    case 1:
      return oracle::random_disconnected(random, n, percent + 30, sizes);
    default:
      return oracle::random_graph(random, n, n <= 8 ? 2 * percent : percent, sizes);
  }
}

TEST(PlacementProperty, OptimalEqualsTheBestOrderUpToEightObjects) {
  std::mt19937_64 random(1);
  for (int k = 0; k < WARPLOOM_PLACEMENT_GRAPHS / 2; ++k) {
    const PlacementProblem problem = random_problem(random, 1, 8);
    const Placement placement = place(problem);
    ASSERT_EQ(oracle::fault(problem, placement), "") << "problem " << k;
    ASSERT_TRUE(placement.proved_optimal) << "problem " << k;
    ASSERT_EQ(placement.bytes, oracle::fewest_bytes_by_orders(problem)) << "problem " << k;
    ASSERT_EQ(placement.lower_bound, placement.bytes) << "problem " << k;
  }
}

TEST(PlacementProperty, OptimalEqualsTheBestOrientationUpToSixteenObjects) {
  std::mt19937_64 random(2);
  for (int k = 0; k < WARPLOOM_PLACEMENT_GRAPHS / 2; ++k) {
    const PlacementProblem problem = random_problem(random, 8, 16);
    const Placement placement =
        place(problem, {.method = PlacementMethod::optimal, .time_limit = std::chrono::minutes(5)});
    ASSERT_EQ(oracle::fault(problem, placement), "") << "problem " << k;
    ASSERT_TRUE(placement.proved_optimal) << "problem " << k;
    ASSERT_EQ(placement.bytes, oracle::fewest_bytes_by_orientations(problem)) << "problem " << k;
  }
}

TEST(PlacementProperty, TheTwoOraclesAgree) {
  std::mt19937_64 random(3);
  for (int k = 0; k < 200; ++k) {
    const PlacementProblem problem = random_problem(random, 1, 7);
    ASSERT_EQ(oracle::fewest_bytes_by_orders(problem), oracle::fewest_bytes_by_orientations(problem));
  }
}

TEST(PlacementProperty, EveryMethodIsValidAndNoneIsBelowTheOptimum) {
  std::mt19937_64 random(4);
  for (int k = 0; k < WARPLOOM_PLACEMENT_GRAPHS / 2; ++k) {
    const PlacementProblem problem = random_problem(random, 1, 10);
    const Placement optimal = place(problem);
    for (const PlacementMethod method : {PlacementMethod::paper, PlacementMethod::greedy}) {
      const Placement placement = place(problem, {.method = method});
      ASSERT_EQ(oracle::fault(problem, placement), "") << name(method) << " on problem " << k;
      ASSERT_GE(placement.bytes, optimal.bytes) << name(method) << " on problem " << k;
      ASSERT_LE(placement.lower_bound, optimal.bytes) << name(method) << " on problem " << k;
      ASSERT_TRUE(!placement.proved_optimal || placement.bytes == optimal.bytes);
    }
  }
}

TEST(PlacementProperty, GreedyIsWithinOnePercentOnIntervalGraphsOfEightToTwelveObjects) {
  std::mt19937_64 random(5);
  for (const Sizes sizes : {Sizes::words, Sizes::arrays}) {
    double ratios = 0, worst = 1;
    for (int k = 0; k < 1000; ++k) {
      const PlacementProblem problem = oracle::random_intervals(random, 8 + k % 5, sizes);
      const double ratio =
          double(place(problem, {.method = PlacementMethod::greedy}).bytes) / double(place(problem).bytes);
      ratios += ratio;
      worst = std::max(worst, ratio);
    }
    RecordProperty(sizes == Sizes::words ? "worst_words" : "worst_arrays", std::to_string(worst));
    EXPECT_LE(ratios / 1000, 1.01) << "worst " << worst;
  }
}

TEST(PlacementProperty, FortyObjectsWithOneAlignmentAreUsuallyProvedWithinTheSecond) {
  std::mt19937_64 random(6);
  int proved = 0;
  for (int k = 0; k < 20; ++k) {
    const PlacementProblem problem = oracle::random_intervals(random, 40, Sizes::words);
    const Placement placement = place(problem);
    ASSERT_EQ(oracle::fault(problem, placement), "");
    EXPECT_NE(placement.proved_optimal, placement.timed_out);
    proved += placement.proved_optimal;
  }
  EXPECT_GE(proved, 16);
}

}  // namespace
}  // namespace warploom::reuse
