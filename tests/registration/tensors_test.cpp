#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "registration/scenes.hpp"
#include "warploom/core/error.hpp"
#include "warploom/imaging/maps.hpp"
#include "warploom/registration/resample.hpp"

namespace warploom::registration {
namespace {

using Tensor = std::array<double, 6>;
constexpr Tensor kFibre{1.4, 0.3, -0.2, 0.6, 0.1, 0.4};  // xx xy xz yy yz zz, positive

PlacedImage everywhere(const Space& space, const Tensor& tensor) {
  PlacedImage out{imaging::Image(space.grid, 6), space.to_world};
  for (std::size_t v = 0; v < out.image.data.size(); ++v)
    out.image.data[v] = static_cast<float>(tensor[v / static_cast<std::size_t>(space.grid.voxels())]);
  return out;
}

Tensor at(const PlacedImage& image, std::size_t voxel) {
  Tensor out{};
  for (std::size_t c = 0; c < 6; ++c)
    out[c] = double(image.image.data[c * image.image.data.size() / 6 + voxel]);
  return out;
}

/// R D R^T, element by element.
Tensor turned(const Tensor& t, const Affine& r) {
  const double d[3][3] = {{t[0], t[1], t[2]}, {t[1], t[3], t[4]}, {t[2], t[4], t[5]}};
  Tensor out{};
  const std::size_t rows[] = {0, 0, 0, 1, 1, 2}, columns[] = {0, 1, 2, 1, 2, 2};
  for (std::size_t n = 0; n < 6; ++n)
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) out[n] += r[rows[n]][i] * d[i][j] * r[columns[n]][j];
  return out;
}

// By 40 degrees about (1, 2, 2) / 3 (Rodrigues).
Affine rotation() {
  const double angle = 40 * std::acos(-1.0) / 180, c = std::cos(angle), s = std::sin(angle);
  const double n[] = {1.0 / 3, 2.0 / 3, 2.0 / 3};
  return {
      {{c + n[0] * n[0] * (1 - c), n[0] * n[1] * (1 - c) - n[2] * s, n[0] * n[2] * (1 - c) + n[1] * s, 0},
       {n[1] * n[0] * (1 - c) + n[2] * s, c + n[1] * n[1] * (1 - c), n[1] * n[2] * (1 - c) - n[0] * s, 0},
       {n[2] * n[0] * (1 - c) - n[1] * s, n[2] * n[1] * (1 - c) + n[0] * s, c + n[2] * n[2] * (1 - c), 0}}};
}

const Space kFixed = box(5, 5, 5, {{{1, 0, 0, -2}, {0, 1, 0, -2}, {0, 0, 1, -2}}});
const Space kMoving = box(21, 21, 21, {{{1, 0, 0, -10}, {0, 1, 0, -10}, {0, 0, 1, -10}}});
constexpr std::size_t kMiddle = 62;

TEST(ResampleTensors, ARigidTurnGivesRdrt) {
  for (const Turning turning : {Turning::finite_strain, Turning::preserve_direction}) {
    // The chain leads from fixed to moving, so what is seen is turned by its inverse.
    const PlacedImage out = resample_tensors(everywhere(kMoving, kFibre), kFixed, {{rotation()}}, turning);
    const Tensor want = turned(kFibre, inverse(rotation()));
    for (std::size_t v = 0; v < 125; ++v)
      for (std::size_t c = 0; c < 6; ++c) ASSERT_NEAR(at(out, v)[c], want[c], 2e-6) << name(turning) << v;
  }
}

TEST(ResampleTensors, WithoutTurningValuesAloneMove) {
  const PlacedImage out =
      resample_tensors(everywhere(kMoving, kFibre), kFixed, {{rotation()}}, Turning::none);
  for (std::size_t c = 0; c < 6; ++c)
    EXPECT_FLOAT_EQ(static_cast<float>(at(out, kMiddle)[c]), static_cast<float>(kFibre[c]));
}

TEST(ResampleTensors, EigenvaluesStayUnderAnyDeformation) {
  const imaging::Eigen3 before = imaging::eigen(kFibre);
  for (const Turning turning : {Turning::finite_strain, Turning::preserve_direction}) {
    const PlacedImage out =
        resample_tensors(everywhere(kMoving, kFibre), kFixed, {{waves(kFixed, 3)}}, turning);
    for (std::size_t v = 0; v < 125; ++v)
      for (std::size_t k = 0; k < 3; ++k)
        ASSERT_NEAR(imaging::eigen(at(out, v)).values[k], before.values[k], 2e-6) << name(turning);
  }
}

TEST(ResampleTensors, AShearTakesTheMainDirectionAlong) {
  // F = (1 s 0; 0 1 0; 0 0 1) takes y to (s, 1, 0); the rotation nearest to it turns by atan(s / 2).
  constexpr double kShear = 0.6;
  const Affine pull{{{1, -kShear, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  const PlacedImage tensors = everywhere(kMoving, {0.3, 0, 0, 1.7, 0, 0.5});
  const double length = std::hypot(kShear, 1.0);
  const auto main =
      imaging::eigen(at(resample_tensors(tensors, kFixed, {{pull}}, Turning::preserve_direction), kMiddle))
          .vectors[0];
  EXPECT_NEAR(main[0], kShear / length, 1e-6);
  EXPECT_NEAR(main[1], 1 / length, 1e-6);
  const auto strained =
      imaging::eigen(at(resample_tensors(tensors, kFixed, {{pull}}, Turning::finite_strain), kMiddle))
          .vectors[0];
  const double angle = std::atan(kShear / 2);
  EXPECT_NEAR(strained[0], std::sin(angle), 1e-6);
  EXPECT_NEAR(strained[1], std::cos(angle), 1e-6);
}

TEST(ResampleTensors, AllNumberingsOfTheVoxelsGiveOneAnswer) {
  const Space fixed = box(5, 4, 3, {{{0.9, -0.3, 0.2, -2}, {0.4, 1.1, -0.1, -2}, {0.1, 0.2, -1.4, 2}}});
  const TransformChain chain{{rotation()}, {waves(kMoving, 2)}};
  const PlacedImage want = resample_tensors(everywhere(kMoving, kFibre), fixed, chain);
  std::vector<std::size_t> source;
  for_orientations([&](const auto& order, unsigned flips) {
    const PlacedImage moving = everywhere(reordered(kMoving, order, flips, source), kFibre);
    const Space turned_fixed = reordered(fixed, order, flips, source);
    const PlacedImage out = resample_tensors(moving, turned_fixed, chain);
    for (std::size_t v = 0; v < 60; ++v)
      for (std::size_t c = 0; c < 6; ++c) ASSERT_NEAR(at(out, v)[c], at(want, source[v])[c], 1e-5);
  });
}

TEST(ResampleTensors, OutsideThereIsNoTensor) {
  const Affine far{{{1, 0, 0, 100}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  const PlacedImage out = resample_tensors(everywhere(kMoving, kFibre), kFixed, {{far}});
  EXPECT_THAT(out.image.data, testing::Each(0.0F));
}

TEST(ResampleTensors, OtherChannelsAreRefused) {
  EXPECT_THROW(resample_tensors({imaging::Image(kMoving.grid, 5), kMoving.to_world}, kFixed, {}), BadInput);
  EXPECT_THROW(parse_turning("ppd"), BadInput);
}

}  // namespace
}  // namespace warploom::registration
