#include "dp/visibility.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "child.hpp"
#include "dp/orientation.hpp"
#include "oracle/lattice_polygon.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"

namespace warploom::dp {
namespace {

using oracle::LatticePolygon;
using testing::HasSubstr;

TEST(Orientation, IsExactNextToALine) {
  // b and c lie on y = x, so that a turns left exactly if it lies above that line. Source of the example:
  // Kettner et al., Computational Geometry 40, 2008, where rounding gets many of these wrong.
  const double step = std::ldexp(1, -53);
  const Point b{12, 12}, c{24, 24};
  for (int i = 0; i < 256; ++i)
    for (int j = 0; j < 256; ++j) {
      const Point a{0.5 + i * step, 0.5 + j * step};
      ASSERT_EQ(orientation(a, b, c), j > i ? 1 : j < i ? -1 : 0) << i << ' ' << j;
      ASSERT_EQ(orientation(c, b, a), j > i ? -1 : j < i ? 1 : 0) << i << ' ' << j;
    }
}

TEST(Orientation, IsExactAtTheEndsOfItsRange) {
  const double large = 1e100, small = 1e-100;
  EXPECT_EQ(orientation({large, large}, {0, 0}, {small, small}), 0);
  EXPECT_EQ(orientation({large, large}, {0, 0}, {small, std::nextafter(small, 1)}), -1);
  EXPECT_EQ(orientation({large, large}, {0, 0}, {std::nextafter(small, 1), small}), 1);
  EXPECT_EQ(orientation({large, std::nextafter(large, 2 * large)}, {small, small}, {-large, -large}), -1);
  EXPECT_EQ(orientation({-large, -large}, {small, 2 * small}, {large, large}), -1);
}

std::vector<LatticePolygon> awkward_polygons() {
  std::vector<LatticePolygon> all;
  LatticePolygon comb;  // teeth side by side, all their tips on one line
  for (int tooth = 0; tooth < 12; ++tooth)
    comb.insert(comb.end(), {{4 * tooth, 1}, {4 * tooth + 1, 9}, {4 * tooth + 2, 9}, {4 * tooth + 3, 1}});
  comb.insert(comb.end(), {{48, 0}, {-1, 0}});
  all.push_back(comb);
  LatticePolygon spiral, back;  // a corridor, wound four times around
  for (int k = 0; k <= 32; ++k) {
    const double angle = std::acos(-1.0) * k / 4, radius = 1000 - 20 * k;
    for (const auto& [wall, r] : {std::pair(&spiral, radius), std::pair(&back, radius - 90)})
      wall->push_back({std::llround(r * std::cos(angle)), std::llround(r * std::sin(angle))});
  }
  spiral.insert(spiral.end(), back.rbegin(), back.rend());
  all.push_back(spiral);
  LatticePolygon square;  // sides cut into many collinear ones
  for (int k = 0; k < 8; ++k) square.push_back({k, 0});
  for (int k = 0; k < 8; ++k) square.push_back({8, k});
  for (int k = 8; k > 0; --k) square.push_back({k, 8});
  for (int k = 8; k > 0; --k) square.push_back({0, k});
  all.push_back(square);
  all.push_back({{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {0, 9}});  // a triangle
  LatticePolygon star;                                              // tips and notches
  for (int k = 0; k < 40; ++k) {
    const double angle = std::acos(-1.0) * k / 20, radius = k % 2 == 0 ? 1000 : 200;
    star.push_back({std::llround(radius * std::cos(angle)), std::llround(radius * std::sin(angle))});
  }
  all.push_back(star);
  return all;
}

void expect_the_oracles_diagonals(const LatticePolygon& polygon) {
  const Visibility visibility(points_of(polygon));
  for (std::int32_t i = 0; i < std::ssize(polygon); ++i) {
    std::vector<std::int32_t> wanted, got = visibility.from(i);
    for (std::int32_t j = 0; j < std::ssize(polygon); ++j)
      if (oracle::is_diagonal(polygon, i, j)) wanted.push_back(j);
    std::ranges::sort(got);
    ASSERT_EQ(got, wanted) << "from vertex " << i << " of " << polygon.size();
  }
}

TEST(Visibility, FindsTheDiagonalsOfAwkwardPolygons) {
  for (LatticePolygon polygon : awkward_polygons()) {
    ASSERT_TRUE(oracle::is_simple(polygon));
    EXPECT_NO_THROW(check_simple(points_of(polygon)));
    expect_the_oracles_diagonals(polygon);
    std::ranges::reverse(polygon);
    expect_the_oracles_diagonals(polygon);
  }
}

TEST(Visibility, FindsTheDiagonalsOfRandomPolygons) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const int vertices = 3 + static_cast<int>(seed % 40);
    // Small grids: many vertices on common lines.
    SCOPED_TRACE(seed);
    expect_the_oracles_diagonals(
        oracle::random_polygon(vertices, seed % 2 == 0 ? 1000 : 8 + vertices / 3, seed));
  }
}

TEST(Visibility, FindsTheDiagonalsOfALongPolygon) {
  expect_the_oracles_diagonals(oracle::random_polygon(150, 1 << 20, 7));
}

TEST(SimplePolygon, IsToldFromOthersAsTheOracleDoes) {
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    LatticePolygon polygon = oracle::random_polygon(5 + static_cast<int>(seed % 9), 9, seed);
    std::swap(polygon[seed % polygon.size()], polygon[seed / 3 % polygon.size()]);
    const std::string message = message_of([&] { check_simple(points_of(polygon)); });
    EXPECT_EQ(message == "(no error)", oracle::is_simple(polygon)) << seed << message;
    refused += message == "(no error)" ? 0 : 1;
  }
  EXPECT_GT(refused, 200);
  EXPECT_LT(refused, 550);
}

