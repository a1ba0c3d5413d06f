#include "warploom/dp/polygon.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "child.hpp"
#include "oracle/lattice_polygon.hpp"

namespace warploom::dp {
namespace {

using oracle::LatticePoint;
using oracle::LatticePolygon;
using testing::HasSubstr;

double length(const Point& a, const Point& b) { return std::hypot(a.x - b.x, a.y - b.y); }

std::vector<Point> regular(int vertices, double radius = 1) {
  std::vector<Point> points;
  for (int k = 0; k < vertices; ++k) {
    const double angle = 2 * std::acos(-1.0) * k / vertices + 0.1;
    points.push_back({radius * std::cos(angle), radius * std::sin(angle)});
  }
  return points;
}

/// That the triangles cover the polygon, each once, and the diagonals are theirs.
void expect_a_triangulation(const LatticePolygon& polygon, const Triangulation& t) {
  const std::int64_t n = std::ssize(polygon);
  ASSERT_EQ(std::ssize(t.triangles), n - 2);
  ASSERT_EQ(std::ssize(t.diagonals), n - 3);
  std::int64_t area = 0;
  const bool counter_clockwise = oracle::doubled_area(polygon) > 0;
  for (const auto& [i, k, j] : t.triangles) {
    ASSERT_TRUE(0 <= i && i < k && k < j && j < n);
    const LatticePoint corners[] = {polygon[i], polygon[k], polygon[j]};
    const std::int64_t part = oracle::doubled_area(corners);
    EXPECT_EQ(part > 0, counter_clockwise);
    EXPECT_NE(part, 0);
    area += part;
  }
  EXPECT_EQ(area, oracle::doubled_area(polygon));
  double weight = 0;
  const std::vector<Point> points = points_of(polygon);
  for (const auto& [i, j] : t.diagonals) {
    EXPECT_TRUE(i < j && oracle::is_diagonal(polygon, i, j)) << i << ' ' << j;
    weight += length(points[i], points[j]);
  }
  const double unit = t.type == ValueType::float32 ? 0x1p-24 : 0x1p-53;
  EXPECT_NEAR(t.weight, weight, 2 * static_cast<double>(n) * unit * weight);
}

TEST(Polygon, WeighsTheLeastOfAllTriangulations) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const int vertices = 3 + static_cast<int>(seed % 8);
    const LatticePolygon polygon = oracle::random_polygon(vertices, seed % 2 == 0 ? 1000 : 7, seed);
    const Triangulation t = triangulate(points_of(polygon));
    expect_a_triangulation(polygon, t);
    const double wanted = oracle::least_weight(polygon);
    EXPECT_NEAR(t.weight, wanted, 2 * vertices * 0x1p-53 * wanted);
  }
}

TEST(Polygon, WeighsTheLeastOfAllConvexTriangulations) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const LatticePolygon polygon = oracle::random_convex_polygon(12, 1000, seed);
    if (polygon.size() > 10) continue;
    const Triangulation t = triangulate(points_of(polygon));
    EXPECT_TRUE(t.convex);
    expect_a_triangulation(polygon, t);
    EXPECT_NEAR(t.weight, oracle::least_weight(polygon), 1e-12 * t.weight);
  }
}

TEST(Polygon, RegularPolygonsHaveTheirKnownWeights) {
  const double root2 = std::sqrt(2.0), root3 = std::sqrt(3.0), golden = (1 + std::sqrt(5.0)) / 2;
  const auto chord = [](int steps, int of) { return 2 * std::sin(std::acos(-1.0) * steps / of); };
  EXPECT_EQ(triangulate(regular(3)).weight, 0);
  EXPECT_NEAR(triangulate(regular(4)).weight, 2, 1e-14);
  EXPECT_NEAR(triangulate(regular(4)).perimeter, 4 * root2, 1e-14);
  EXPECT_NEAR(triangulate(regular(5)).weight, 2 * golden * chord(1, 5), 1e-14);
  EXPECT_NEAR(triangulate(regular(6)).weight, 3 * root3, 1e-14);  // an equilateral triangle inside
  EXPECT_NEAR(triangulate(regular(6)).perimeters(), 6 + 6 * root3, 1e-14);
  EXPECT_NEAR(triangulate(regular(8)).weight, 4 * root2 + 2, 1e-14);  // a square inside, with a diagonal
  EXPECT_NEAR(triangulate(regular(12)).weight, 6 * chord(2, 12) + 3 * chord(4, 12), 1e-14);
}

TEST(Polygon, NeitherTurningNorScalingNorDirectionChangesTheWeight) {
  LatticePolygon polygon = oracle::random_polygon(40, 1000, 3);
  const double weight = triangulate(points_of(polygon)).weight;
  for (int k = 0; k < 3; ++k) {
    std::ranges::rotate(polygon, polygon.begin() + 7);
    EXPECT_NEAR(triangulate(points_of(polygon)).weight, weight, 40 * 0x1p-53 * weight);
    std::ranges::reverse(polygon);
    EXPECT_NEAR(triangulate(points_of(polygon)).weight, weight, 40 * 0x1p-53 * weight);
  }
  std::vector<Point> scaled = points_of(oracle::random_polygon(40, 1000, 3));
  for (Point& p : scaled) p = {std::ldexp(p.x, -200), std::ldexp(p.y, -200)};
  EXPECT_EQ(triangulate(scaled).weight, std::ldexp(weight, -200));
}

