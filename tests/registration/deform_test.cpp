#include "warploom/registration/deform.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "registration/phantom.hpp"
#include "registration/scenes.hpp"
#include "warploom/core/error.hpp"
#include "warploom/registration/align.hpp"
#include "warploom/registration/folding.hpp"

namespace warploom::registration {
namespace {

// Smooth, up to 5 mm (2.5 voxels) long, invertible.
Point wave(const Point& p) {
  return {p[0] + 3.5 * std::sin(p[1] / 11 + 0.4) * std::cos(p[2] / 15),
          p[1] + 3 * std::sin(p[2] / 12 + p[0] / 17),
          p[2] + 3 * std::cos(p[0] / 13 - 0.3) * std::sin(p[1] / 14)};
}

// The map of a field, between voxels too.
std::function<Point(const Point&)> map_of(const DisplacementField& field) {
  return [&field, to_voxels = inverse(field.space.to_world)](const Point& p) {
    const auto& g = field.space.grid;
    const std::int64_t n[3] = {g.nx, g.ny, g.nz};
    const Point v = map_point(to_voxels, p);
    std::int64_t at[3];
    double part[3];
    for (std::size_t c = 0; c < 3; ++c) {
      at[c] = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(v[c])), 0,
                                       std::max<std::int64_t>(0, n[c] - 2));
      part[c] = n[c] == 1 ? 0 : std::clamp(v[c] - static_cast<double>(at[c]), 0.0, 1.0);
    }
    Point out = p;
    for (std::int64_t corner = 0; corner < 8; ++corner) {
      double weight = 1;
      std::int64_t index[3];
      for (std::size_t c = 0; c < 3; ++c) {
        const std::int64_t up = corner >> c & 1;
        weight *= up != 0 ? part[c] : 1 - part[c];
        index[c] = std::min(n[c] - 1, at[c] + up);
      }
      for (std::size_t c = 0; c < 3; ++c)
        out[c] += weight *
                  double(field.mm[c * static_cast<std::size_t>(g.voxels()) +
                                  static_cast<std::size_t>((index[2] * g.ny + index[1]) * g.nx + index[0])]);
    }
    return out;
  };
}

std::function<Point(const Point&)> same() {
  return [](const Point& p) { return p; };
}

TEST(EstimateDeformation, OfEqualImagesIsNone) {
  const Space space = space_around(36, 40, 32);
  const PlacedImage head = head_on(space);
  const auto found = estimate_deformation(head, head, identity_affine(), {.iterations = {20, 10}});
  EXPECT_LT(mean_distance(space, same(), map_of(found.field)), 0.02);
}

TEST(EstimateDeformation, UndoesAKnownOneToATenthOfAVoxel) {
  const Space space = space_around(40, 44, 38);
  for (const Measure measure : {Measure::lncc, Measure::ssd}) {
    const auto found = estimate_deformation(
        head_on(space, wave), head_on(space), identity_affine(),
        {.measure = measure, .iterations = {60, 100}, .step = 0.25, .smooth_field = 0.4});
    EXPECT_GT(mean_distance(space, wave, same()), 3.0);
    EXPECT_LT(mean_distance(space, wave, map_of(found.field)), 0.2) << name(measure);
    EXPECT_TRUE(certify(found.field).proved());
    EXPECT_EQ(found.report.measure.size(), 160U);
  }
}

TEST(EstimateDeformation, UndoesAKnownOneBetweenImagesOfDifferentKinds) {
  const Space space = space_around(40, 44, 38);
  PlacedImage moving = head_on(space);
  for (float& v : moving.image.data) v = 90 * std::exp(-v / 40) + 20 * std::sin(v / 9);
  const auto found = estimate_deformation(head_on(space, wave), moving, identity_affine(),
                                          {.measure = Measure::nmi, .iterations = {60, 60}});
  EXPECT_LT(mean_distance(space, wave, map_of(found.field)), 0.8);  // .4 voxel, of 1.5
  EXPECT_TRUE(certify(found.field).proved());
}