TEST(SimplePolygon, NamesTheSidesThatMeet) {
  EXPECT_THAT(message_of([] {
                check_simple(std::vector<Point>{{0, 0}, {2, 2}, {2, 0}, {0, 2}});
              }),
              HasSubstr("polygon: its sides 0-1 and 2-3 meet"));
  EXPECT_THAT(message_of([] {
                check_simple(std::vector<Point>{{0, 0}, {4, 0}, {4, 4}, {2, 0}, {0, 4}});
              }),
              HasSubstr("its sides 0-1 and 2-3 meet"));
  EXPECT_THAT(message_of([] {
                check_simple(std::vector<Point>{{0, 0}, {4, 0}, {2, 0}, {2, 4}});
              }),
              HasSubstr("its sides 0-1 and 1-2 meet"));
  EXPECT_THAT(message_of([] {
                check_simple(std::vector<Point>{{0, 0}, {1, 1}, {2, 2}});
              }),
              HasSubstr("meet"));
}

TEST(SimplePolygon, NamesVerticesThatAreEqual) {
  EXPECT_EQ(message_of([] {
              check_simple(std::vector<Point>{{0, 0}, {3, 0}, {3, 4}, {1, 2}, {3, 0}});
            }),
            "polygon: vertices 1 and 4 are both (3, 0)");
  EXPECT_THAT(message_of([] {
                check_simple(std::vector<Point>{{0, 0}, {3, 0}, {3, 4}, {0, 0}});
              }),
              HasSubstr("vertices 0 and 3 are both (0, 0); leave the last one out"));
}

TEST(Visibility, StopsWhenItIsInterrupted) {
  const std::vector<Point> square{{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  std::atomic<bool> stop = true;
  const RunScope scope({.stop = &stop});
  EXPECT_THROW(Visibility{square}, Interrupted);
}

TEST(StrictlyConvex, IsOneTurnWithoutStraightVertices) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    LatticePolygon polygon = oracle::random_convex_polygon(12, 100, seed);
    ASSERT_GE(polygon.size(), 3u);
    if (seed % 2 == 1) std::ranges::reverse(polygon);
    EXPECT_TRUE(strictly_convex(points_of(polygon))) << seed;
    EXPECT_EQ(strictly_convex(points_of(oracle::random_polygon(8, 30, seed))), [&] {
      const LatticePolygon p = oracle::random_polygon(8, 30, seed);
      for (std::int64_t i = 0; i < 8; ++i)
        for (std::int64_t j = i + 2; j < 8 - (i == 0 ? 1 : 0); ++j)
          if (!oracle::is_diagonal(p, i, j)) return false;
      return true;
    }()) << seed;
  }
  EXPECT_FALSE(strictly_convex(std::vector<Point>{{0, 0}, {1, 0}, {2, 0}, {1, 1}}));
  // All turns to the left, but twice around.
  EXPECT_FALSE(strictly_convex(std::vector<Point>{{0, 10}, {-6, -8}, {9, 3}, {-9, 3}, {6, -8}}));
}

}  // namespace
}  // namespace warploom::dp
