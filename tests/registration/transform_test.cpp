#include "warploom/registration/transform.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "registration/scenes.hpp"
#include "warploom/core/error.hpp"
#include "warploom/registration/folding.hpp"

namespace warploom::registration {
namespace {

double distance(const Point& a, const Point& b) { return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]); }

/// d at a point by the definition: weights of the eight voxels around, in the grid's own index.
Point trilinear(const DisplacementField& field, const Point& p) {
  const Point i = map_point(inverse(field.space.to_world), p);
  const imaging::Grid& g = field.space.grid;
  const auto voxels = static_cast<std::size_t>(g.voxels());
  Point d{};
  for_voxels(field.space, [&](double x, double y, double z, std::size_t v) {
    const double w = std::max(0.0, 1 - std::abs(i[0] - x)) * std::max(0.0, 1 - std::abs(i[1] - y)) *
                     std::max(0.0, 1 - std::abs(i[2] - z));
    for (std::size_t c = 0; c < 3; ++c) d[c] += w * double(field.mm[c * voxels + v]);
  });
  return d;
}

std::vector<Point> points_within(const Space& space, double margin, int count) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> any(0, 1);
  std::vector<Point> out;
  for (int n = 0; n < count; ++n) {
    const auto along = [&](std::int64_t size) {
      return margin + (static_cast<double>(size) - 1 - 2 * margin) * any(random);
    };
    out.push_back(
        map_point(space.to_world, {along(space.grid.nx), along(space.grid.ny), along(space.grid.nz)}));
  }
  return out;
}

TEST(Transform, FieldIsTrilinearBetweenVoxels) {
  const DisplacementField field = waves(box(9, 8, 7, kOblique), 2);
  for (const Point& p : points_within(field.space, 0, 50)) {
    std::vector<Point> there{p};
    map_points({{field}}, there);
    const Point d = trilinear(field, p);
    EXPECT_LT(distance(there[0], {p[0] + d[0], p[1] + d[1], p[2] + d[2]}), 1e-12);
  }
}

TEST(Transform, FieldGoesOnForHalfAVoxelAndThenEnds) {
  DisplacementField field = zero_field(box(4, 4, 4));
  std::ranges::fill(field.mm, 1.0F);
  std::vector<Point> points{{-0.5, 0, 0}, {-0.51, 0, 0}, {3.49, 0, 0}, {3.5, 0, 0}};
  map_points({{field}}, points);
  EXPECT_EQ(points, (std::vector<Point>{{0.5, 1, 1}, {-0.51, 0, 0}, {4.49, 1, 1}, {3.5, 0, 0}}));
}

TEST(Transform, ChainRunsFromFirstToLast) {
  constexpr Affine kScale{{{2, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 2, 0}}},
      kShift{{{1, 0, 0, 3}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  std::vector<Point> points{{1, 1, 1}};
  map_points({{kScale}, {kShift}}, points);
  EXPECT_EQ(points[0], (Point{5, 2, 2}));
  map_points(inverse(TransformChain{{kScale}, {kShift}}), points);
  EXPECT_EQ(points[0], (Point{1, 1, 1}));
}

TEST(Transform, InverseUndoesFieldsAndAffinesPointByPoint) {
  const DisplacementField field = waves(box(40, 36, 30, kOblique), 2);
  ASSERT_TRUE(certify(field).proved());
  const TransformChain chain{{field}, {Affine{{{1.1, 0.1, 0, 3}, {0, 0.9, 0.1, 0}, {-0.1, 0, 1, 2}}}}};
  const std::vector<Point> before = points_within(field.space, 6, 200);
  std::vector<Point> points = before;
  map_points(chain, points);
  map_points(inverse(chain), points);
  for (std::size_t n = 0; n < points.size(); ++n) EXPECT_LT(distance(points[n], before[n]), 1e-4) << n;
}

TEST(Transform, OneFieldForAChainLeadsWhereTheChainLeads) {
  const Space fixed = box(12, 11, 10, kOblique);
  const TransformChain chain{{waves(fixed, 1)},
                             {Affine{{{1, 0.2, 0, 1}, {0, 1, 0, 0}, {0.1, 0, 1, 0}}}},
                             {waves(box(20, 20, 20), 2)}};
  const DisplacementField whole = to_field(chain, fixed);
  for_voxels(fixed, [&](double x, double y, double z, std::size_t v) {
    const Point from = map_point(fixed.to_world, {x, y, z});
    std::vector<Point> there{from};
    map_points(chain, there);
    const Point d{double(whole.mm[v]), double(whole.mm[1320 + v]), double(whole.mm[2640 + v])};
    EXPECT_LT(distance(there[0], {from[0] + d[0], from[1] + d[1], from[2] + d[2]}), 1e-5);
  });
}

TEST(Transform, InverseFieldHasASmallResidualThatIsReported) {
  const DisplacementField field = waves(box(40, 36, 30), 1.5);
  const InverseField inverse = invert(field, field.space);
  EXPECT_LT(inverse.largest_residual, 1e-5);
  EXPECT_LE(inverse.mean_residual, inverse.largest_residual);
  EXPECT_GT(inverse.outside, 0);
  EXPECT_LT(inverse.outside, 36 * 40 * 30 / 2);
  // One there and back again, between the voxels too, where both are interpolated.
  std::vector<Point> points = points_within(field.space, 10, 100);
  const std::vector<Point> before = points;
  map_points({{inverse.field}, {field}}, points);
  for (std::size_t n = 0; n < points.size(); ++n) EXPECT_LT(distance(points[n], before[n]), 0.05);
}

TEST(Transform, InverseOfASteepFieldIsFoundWhereTheFixedPointIterationDiverges) {
  // x + 1.8 sin(x / 2): its derivative reaches 1.9, so that e <- -d(y + e) would oscillate... but 0.1 at the
  // least.
  const Space space = box(64, 4, 4);
  DisplacementField field = zero_field(space);
  for_voxels(space, [&](double x, double, double, std::size_t v) {
    field.mm[v] = static_cast<float>(1.8 * std::sin(x / 2));
  });
  ASSERT_TRUE(certify(field).proved());
  EXPECT_LT(invert(field, space).largest_residual, 1e-5);
}

TEST(Transform, TwoDimensionsStayTwo) {
  const Space plane = box(30, 20, 1, {{{0, -1.5, 0, 4}, {2, 0, 0, -3}, {0, 0, 1, 7}}});
  DisplacementField field = waves(plane, 1);
  std::fill(field.mm.begin() + 1200, field.mm.end(), 0.0F);
  const InverseField inverse = invert(field, plane);
  EXPECT_LT(inverse.largest_residual, 1e-5);
  for (std::size_t v = 1200; v < 1800; ++v) EXPECT_EQ(inverse.field.mm[v], 0);
}

TEST(Transform, BrokenPartsAreRefused) {
  std::vector<Point> points{{0, 0, std::nan("")}};
  EXPECT_THROW(map_points({}, points), BadInput);
  points = {{0, 0, 0}};
  EXPECT_THROW(map_points({{Affine{}}}, points), BadInput);
  EXPECT_THROW(map_points({{DisplacementField{box(2, 2, 2), std::vector<float>(23)}}}, points), BadInput);
}

}  // namespace
}  // namespace warploom::registration