TEST(EstimateDeformation, ByDemonsUndoesAKnownOneAndFoldsNowhere) {
  const Space space = space_around(40, 44, 38);
  const auto found =
      estimate_deformation(head_on(space, wave), head_on(space), identity_affine(),
                           {.method = DeformMethod::demons, .iterations = {60, 100}, .smooth_update = 1});
  EXPECT_LT(mean_distance(space, wave, map_of(found.field)), 0.4);  // a fifth of a voxel
  EXPECT_TRUE(certify(found.field).proved());
  EXPECT_LT(-found.report.measure.back(), -0.05 * found.report.measure.front());
  const PlacedImage head = head_on(space);
  const auto none = estimate_deformation(head, head, identity_affine(),
                                         {.method = DeformMethod::demons, .iterations = {20, 10}});
  EXPECT_LT(mean_distance(space, same(), map_of(none.field)), 1e-6);
}

TEST(EstimateDeformation, UndoesAKnownOneByTheEdges) {
  const Space space = space_around(40, 44, 38);
  PlacedImage moving = head_on(space);
  for (float& v : moving.image.data) v = 90 * std::exp(-v / 40);
  const auto found = estimate_deformation(head_on(space, wave), moving, identity_affine(),
                                          {.measure = Measure::ngf, .iterations = {60, 60}});
  EXPECT_LT(mean_distance(space, wave, map_of(found.field)), 0.8);  // .4 voxel, of 1.5
  EXPECT_TRUE(certify(found.field).proved());
}

TEST(EstimateDeformation, TakesTheAffineMapAlong) {
  const Space fixed = space_around(40, 44, 38), moving = space_around(46, 41, 44, {1.9, 2.2, 1.8});
  const Affine affine{{{0.98, -0.1, 0, 2}, {0.1, 1.02, 0.05, -4}, {0, -0.05, 1, 3}}};
  const auto truth = [&](const Point& p) { return map_point(affine, wave(p)); };
  const auto found = estimate_deformation(head_on(fixed, truth), head_on(moving), affine,
                                          {.iterations = {60, 60}, .step = 0.25, .smooth_field = 0.4});
  EXPECT_LT(mean_distance(fixed, truth, map_of(found.field)), 0.2);
}

TEST(EstimateDeformation, OfExchangedImagesIsTheInverse) {
  const Space space = space_around(40, 44, 38);
  const PlacedImage a = head_on(space, wave), b = head_on(space);
  const auto there = estimate_deformation(a, b, identity_affine(), {.iterations = {40, 40}});
  const auto back = estimate_deformation(b, a, identity_affine(), {.iterations = {40, 40}});
  const auto forward = map_of(there.field), backward = map_of(back.field);
  EXPECT_LT(mean_distance(space, same(), [&](const Point& p) { return backward(forward(p)); }),
            0.1);  // .05 voxel
}

// Grids that differ in size, spacing, direction and order of axes.
TEST(EstimateDeformation, OfExchangedImagesOnOtherGridsIsTheInverse) {
  const Space a_space = space_around(40, 44, 30, {1.8, 1.7, 2.4});
  std::vector<std::size_t> source;
  Space b_space = reordered(space_around(34, 42, 45, {2.2, 1.9, 1.7}), {1, 2, 0}, 5, source);
  const Affine place{{{0.97, -0.2, 0.1, 9}, {0.21, 0.96, -0.15, -30}, {-0.07, 0.17, 0.98, 4}}};
  b_space.to_world = compose(b_space.to_world, place);
  const Affine pose{{{1.03, 0.08, 0, 2}, {-0.09, 0.95, 0.1, -3}, {0, -0.1, 1.02, 1}}};
  const Affine affine = compose(pose, place);
  const auto truth = [&](const Point& p) { return map_point(affine, wave(p)); };
  const PlacedImage a = head_on(a_space, [&](const Point&p) { return map_point(pose, wave(p)); }),
                    b = head_on(b_space, [&](const Point&p) { return map_point(inverse(place), p); });
  const DeformOptions options{.iterations = {40, 40}};
  const DisplacementField there = estimate_deformation(a, b, affine, options).field,
                          back = estimate_deformation(b, a, inverse(affine), options).field;
  const auto forward = map_of(there), backward = map_of(back);
  EXPECT_LT(mean_distance(a_space, truth, forward), 0.7);
  EXPECT_LT(mean_distance(a_space, same(), [&](const Point& p) { return backward(forward(p)); }),
            0.05);  // .03 voxel
}

