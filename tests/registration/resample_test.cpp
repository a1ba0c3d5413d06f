#include "warploom/registration/resample.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "registration/scenes.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"

namespace warploom::registration {
namespace {

PlacedImage placed(const Space& space, int channels = 1) {
  return {imaging::Image(space.grid, channels), space.to_world};
}

PlacedImage random_labels(const Space& space, int labels) {
  std::mt19937 random(9);
  PlacedImage image = placed(space);
  for (float& value : image.image.data)
    value = static_cast<float>(random() % static_cast<unsigned>(labels)) * 1000;
  return image;
}

/// 1 + 2x - 3y + z / 2 of the world: what is linear stays so under interpolation.
double ramp(const Point& p) { return 1 + 2 * p[0] - 3 * p[1] + p[2] / 2; }
PlacedImage ramp_image(const Space& space) {
  PlacedImage image = placed(space);
  for_voxels(space, [&](double x, double y, double z, std::size_t v) {
    image.image.data[v] = static_cast<float>(ramp(map_point(space.to_world, {x, y, z})));
  });
  return image;
}

TEST(Resample, IdentityGivesTheImageBack) {
  const Space space = box(9, 8, 7, kOblique);
  PlacedImage image = random_labels(space, 200);
  for (const Interpolation how :
       {Interpolation::linear, Interpolation::cubic, Interpolation::nearest, Interpolation::labels}) {
    const PlacedImage out = resample(image, space, {}, how);
    for (std::size_t v = 0; v < image.image.data.size(); ++v)
      ASSERT_NEAR(out.image.data[v], image.image.data[v],
                  how == Interpolation::cubic    ? 0.05
                  : how == Interpolation::linear ? 1e-9
                                                 : 0)
          << name(how);
    EXPECT_EQ(out.to_world, space.to_world);
  }
}

TEST(Resample, LinearAndCubicReproduceARampThroughFieldsAndAffines) {
  const PlacedImage moving =
      ramp_image(box(40, 40, 40, {{{0, 1.5, 0, -30}, {-1.5, 0, 0, 30}, {0, 0, 1.2, -24}}}));
  const Space fixed = box(8, 9, 10, {{{0.9, -0.3, 0.2, -4}, {0.4, 1.1, -0.1, -4}, {0.1, 0.2, -1.4, 6}}});
  const TransformChain chain{{waves(fixed, 2)},
                             {Affine{{{0.9, 0.2, 0, 1}, {-0.2, 1.1, 0, 0}, {0.1, 0, 1, 2}}}}};
  const PlacedImage linear = resample(moving, fixed, chain, Interpolation::linear),
                    cubic = resample(moving, fixed, chain, Interpolation::cubic);
  for_voxels(fixed, [&](double x, double y, double z, std::size_t v) {
    std::vector<Point> p{map_point(fixed.to_world, {x, y, z})};
    map_points(chain, p);
    EXPECT_NEAR(linear.image.data[v], ramp(p[0]), 1e-4);
    EXPECT_NEAR(cubic.image.data[v], ramp(p[0]), 2e-3);  // the mirror at the faces, 0.27^15 of its bend
  });
}

TEST(Resample, CubicIsSciPysOfOrderThree) {
  // scipy.ndimage.map_coordinates(order=3, mode="mirror") of scipy 1.17.1.
  PlacedImage line = placed(box(8, 1, 1));
  line.image.data = {3, 1, 4, 1, 5, 9, 2, 6};
  const double at[] = {0.25, -0.4, 7.45, 3.5, 6.75},
               want[] = {2.65334614, 2.2260529, 4.15196664, 1.96646341, 5.31311727};
  for (std::size_t n = 0; n < 5; ++n) {
    const PlacedImage out = resample(line, box(1, 1, 1, {{{1, 0, 0, at[n]}, {0, 1, 0, 0}, {0, 0, 1, 0}}}), {},
                                     Interpolation::cubic);
    EXPECT_NEAR(out.image.data[0], want[n], 2e-6);
  }
  PlacedImage block = placed(box(5, 4, 3));
  for (int n = 0; n < 60; ++n) block.image.data[static_cast<std::size_t>(n)] = static_cast<float>(n * n % 37);
  const Point where[] = {{3.1, 1.2, 0.3}, {-0.45, 2.9, 1.7}, {2.5, -0.3, 2.4}};
  const double values[] = {23.288034835957166, 23.302257341469986, 23.83095855357144};
  for (std::size_t n = 0; n < 3; ++n) {
    const Point p = where[n];
    const PlacedImage out = resample(
        block, box(1, 1, 1, {{{1, 0, 0, p[0]}, {0, 1, 0, p[1]}, {0, 0, 1, p[2]}}}), {}, Interpolation::cubic);
    EXPECT_NEAR(out.image.data[0], values[n], 2e-5);
  }
}

TEST(Resample, LabelsAreTheGreatestOfAllIndicatorsWarpedLinearly) {
  const Space space = box(12, 10, 9, kOblique);
  const PlacedImage labels = random_labels(space, 6);
  const TransformChain chain{{waves(space, 1.3)}};
  const PlacedImage out = resample(labels, space, chain, Interpolation::labels);
  std::map<float, PlacedImage> of_label;
  for (const float label : {0.0F, 1000.0F, 2000.0F, 3000.0F, 4000.0F, 5000.0F}) {
    PlacedImage indicator = labels;
    for (float& value : indicator.image.data) value = value == label ? 1.0F : 0.0F;
    of_label.emplace(label, resample(indicator, space, chain, Interpolation::linear));
  }
  for (std::size_t v = 0; v < out.image.data.size(); ++v) {
    float most = 0;
    for (const auto& [label, warped] : of_label) most = std::max(most, warped.image.data[v]);
    ASSERT_GE(of_label.at(out.image.data[v]).image.data[v], most - 1e-6F) << v;
  }
}

TEST(Resample, NearestTakesTheUpperOfTwo) {
  PlacedImage line = placed(box(4, 1, 1));
  line.image.data = {10, 20, 30, 40};
  const PlacedImage out = resample(line, box(8, 1, 1, {{{0.5, 0, 0, -0.5}, {0, 1, 0, 0}, {0, 0, 1, 0}}}), {},
                                   Interpolation::nearest, -1);
  EXPECT_THAT(out.image.data, testing::ElementsAre(10, 10, 20, 20, 30, 30, 40, 40));
}

TEST(Resample, WhatLeadsOutsideHasTheValueOutside) {
  PlacedImage line = placed(box(4, 1, 1), 2);
  std::ranges::fill(line.image.data, 7.0F);
  for (const Interpolation how :
       {Interpolation::linear, Interpolation::cubic, Interpolation::nearest, Interpolation::labels}) {
    const PlacedImage out =
        resample(line, box(4, 1, 1, {{{1, 0, 0, -2.4}, {0, 1, 0, 0}, {0, 0, 1, 0}}}), {}, how, -1);
    EXPECT_THAT(out.image.data,
                testing::Pointwise(testing::FloatEq(), {-1.0F, -1.0F, 7.0F, 7.0F, -1.0F, -1.0F, 7.0F, 7.0F}))
        << name(how);
  }
}

TEST(Resample, AllNumberingsOfTheVoxelsGiveOneAnswer) {
  const Space fixed = box(6, 5, 4, kOblique),
              moving_space = box(9, 8, 7, {{{1, 0.2, 0, -12}, {0, 1, 0.1, 4}, {0, 0, -1, 20}}});
  const PlacedImage moving = ramp_image(moving_space);
  const TransformChain chain{{waves(fixed, 0.5)}};
  const PlacedImage want = resample(moving, fixed, chain);
  std::vector<std::size_t> source;
  for_orientations([&](const auto& order, unsigned flips) {
    const Space turned_moving = reordered(moving_space, order, flips, source);
    PlacedImage turned = placed(turned_moving);
    for (std::size_t v = 0; v < source.size(); ++v) turned.image.data[v] = moving.image.data[source[v]];
    const Space turned_fixed = reordered(fixed, order, flips, source);
    DisplacementField field = zero_field(turned_fixed);
    const auto& original = std::get<DisplacementField>(chain[0].map);
    for (std::size_t v = 0; v < 120; ++v)
      for (std::size_t c = 0; c < 3; ++c) field.mm[c * 120 + v] = original.mm[c * 120 + source[v]];
    const PlacedImage out = resample(turned, turned_fixed, {{field}});
    for (std::size_t v = 0; v < 120; ++v) ASSERT_NEAR(out.image.data[v], want.image.data[source[v]], 1e-4);
  });
}

TEST(Resample, OneThreadGivesTheSameBits) {
  const Space space = box(14, 13, 12, kOblique);
  const PlacedImage image = random_labels(space, 50);
  const TransformChain chain{{waves(space, 2)}};
  const PlacedImage many = resample(image, space, chain, Interpolation::cubic);
  const RunScope one({.threads = 1});
  EXPECT_EQ(resample(image, space, chain, Interpolation::cubic).image.data, many.image.data);
}

TEST(Resample, WordsAreReadAndOthersRefused) {
  EXPECT_EQ(parse_interpolation("labels"), Interpolation::labels);
  EXPECT_THROW(parse_interpolation("sinc"), BadInput);
}

}  // namespace
}  // namespace warploom::registration
