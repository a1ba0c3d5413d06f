#include "warploom/page/ticks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace warploom::page {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

std::vector<double> ticks(std::vector<double> values, double base, Scale::Ends ends, bool from_zero = false) {
  Scale scale(base, ends, base == 0 ? 5 : 9);
  for (const double value : values) scale.add(value);
  scale.close(from_zero);
  return scale.ticks();
}

TEST(RoundStep, IsOneTwoOrFiveTimesAPowerOfTen) {
  EXPECT_DOUBLE_EQ(round_step(5, 5), 1);
  EXPECT_DOUBLE_EQ(round_step(8, 5), 2);
  EXPECT_DOUBLE_EQ(round_step(20, 5), 5);
  EXPECT_DOUBLE_EQ(round_step(40, 5), 10);
  EXPECT_DOUBLE_EQ(round_step(0.003, 6), 0.0005);
}

TEST(LeastStep, GoesInAtMostSoOften) {
  EXPECT_EQ(least_step(9, 20), 1);
  EXPECT_EQ(least_step(20, 20), 1);
  EXPECT_EQ(least_step(21, 20), 2);
  EXPECT_EQ(least_step(100, 20), 5);
  EXPECT_EQ(least_step(101, 20), 10);
  EXPECT_EQ(least_step(8000, 20), 500);
}

TEST(Prefixed, CountsInThousandsAndIn1024s) {
  EXPECT_EQ(prefixed(0.5), "0.5");
  EXPECT_EQ(prefixed(999), "999");
  EXPECT_EQ(prefixed(4000), "4 k");
  EXPECT_EQ(prefixed(2.5e6), "2.5 M");
  EXPECT_EQ(prefixed(4e12), "4 T");
  EXPECT_EQ(prefixed(4096, true), "4 Ki");
  EXPECT_EQ(prefixed(1 << 20, true), "1 Mi");
}

TEST(Scale, EndsAtItsValuesAndHasTicksBetween) {
  Scale scale(0, Scale::Ends::values, 5);
  for (const double value : {3.0, 17.0}) scale.add(value);
  scale.close(false);
  EXPECT_DOUBLE_EQ(scale.at(3), 0);
  EXPECT_DOUBLE_EQ(scale.at(10), 0.5);
  EXPECT_DOUBLE_EQ(scale.at(17), 1);
  EXPECT_THAT(scale.ticks(), ElementsAre(4, 6, 8, 10, 12, 14, 16));
}

TEST(Scale, EndsAtTicksAndBeginsAtZeroIfAskedTo) {
  EXPECT_THAT(ticks({31, 49}, 0, Scale::Ends::ticks), ElementsAre(30, 35, 40, 45, 50));
  EXPECT_THAT(ticks({31, 49}, 0, Scale::Ends::ticks, true), ElementsAre(0, 10, 20, 30, 40, 50));
  EXPECT_THAT(ticks({-31, 47}, 0, Scale::Ends::ticks, true), ElementsAre(-40, -20, 0, 20, 40, 60));
}

TEST(Scale, EndsBeyondItsValuesButAtZero) {
  Scale scale(0, Scale::Ends::beyond, 4.5), from_zero = scale;
  for (Scale* one : {&scale, &from_zero})
    for (const double value : {1.0, 2.0}) one->add(value);
  scale.close(false);
  from_zero.close(true);
  EXPECT_DOUBLE_EQ(scale.at(0.96), 0);
  EXPECT_DOUBLE_EQ(scale.at(2.04), 1);
  EXPECT_DOUBLE_EQ(from_zero.at(0), 0);
  EXPECT_DOUBLE_EQ(from_zero.at(2.08), 1);
}

TEST(Scale, OfLogarithmsHasTicksAtPowers) {
  EXPECT_THAT(ticks({3, 500}, 10, Scale::Ends::ticks), Pointwise(DoubleNear(1e-9), {1, 10, 100, 1000}));
  EXPECT_THAT(ticks({16, 128}, 2, Scale::Ends::values), Pointwise(DoubleNear(1e-9), {16, 32, 64, 128}));
  EXPECT_EQ(ticks({1e-9, 1e9}, 10, Scale::Ends::ticks).size(), 11u);  // every other one, from 1e-10 on
  EXPECT_FALSE(Scale(10, Scale::Ends::ticks, 9).shows(0));
  EXPECT_FALSE(Scale(0, Scale::Ends::ticks, 5).shows(NAN));
}

TEST(Scale, OfOneValueOrNoneHasTicks) {
  for (const auto ends : {Scale::Ends::values, Scale::Ends::ticks, Scale::Ends::beyond})
    for (const std::vector<double>& values : {std::vector<double>{}, {0}, {5}, {-5}, {1e300}}) {
      const std::vector<double> found = ticks(values, 0, ends);
      EXPECT_GE(found.size(), 1u);
      EXPECT_LE(found.size(), 20u);
      for (const double tick : found) EXPECT_TRUE(std::isfinite(tick));
    }
}

TEST(Scale, OfValuesThatHardlyDifferComesToAnEnd) {
  EXPECT_LE(ticks({1e15, 1e15 + 1}, 0, Scale::Ends::ticks).size(), 20u);
}

}  // namespace
}  // namespace warploom::page