TEST(EstimateDeformation, DoesNotDependOnTheOrderOfAxes) {
  const Space space = space_around(18, 21, 16, {3.2, 3, 3.4});
  const PlacedImage a = head_on(space, wave), b = head_on(space);
  const auto numbered = [](const PlacedImage& image, const std::array<std::size_t, 3>& order,
                           unsigned flips) {
    std::vector<std::size_t> source;
    PlacedImage out;
    const Space there = reordered(image.space(), order, flips, source);
    out.image = imaging::Image(there.grid, 1);
    out.to_world = there.to_world;
    for (std::size_t i = 0; i < source.size(); ++i) out.image.data[i] = image.image.data[source[i]];
    return out;
  };
  for (const DeformMethod method : {DeformMethod::greedy, DeformMethod::curvature, DeformMethod::demons}) {
    const DeformOptions options{.method = method, .iterations = {8}};
    const auto first = estimate_deformation(a, b, identity_affine(), options);
    EXPECT_GT(mean_distance(space, same(), map_of(first.field)), 1);
    for_orientations([&](const std::array<std::size_t, 3>& order, unsigned flips) {
      const auto found = estimate_deformation(numbered(a, order, flips), numbered(b, order, 7 - flips),
                                              identity_affine(), options);
      EXPECT_LT(mean_distance(space, map_of(first.field), map_of(found.field)), 0.003)  // a thousandth voxel
          << static_cast<int>(method) << ' ' << order[0] << order[1] << order[2] << ' ' << flips;
    });
  }
}

// By 22 voxels along x, all of it deformation.
TEST(EstimateDeformation, FindsWhatMovesByManyVoxelsUnlessToldOtherwise) {
  const Space space = space_around(112, 90, 28, {1, 1, 2.5});
  const auto right = [](const Point& p) { return Point{p[0] + 11, p[1], p[2]}; };
  const auto left = [](const Point& p) { return Point{p[0] - 11, p[1], p[2]}; };
  const PlacedImage fixed = head_on(space, right), moving = head_on(space, left);
  const auto off = [&](const DeformOptions& options, const std::vector<int>& levels) {
    const Deformation found = estimate_deformation(fixed, moving, identity_affine(), options);
    EXPECT_EQ(found.report.levels, levels);
    EXPECT_EQ(found.report.iterations, levels);
    const auto map = map_of(found.field);
    return mean_distance(space, right, [&](const Point& p) { return left(map(p)); });
  };
  const double by_default = off({}, {60, 60, 60, 20}), told = off({.iterations = {60, 60, 20}}, {60, 60, 20});
  EXPECT_LT(by_default, 2);
  EXPECT_GT(told, 3 * by_default);
}

TEST(EstimateDeformation, ChoosesThreeResolutionsInThePlaneAndForOtherMethods) {
  const PlacedImage plane = head_on(space_around(40, 44, 1)),
                    volume = head_on(space_around(16, 18, 14, {5, 5, 5}));
  const std::vector<int> three{60, 60, 20};
  EXPECT_EQ(estimate_deformation(plane, plane, identity_affine()).report.levels, three);
  EXPECT_EQ(
      estimate_deformation(volume, volume, identity_affine(), {.method = DeformMethod::demons}).report.levels,
      three);
}

TEST(EstimateDeformation, WorksInThePlane) {
  const Space space = space_around(80, 90, 1, {1, 1, 1});
  const auto flat = [](const Point& p) { return Point{wave(p)[0], wave(p)[1], p[2]}; };
  const auto found = estimate_deformation(head_on(space, flat), head_on(space), identity_affine(),
                                          {.iterations = {60, 60, 40}});
  EXPECT_LT(mean_distance(space, flat, map_of(found.field)), 0.1);
  EXPECT_TRUE(certify(found.field).proved());
}

TEST(EstimateDeformation, NeverFoldsUnlessItMay) {
  // Heads that no map makes alike, big steps and hardly any smoothing.
  const Space space = space_around(30, 34, 28);
  const PlacedImage head = head_on(space);
  const PlacedImage other = head_on(space, [](const Point& p) { return Point{p[1], -p[0], p[2]}; });
  DeformOptions options{.iterations = {30, 30}, .step = 1, .smooth_update = 0.8, .smooth_field = 0};
  const auto kept = estimate_deformation(head, other, identity_affine(), options);
  EXPECT_TRUE(certify(kept.field).proved()) << certify(kept.field).smallest_determinant;
  EXPECT_GT(kept.report.smoothed_voxels, 0);
  options.allow_folds = true;
  EXPECT_GT(certify(estimate_deformation(head, other, identity_affine(), options).field).folded, 0);
}

