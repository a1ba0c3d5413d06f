#include <gtest/gtest.h>

#include <algorithm>

#include "registration/phantom.hpp"
#include "warploom/core/error.hpp"
#include "warploom/registration/deform.hpp"
#include "warploom/registration/folding.hpp"
#include "warploom/registration/transform.hpp"

namespace warploom::registration {
namespace {

Point bulge(const Point& p) {
  return {p[0] + 2.5 * std::sin(p[1] / 14 + 0.4) * std::cos(p[2] / 18),
          p[1] + 2 * std::sin(p[2] / 15 + p[0] / 20),
          p[2] + 2 * std::cos(p[0] / 16 - 0.3) * std::sin(p[1] / 17)};
}

std::function<Point(const Point&)> where_it_leads(const DisplacementField& field) {
  return [chain = TransformChain{{field}}](const Point& p) {
    std::vector<Point> points{p};
    map_points(chain, points);
    return points[0];
  };
}
Point unmoved(const Point& p) { return p; }

DeformOptions curvature(std::vector<int> iterations, double bending = 1, bool semi_implicit = false) {
  return {.method = DeformMethod::curvature,
          .bending = bending,
          .semi_implicit = semi_implicit,
          .iterations = std::move(iterations)};
}

TEST(Curvature, OfEqualImagesIsNone) {
  const Space space = space_around(30, 32, 28);
  const PlacedImage head = head_on(space);
  const auto found = estimate_deformation(head, head, identity_affine(), curvature({10, 5}));
  EXPECT_LT(mean_distance(space, unmoved, where_it_leads(found.field)), 1e-3);
}

TEST(Curvature, UndoesASmoothDeformation) {
  const Space space = space_around(36, 40, 34);
  const PlacedImage fixed = head_on(space, bulge), moving = head_on(space);
  EXPECT_GT(mean_distance(space, bulge, unmoved), 2);
  for (const bool semi_implicit : {false, true}) {
    const auto found =
        estimate_deformation(fixed, moving, identity_affine(), curvature({80, 60}, 0.1, semi_implicit));
    EXPECT_LT(mean_distance(space, bulge, where_it_leads(found.field)), 0.3);  // voxels are 2 mm
    EXPECT_TRUE(certify(found.field).proved());
  }
}

TEST(Curvature, AFewStepsOfGaussAndNewtonLowerDifferencesMoreThanManySemiImplicitOnes) {
  const Space space = space_around(30, 32, 28);
  const PlacedImage fixed = head_on(space, bulge), moving = head_on(space);
  const auto differences = [&](int iterations, bool semi_implicit) {
    const auto found =
        estimate_deformation(fixed, moving, identity_affine(), curvature({iterations}, 0.1, semi_implicit));
    EXPECT_LE(found.report.iterations[0], iterations);
    return -found.report.measure.back();
  };
  EXPECT_LT(differences(6, false), differences(60, true));
}

TEST(Curvature, UndoesASmoothDeformationInThePlane) {
  const Space space = space_around(80, 90, 1, {1, 1, 1});
  const auto flat = [](const Point& p) { return Point{bulge(p)[0], bulge(p)[1], p[2]}; };
  const auto found = estimate_deformation(head_on(space, flat), head_on(space), identity_affine(),
                                          curvature({80, 80, 40}, 0.1));
  EXPECT_LT(mean_distance(space, flat, where_it_leads(found.field)), 0.2);
  EXPECT_TRUE(certify(found.field).proved());
}

TEST(Curvature, DifferencesFallAndMoreBendingIsSmoother) {
  const Space space = space_around(30, 32, 28);
  const PlacedImage fixed = head_on(space, bulge), moving = head_on(space);
  const auto stretch = [&](double bending) {
    const auto found = estimate_deformation(fixed, moving, identity_affine(), curvature({40}, bending));
    EXPECT_GT(found.report.measure.back(), found.report.measure.front());
    return certify(found.field).smallest_determinant;
  };
  EXPECT_GT(stretch(1000), stretch(0.1));
}

TEST(Curvature, DoesNotDependOnTheNumberOfThreads) {
  const Space space = space_around(30, 33, 29);
  const PlacedImage fixed = head_on(space, bulge), moving = head_on(space);
  const auto of = [&](unsigned threads) {
    DeformOptions options = curvature({10, 10});
    options.run.threads = threads;
    return estimate_deformation(fixed, moving, identity_affine(), options).field.mm;
  };
  EXPECT_EQ(of(1), of(3));
}

TEST(Curvature, ItsOptionsAreLookedAt) {
  const PlacedImage head = head_on(space_around(20, 20, 20));
  EXPECT_THROW(estimate_deformation(head, head, identity_affine(), curvature({1}, 0)), BadInput);
  EXPECT_THROW(estimate_deformation(head, head, identity_affine(), {.method = static_cast<DeformMethod>(7)}),
               BadInput);
}

}  // namespace
}  // namespace warploom::registration
