#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "warploom/core/error.hpp"
#include "warploom/imaging/contour.hpp"

namespace warploom::imaging {
namespace {

std::vector<float> plane(std::int64_t nx, std::int64_t ny, auto value) {
  std::vector<float> out;
  for (std::int64_t y = 0; y < ny; ++y)
    for (std::int64_t x = 0; x < nx; ++x)
      out.push_back(static_cast<float>(value(static_cast<double>(x), static_cast<double>(y))));
  return out;
}

// Above 0 where the inside is on the right, with y downwards.
double signed_area(const Contour& line) {
  double sum = 0;
  for (std::size_t k = 0; k < line.points.size(); ++k) {
    const auto &p = line.points[k], &q = line.points[(k + 1) % line.points.size()];
    sum += p[0] * q[1] - q[0] * p[1];
  }
  return sum / 2;
}

TEST(Contour, ACircleIsFoundToAFractionOfAPixel) {
  const auto lines = zero_contours(
      plane(60, 50, [](double x, double y) { return 17.3 - std::hypot(x - 30.2, y - 24.6); }), 60, 50);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].closed);
  for (const auto& [x, y] : lines[0].points) EXPECT_NEAR(std::hypot(x - 30.2, y - 24.6), 17.3, 0.02);
  EXPECT_NEAR(signed_area(lines[0]), std::numbers::pi * 17.3 * 17.3, 2);
}

TEST(Contour, AHoleRunsTheOtherWayRound) {
  const auto lines = zero_contours(plane(61, 61,
                                         [](double x, double y) {
                                           const double r = std::hypot(x - 30, y - 30);
                                           return std::min(25.5 - r, r - 10.5);
                                         }),
                                   61, 61);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NEAR(signed_area(lines[0]), std::numbers::pi * 25.5 * 25.5, 5);
  EXPECT_NEAR(signed_area(lines[1]), -std::numbers::pi * 10.5 * 10.5, 5);
}

TEST(Contour, ALineThatLeavesTheImageIsOpen) {
  const auto lines = zero_contours(plane(9, 6, [](double x, double) { return x - 3.25; }), 9, 6);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_FALSE(lines[0].closed);
  ASSERT_EQ(lines[0].points.size(), 6u);
  for (const auto& [x, y] : lines[0].points) EXPECT_DOUBLE_EQ(x, 3.25);
  EXPECT_DOUBLE_EQ(lines[0].points.front()[1], 5);  // upwards: inside, at larger x, is on the right
  EXPECT_DOUBLE_EQ(lines[0].points.back()[1], 0);
}

TEST(Contour, TheMeanOfFourPixelsJoinsOrParts) {
  const auto joined = zero_contours(std::vector<float>{3, -1, -1, 3}, 2, 2);
  const auto parted = zero_contours(std::vector<float>{1, -3, -3, 1}, 2, 2);
  ASSERT_EQ(joined.size(), 2u);
  ASSERT_EQ(parted.size(), 2u);
  // Crossings at the upper edge: with the right one if the outside corner there is cut off, else with the
  // left.
  EXPECT_EQ(joined[0].points, (std::vector<std::array<double, 2>>{{0.75, 0}, {1, 0.25}}));
  EXPECT_EQ(joined[1].points, (std::vector<std::array<double, 2>>{{0.25, 1}, {0, 0.75}}));
  EXPECT_EQ(parted[0].points, (std::vector<std::array<double, 2>>{{0.25, 0}, {0, 0.25}}));
  EXPECT_EQ(parted[1].points, (std::vector<std::array<double, 2>>{{0.75, 1}, {1, 0.75}}));
}

TEST(Contour, OfOneSideThereIsNone) {
  EXPECT_TRUE(zero_contours(std::vector<float>(12, 1.0F), 4, 3).empty());
  EXPECT_TRUE(zero_contours(std::vector<float>(12, 0.0F), 4, 3).empty());
}

TEST(Contour, SizesMustAgree) { EXPECT_THROW(zero_contours(std::vector<float>(11), 4, 3), BadInput); }

}  // namespace
}  // namespace warploom::imaging
