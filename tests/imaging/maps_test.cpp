#include "warploom/imaging/maps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "oracle/phantom.hpp"
#include "warploom/core/error.hpp"

namespace warploom::imaging {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Elements = std::array<float, 6>;

TensorImage image_of(const std::vector<Elements>& tensors) {
  TensorImage image(Grid{std::ssize(tensors), 1, 1}, kTensorChannels);
  for (std::size_t v = 0; v < tensors.size(); ++v)
    for (int c = 0; c < kTensorChannels; ++c) image.channel(c)[v] = tensors[v][std::size_t(c)];
  return image;
}

TensorImage random_tensors(std::int64_t count) {
  TensorImage image(Grid{count, 1, 1}, kTensorChannels);
  std::mt19937 engine(2);
  std::normal_distribution<float> normal;
  for (float& element : image.data) element = normal(engine);
  return image;
}

TEST(TensorMaps, OfAFibreHaveTheValuesOfItsEigenvalues) {
  const TensorMaps maps = tensor_maps(image_of({fibre(0.6, 0, -0.8)}), {});  // 1.7, 0.3, 0.3
  const double fa = 1.4 / std::sqrt(1.7 * 1.7 + 2 * 0.3 * 0.3);              // of two equal eigenvalues
  EXPECT_NEAR(maps.fa.data[0], fa, 1e-6);
  EXPECT_NEAR(maps.md.data[0], 2.3 / 3, 1e-6);
  EXPECT_NEAR(maps.ad.data[0], 1.7, 1e-6);
  EXPECT_NEAR(maps.rd.data[0], 0.3, 1e-6);
  EXPECT_NEAR(maps.mo.data[0], 1, 1e-6);
  EXPECT_NEAR(maps.l1.data[0], 1.7, 1e-6);
  EXPECT_NEAR(maps.l2.data[0], 0.3, 1e-6);
  EXPECT_NEAR(maps.l3.data[0], 0.3, 1e-6);
  EXPECT_NEAR(maps.v1.channel(0)[0], -0.6, 1e-6);  // the largest component is positive
  EXPECT_NEAR(maps.v1.channel(1)[0], 0, 1e-6);
  EXPECT_NEAR(maps.v1.channel(2)[0], 0.8, 1e-6);
  EXPECT_NEAR(maps.rgb.channel(0)[0], 0.6 * fa, 1e-6);
  EXPECT_NEAR(maps.rgb.channel(2)[0], 0.8 * fa, 1e-6);
  EXPECT_EQ(maps.negative, 0);
}

TEST(TensorMaps, FaAndModeFollowTheirMatrixFormulas) {
  const TensorImage image = random_tensors(500);
  const TensorMaps maps = tensor_maps(image, {});
  for (std::size_t v = 0; v < 500; ++v) {
    double e[6];
    for (int c = 0; c < 6; ++c) e[c] = image.channel(c)[v];
    const double md = (e[0] + e[3] + e[5]) / 3, x = e[0] - md, y = e[3] - md, z = e[5] - md;
    const double off = e[1] * e[1] + e[2] * e[2] + e[4] * e[4];
    const double deviator = std::sqrt(x * x + y * y + z * z + 2 * off);
    const double norm = std::sqrt(e[0] * e[0] + e[3] * e[3] + e[5] * e[5] + 2 * off);
    const double determinant =
        x * (y * z - e[4] * e[4]) - e[1] * (e[1] * z - e[4] * e[2]) + e[2] * (e[1] * e[4] - y * e[2]);
    EXPECT_NEAR(maps.fa.data[v], std::min(1.0, std::sqrt(1.5) * deviator / norm), 1e-6);
    EXPECT_NEAR(maps.mo.data[v], 3 * std::sqrt(6) * determinant / std::pow(deviator, 3), 1e-6);
    EXPECT_NEAR(maps.md.data[v], md, 1e-6);
    EXPECT_NEAR(maps.l1.data[v] + 2 * maps.rd.data[v], 3 * md, 1e-5);
  }
}

TEST(TensorMaps, ModeTellsPlanesFromLines) {
  const auto maps =
      tensor_maps(image_of({{1, 0, 0, 1, 0, 0.1F}, {3, 0, 0, 2, 0, 1}, {2, 0, 0, 1, 0, 1}}), {});
  EXPECT_NEAR(maps.mo.data[0], -1, 1e-6);
  EXPECT_NEAR(maps.mo.data[1], 0, 1e-6);
  EXPECT_NEAR(maps.mo.data[2], 1, 1e-6);
}

TEST(TensorMaps, OfAnIsotropicTensorHaveNoAnisotropyAndNoMode) {
  const auto maps = tensor_maps(image_of({{0.7F, 1e-8F, 0, 0.7F, 0, 0.70000005F}}), {});
  EXPECT_NEAR(maps.fa.data[0], 0, 1e-6);
  EXPECT_EQ(maps.mo.data[0], 0);
  EXPECT_NEAR(maps.md.data[0], 0.7, 1e-6);
}

TEST(TensorMaps, NegativeEigenvaluesAreCountedAndEnterAsTheyAre) {
  const auto maps = tensor_maps(image_of({{1, 0, 0, -0.5F, 0, -0.25F}, {1, 0, 0, 1, 0, 1}}), {});
  EXPECT_EQ(maps.negative, 1);
  EXPECT_EQ(maps.fa.data[0], 1);  // 1.17 by the formula
  EXPECT_NEAR(maps.md.data[0], 0.25 / 3, 1e-6);
  EXPECT_NEAR(maps.rd.data[0], -0.375, 1e-6);
  EXPECT_NEAR(maps.l3.data[0], -0.5, 1e-6);
}

TEST(TensorMaps, AreZeroOutsideTheMaskAndWhereThereIsNoTensor) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto maps =
      tensor_maps(image_of({fibre(1, 0, 0), {}, {1, nan, 0, 1, 0, 1}, fibre(1, 0, 0)}), {0, 1, 1, 1});
  for (const Image* image : {&maps.fa, &maps.md, &maps.mo, &maps.v1, &maps.v2, &maps.v3, &maps.rgb})
    for (std::size_t v = 0; v < 3; ++v) EXPECT_EQ(image->data[v], 0);
  EXPECT_GT(maps.fa.data[3], 0.5);
}