TEST(EstimateDeformation, DoesNotDependOnTheNumberOfThreads) {
  const Space space = space_around(30, 33, 29);
  const PlacedImage fixed = head_on(space, wave), moving = head_on(space);
  const auto of = [&](unsigned threads) {
    return estimate_deformation(fixed, moving, identity_affine(),
                                {.iterations = {10, 10}, .run = {.threads = threads}})
        .field.mm;
  };
  EXPECT_EQ(of(1), of(3));
}

TEST(EstimateDeformation, OnAGpuIsGreedyByCorrelationOrDifferencesAlone) {
  const PlacedImage head = head_on(space_around(20, 20, 20));
  const auto message = [&](const DeformOptions& options) -> std::string {
    try {
      estimate_deformation(head, head, identity_affine(), options);
    } catch (const NoDevice& refused) {
      return refused.what();
    }
    return "";
  };
  EXPECT_THAT(message({.measure = Measure::nmi, .run = {.devices = {Device::cuda}}}),
              testing::HasSubstr("by nmi are found on the CPU alone"));
  EXPECT_THAT(message({.method = DeformMethod::curvature, .run = {.devices = {Device::cuda}}}),
              testing::HasSubstr("by curvature are found on the CPU alone"));
  EXPECT_THROW(estimate_affine(head, head, {.measure = Measure::ngf, .run = {.devices = {Device::cuda}}}),
               NoDevice);
}

TEST(EstimateDeformation, SmoothsMoreWhereImagesInAPlaneAreHardlyAlike) {
  const auto chosen = [](const PlacedImage& fixed, const PlacedImage& moving) {
    return estimate_deformation(fixed, moving, identity_affine(), {.iterations = {1}}).report.smooth_field;
  };
  const auto texture = [](std::int64_t nz, double along_x, double along_y) {
    PlacedImage out = head_on(space_around(90, 80, nz));
    std::size_t i = 0;
    for (std::int64_t z = 0; z < nz; ++z)
      for (std::int64_t y = 0; y < 80; ++y)
        for (std::int64_t x = 0; x < 90; ++x)
          out.image.data[i++] = static_cast<float>(std::sin(along_x * static_cast<double>(x)) *
                                                   std::sin(along_y * static_cast<double>(y)));
    return out;
  };
  const PlacedImage one = texture(1, 0.21, 0.13), other = texture(1, 0.12, 0.23);
  EXPECT_EQ(chosen(one, other), 1);
  EXPECT_EQ(chosen(other, one), 1);
  EXPECT_EQ(chosen(one, one), 0.5);
  EXPECT_EQ(chosen(texture(9, 0.21, 0.13), texture(9, 0.12, 0.23)), 0.5);
  EXPECT_EQ(estimate_deformation(one, other, identity_affine(), {.iterations = {1}, .smooth_field = 0.7})
                .report.smooth_field,
            0.7);
}

TEST(EstimateDeformation, RefusesWhatMakesNoSense) {
  const PlacedImage head = head_on(space_around(20, 20, 20));
  const Affine same = identity_affine();
  EXPECT_THROW(estimate_deformation(head, head_on(space_around(20, 20, 1)), same), BadInput);
  EXPECT_THROW(estimate_deformation(head, head, same, {.iterations = std::vector<int>(11, 1)}), BadInput);
  EXPECT_THROW(estimate_deformation(head, head, same, {.iterations = {-1}}), BadInput);
  EXPECT_THROW(estimate_deformation(head, head, same, {.step = 0}), BadInput);
  EXPECT_THROW(estimate_deformation(head, head, same, {.smooth_update = std::nan("")}), BadInput);
  EXPECT_THROW(estimate_deformation(head, head, same, {.radius = 9}), BadInput);
  EXPECT_THROW(estimate_deformation(head, head, same, {.measure = static_cast<Measure>(5)}), BadInput);
  EXPECT_THROW(estimate_deformation(head, head, Affine{}), BadInput);
  Affine mirror = same;
  mirror[0][0] = -1;
  EXPECT_THROW(estimate_deformation(head, head, mirror), BadInput);
  Affine away = same;
  away[1][3] = -500;
  EXPECT_THROW(estimate_deformation(head, head, away), BadInput);
}

}  // namespace
}  // namespace warploom::registration