TEST(Polygon, StarsAndLongOnesAreTriangulatedInside) {
  LatticePolygon star;
  for (int k = 0; k < 100; ++k) {
    const double angle = std::acos(-1.0) * k / 50, radius = k % 2 == 0 ? 100000 : 30000;
    star.push_back({std::llround(radius * std::cos(angle)), std::llround(radius * std::sin(angle))});
  }
  const Triangulation t = triangulate(points_of(star));
  EXPECT_FALSE(t.convex);
  expect_a_triangulation(star, t);
  // Every tip is cut off: a side between two notches is shorter than what else could end in a tip.
  for (const auto& [i, j] : t.diagonals) EXPECT_TRUE(i % 2 == 1 && j % 2 == 1) << i << ' ' << j;
  const LatticePolygon random = oracle::random_polygon(120, 1 << 16, 11);
  expect_a_triangulation(random, triangulate(points_of(random)));
}

TEST(Polygon, AChordThroughAVertexIsNoDiagonal) {
  // A triangle with two vertices on its longest side: (0, 3) and (0, 2), (1, 3) run along it.
  const LatticePolygon polygon{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 5}};
  const Triangulation t = triangulate(points_of(polygon));
  EXPECT_THAT(t.diagonals, testing::UnorderedElementsAre(std::array<std::int64_t, 2>{1, 4},
                                                         std::array<std::int64_t, 2>{2, 4}));
  expect_a_triangulation(polygon, t);
}

TEST(Polygon, SinglePrecisionComesCloseToDouble) {
  const LatticePolygon polygon = oracle::random_polygon(80, 1 << 16, 5);
  const Triangulation in_double = triangulate(points_of(polygon));
  const Triangulation in_single = triangulate(points_of(polygon), {.solve = {}, .type = ValueType::float32});
  EXPECT_EQ(in_single.type, ValueType::float32);
  EXPECT_EQ(in_single.report.storage, "float32");
  expect_a_triangulation(polygon, in_single);
  EXPECT_NEAR(in_single.weight, in_double.weight, 80 * 0x1p-24 * in_double.weight);
}

TEST(Polygon, TrianglesStandBeforeThoseBeyondTheirSides) {
  const Triangulation t = triangulate(points_of(oracle::random_polygon(50, 1000, 1)));
  EXPECT_EQ(t.triangles.front()[0], 0);
  EXPECT_EQ(t.triangles.front()[2], 49);
  EXPECT_TRUE(std::ranges::is_sorted(
      t.triangles, [](const auto& a, const auto& b) { return a[0] != b[0] ? a[0] < b[0] : a[2] > b[2]; }));
}

std::string refusal(const std::vector<Point>& points, ValueType type = ValueType::best) {
  return message_of([&] { triangulate(points, {.solve = {}, .type = type}); });
}

TEST(Polygon, RefusesWhatIsNoSimplePolygon) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal({}), "a polygon has at least 3 vertices; 0 given");
  EXPECT_EQ(refusal({{0, 0}, {1, 0}}), "a polygon has at least 3 vertices; 2 given");
  EXPECT_EQ(refusal({{0, 0}, {1, kNan}, {1, 1}}),
            "polygon: vertex 1 is (1, nan); a coordinate is 0 or of magnitude 1e-100 to 1e+100");
  EXPECT_THAT(refusal({{0, 0}, {1, 0}, {-kInf, 1}}), HasSubstr("vertex 2 is (-inf, 1)"));
  EXPECT_THAT(refusal({{1e-101, 0}, {1, 0}, {0, 1}}), HasSubstr("vertex 0 is (1e-101, 0)"));
  EXPECT_THAT(refusal({{0, 0}, {1, 0}, {1, 1}, {1, 0}}), HasSubstr("vertices 1 and 3 are both (1, 0)"));
  EXPECT_THAT(refusal({{0, 0}, {2, 2}, {2, 0}, {0, 2}}), HasSubstr("its sides 0-1 and 2-3 meet"));
  EXPECT_THAT(refusal({{0, 0}, {1, 1}, {2, 2}, {3, 3}}), HasSubstr("meet"));
}

TEST(Polygon, RefusesTypesThatCannotHoldItsLengths) {
  EXPECT_THAT(refusal(regular(5), ValueType::int32),
              HasSubstr("type int32 is not for polygons; use float64"));
  EXPECT_THAT(refusal(regular(5), ValueType::int64), HasSubstr("type int64 is not for polygons"));
  EXPECT_THAT(refusal(regular(5, 1e38), ValueType::float32),
              HasSubstr("more than float32 holds; use float64"));
  EXPECT_EQ(refusal(regular(5, 1e38)), "(no error)");
}

TEST(PolygonSvg, ShowsEveryVertexAndDiagonal) {
  const std::vector<Point> points = regular(7, 1e-50);
  const Triangulation t = triangulate(points);
  const std::string svg = triangulation_svg(points, t);
  const auto count = [&](const std::string& part) {
    std::int64_t found = 0;
    for (std::size_t at = svg.find(part); at != svg.npos; at = svg.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("<circle "), 7);
  EXPECT_EQ(count(">6</text>"), 1);
  EXPECT_EQ(count("M"), 4);  // a stroke a diagonal
  EXPECT_EQ(count("nan"), 0);
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace warploom::dp