TEST(TensorMaps, RejectWhatIsNoTensorImage) {
  EXPECT_THAT(
      [] {
        tensor_maps(Image(Grid{4, 1, 1}, 5), {});
      },
      ThrowsMessage<BadInput>(HasSubstr("this one 5")));
  EXPECT_THAT(
      [] {
        tensor_maps(Image(Grid{4, 1, 1}, 6), {1, 1, 1});
      },
      ThrowsMessage<BadInput>(HasSubstr("the mask has 3 voxels")));
}

TEST(FloorEigenvalues, RemovesTheNegativePartAndNothingElse) {
  // A fibre with the eigenvalues 1, 0.5, -0.2 along turned axes u, v, w.
  const std::array<double, 3> u{0.6, 0.8, 0}, v{0, 0, 1}, w{0.8, -0.6, 0};
  const auto tensor = [&](double smallest) {
    Elements e;
    std::size_t k = 0;
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = i; j < 3; ++j)
        e[k++] = float(1 * u[i] * u[j] + 0.5 * v[i] * v[j] + smallest * w[i] * w[j]);
    return e;
  };
  const Elements good = fibre(0.6, 0, 0.8);
  TensorImage image = image_of({tensor(-0.2), good, tensor(-0.2)});
  EXPECT_EQ(floor_eigenvalues(image, {1, 1, 0}), 1);
  for (int c = 0; c < 6; ++c) {
    EXPECT_NEAR(image.channel(c)[0], tensor(0)[std::size_t(c)], 1e-6);
    EXPECT_EQ(image.channel(c)[1], good[std::size_t(c)]);
    EXPECT_EQ(image.channel(c)[2], tensor(-0.2)[std::size_t(c)]);
  }
}

TEST(FloorEigenvalues, LeavesNothingToFloor) {
  TensorImage image = random_tensors(2000);
  EXPECT_GT(floor_eigenvalues(image, {}), 1000);
  EXPECT_EQ(floor_eigenvalues(image, {}), 0);
  EXPECT_EQ(tensor_maps(image, {}).negative, 0);
}

TEST(RotateTensors, TurnsAFibreWithTheFrame) {
  const double c = std::cos(0.7), s = std::sin(0.7);
  const std::array<std::array<double, 3>, 3> rotation{
      {{c, -s, 0}, {0, 0, -1}, {s, c, 0}}};  // a reflection too
  const std::array<double, 3> u{0.48, 0.6, -0.64};
  std::array<double, 3> turned;
  for (std::size_t i = 0; i < 3; ++i)
    turned[i] = rotation[i][0] * u[0] + rotation[i][1] * u[1] + rotation[i][2] * u[2];
  TensorImage image = image_of({fibre(u[0], u[1], u[2])});
  rotate_tensors(image, rotation);
  const Elements expected = fibre(turned[0], turned[1], turned[2]);
  for (int k = 0; k < 6; ++k) EXPECT_NEAR(image.channel(k)[0], expected[std::size_t(k)], 1e-6);
}

TEST(RotateTensors, RejectsAMatrixThatIsNoRotation) {
  TensorImage image = image_of({fibre(1, 0, 0)});
  EXPECT_THAT(
      [&] {
        rotate_tensors(image, {{{1, 0, 0}, {0, 2, 0}, {0, 0, 1}}});
      },
      ThrowsMessage<BadInput>(HasSubstr("rows 1 and 1 is 4")));
}

}  // namespace
}  // namespace warploom::imaging
