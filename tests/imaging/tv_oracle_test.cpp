// The oracle of total variation against finite differences and hand calculation, before others are measured
// by it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "oracle/lbfgs.hpp"
#include "oracle/phantom.hpp"
#include "oracle/random.hpp"
#include "oracle/tv.hpp"

namespace warploom::imaging {
namespace {

using oracle::Field;
using oracle::TotalVariation;

double dot(const Field& a, const Field& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

Field random_field(std::size_t size, std::uint32_t seed) {
  Random random(seed);
  Field field(size);
  for (double& value : field) value = random.below(2000001) / 1e6 - 1;
  return field;
}

/// An anisotropic grid, flat or not, with a hole in the mask and a NaN.
struct OracleCase {
  std::int64_t nz;
  bool tensor;
};
class TvOracle : public testing::TestWithParam<OracleCase> {
 protected:
  TvOracle() : noisy_(Grid{5, 4, GetParam().nz, {1.5, 2, 0.8}}, GetParam().tensor ? 6 : 3) {
    const Field values = random_field(noisy_.data.size(), 1);
    std::ranges::transform(values, noisy_.data.begin(), [](double v) { return static_cast<float>(v); });
    if (GetParam().tensor)
      for (int c : {0, 3, 5})
        for (float& value : noisy_.channel(c)) value += 2;
    noisy_.channel(1)[7] = std::numeric_limits<float>::quiet_NaN();
    mask_.assign(noisy_.channel(0).size(), 1);
    mask_[13] = 0;
  }
  Image noisy_;
  Mask mask_;
};
INSTANTIATE_TEST_SUITE_P(Images, TvOracle,
                         testing::Values(OracleCase{1, true}, OracleCase{3, true}, OracleCase{3, false}));

TEST_P(TvOracle, DivergenceIsTheNegativeAdjointOfTheGradient) {
  const TotalVariation f(noisy_, mask_, GetParam().tensor, 4, 0.1);
  const auto n = std::size_t(f.voxels());
  const Field u = random_field(n, 2);
  const oracle::VectorField p = {random_field(n, 3), random_field(n, 4), random_field(n, 5)};
  const oracle::VectorField g = f.grad(u.data());
  const double left = dot(g[0], p[0]) + dot(g[1], p[1]) + dot(g[2], p[2]);
  EXPECT_GT(std::abs(left), 0.1);
  EXPECT_NEAR(left, -dot(u, f.div(p)), 1e-12);
}

TEST_P(TvOracle, GradientAgreesWithFiniteDifferences) {
  const TotalVariation f(noisy_, mask_, GetParam().tensor, 4, 0.1);
  Field d = f.noisy();
  const Field shift = random_field(d.size(), 6);
  for (std::size_t i = 0; i < d.size(); ++i) d[i] += 0.3 * shift[i];
  const Field gradient = f.gradient(d);
  for (std::size_t i = 0; i < d.size(); ++i) {
    const auto c = i / std::size_t(f.voxels());
    if (!f.inside(std::int64_t(i) % f.voxels())) continue;
    const double weight = GetParam().tensor ? kTensorWeights[c] : 1, h = 1e-5;
    Field up = d, down = d;
    up[i] += h, down[i] -= h;
    EXPECT_NEAR(weight * gradient[i], (f.objective(up) - f.objective(down)) / (2 * h), 1e-6) << i;
  }
}

TEST_P(TvOracle, WhatLiesOutsideHasNoInfluence) {
  const TotalVariation f(noisy_, mask_, GetParam().tensor, 4, 0.1);
  Field d = f.noisy();
  for (int axis = 0; axis < 3; ++axis) EXPECT_EQ(f.grad(d.data())[std::size_t(axis)][13], 0);
  d[13] = 100, d[7] = -100;
  EXPECT_EQ(f.tv(d.data()), f.tv(f.noisy().data()));
  EXPECT_EQ(f.regularity(d), f.regularity(f.noisy()));
  EXPECT_EQ(f.gradient(d)[13], 0);
  EXPECT_EQ(f.inside_voxels(), f.voxels() - 2);
}

Image step_image(double spacing) {
  Image image(Grid{4, 3, 2, {spacing, 1, 1}}, 1);
  for (std::size_t v = 0; v < image.data.size(); ++v) image.data[v] = v % 4 < 2 ? 0.0F : 3.0F;
  return image;
}

TEST(TvOracleByHand, StepAcrossTheSpacing) {  // 6 voxels see the step, 18 nothing
  const double epsilon = 0.4;
  const TotalVariation f(step_image(1.5), {}, false, 2, epsilon);
  EXPECT_NEAR(f.objective(f.noisy()), 6 * std::hypot(2, epsilon) + 18 * epsilon, 1e-12);
  Field d = f.noisy();
  d[0] += 0.5;
  EXPECT_NEAR(f.fidelity(d), 0.25, 1e-15);
}

TEST(TvOracleByHand, OffDiagonalElementsCountTwice) {
  Image image(Grid{4, 3, 2}, kTensorChannels);
  std::ranges::copy(step_image(1).data, image.channel(1).begin());
  const TotalVariation f(image, {}, true, 2, 0);
  EXPECT_NEAR(f.regularity(f.noisy()), std::sqrt(2.0) * 6 * 3, 1e-12);
}

TEST(TvOracleByHand, ScalesWithTheUnit) {
  TensorImage image = tensor_phantom(5), twice = image;
  add_noise(image, 0.2, 3);
  for (std::size_t i = 0; i < image.data.size(); ++i) twice.data[i] = 3 * image.data[i];
  const TotalVariation f(image, {}, true, 4, 0.1), g(twice, {}, true, 4.0 / 3, 0.3);
  Field d = random_field(image.data.size(), 8), e = d;
  for (double& value : e) value *= 3;
  EXPECT_NEAR(g.objective(e), 3 * f.objective(d), 1e-4);  // 3 * float is rounded
}

// The functional sees axes alike: x, y and z of the grid and of the tensor exchanged together change nothing.
TEST(TvOracleByHand, DoesNotPreferAnAxis) {
  TensorImage image = tensor_phantom(6);
  add_noise(image, 0.2, 3);
  image.grid.spacing = {1, 2, 3};
  TensorImage turned(Grid{6, 6, 6, {2, 3, 1}}, kTensorChannels);  // new x, y, z: old y, z, x
  const int channel[6] = {3, 4, 1, 5, 2, 0};
  for (int c = 0; c < 6; ++c)
    for (std::size_t z = 0; z < 6; ++z)
      for (std::size_t y = 0; y < 6; ++y)
        for (std::size_t x = 0; x < 6; ++x)
          turned.channel(c)[(z * 6 + y) * 6 + x] = image.channel(channel[c])[(y * 6 + x) * 6 + z];
  const TotalVariation f(image, {}, true, 4, 0.1), g(turned, {}, true, 4, 0.1);
  EXPECT_NEAR(f.objective(f.noisy()), g.objective(g.noisy()), 1e-9);
}

TEST(TvOracleByHand, ConstantImageIsItsOwnMinimiser) {
  Image image(Grid{4, 4, 4}, kTensorChannels);
  for (int c : {0, 3, 5}) std::ranges::fill(image.channel(c), 1.0F);
  const TotalVariation f(image, {}, true, 4, 0.1);
  EXPECT_EQ(f.gradient(f.noisy()), Field(image.data.size(), 0.0));
}

class TvOracleInTheFactor : public testing::Test {
 protected:
  TvOracleInTheFactor() : noisy_(tensor_phantom(4)), functional_(noise(), {}, true, 4, 0.1) {
    l_ = functional_.factor(functional_.noisy());
    const Field shift = random_field(l_.size(), 9);
    for (std::size_t i = 0; i < l_.size(); ++i) l_[i] += 0.2 * shift[i];
  }
  const TensorImage& noise() {
    add_noise(noisy_, 0.3, 5);
    return noisy_;
  }
  double finite_difference(std::size_t i) const {
    const double h = 1e-5;
    Field up = l_, down = l_;
    up[i] += h, down[i] -= h;
    return (functional_.objective(functional_.product(up)) -
            functional_.objective(functional_.product(down))) /
           (2 * h);
  }
  TensorImage noisy_;
  TotalVariation functional_;
  Field l_;
};

TEST_F(TvOracleInTheFactor, FactorOfPositiveTensorsMultipliesBack) {
  const TensorImage truth = tensor_phantom(6);
  const TotalVariation f(truth, {}, true, 4, 0.1);
  EXPECT_LT(oracle::distance(f.product(f.factor(f.noisy())), f.noisy()), 1e-14);
}

TEST_F(TvOracleInTheFactor, GradientAgreesWithFiniteDifferences) {
  const Field gradient = functional_.factor_gradient(l_);
  for (std::size_t i = 0; i < l_.size(); ++i) EXPECT_NEAR(gradient[i], finite_difference(i), 2e-6) << i;
}

TEST_F(TvOracleInTheFactor, PrintedStepOfFigure48IsRefutedByFiniteDifferences) {
  const Field printed = functional_.factor_gradient(l_, /*printed=*/true);
  const auto n = std::size_t(functional_.voxels());
  for (std::size_t element = 0; element < 6; ++element) {
    double worst = 0;
    for (std::size_t v = 0; v < n; ++v)
      worst = std::max(worst, std::abs(printed[element * n + v] - finite_difference(element * n + v)));
    if (element == 5)  // l33 has one product only
      EXPECT_LT(worst, 2e-6);
    else
      EXPECT_GT(worst, 0.5) << "element " << element;
  }
}

// Why L is a bad place to search: the gradient in L vanishes wherever L does, minimum or not.
TEST_F(TvOracleInTheFactor, SingularFactorIsStationaryWithoutBeingAMinimum) {
  const Field zero(l_.size(), 0.0);
  EXPECT_EQ(functional_.factor_gradient(zero), zero);
  const double at_zero = functional_.objective(zero);
  EXPECT_LT(functional_.objective(functional_.noisy()), 0.5 * at_zero);
  EXPECT_GT(functional_.gap_bound(zero, 1e-3), 0.5 * at_zero);
}

TEST(TvOracleProjection, RaisesNegativeEigenvaluesAndLeavesTheRest) {
  Image image(Grid{2, 1, 1}, kTensorChannels);
  // Eigenvalues 3, -1 of [[1, 2], [2, 1]] and 0.5: projected to 3/2 [[1, 1], [1, 1]] and 0.5.
  const float first[6] = {1, 2, 0, 1, 0, 0.5F}, second[6] = {2, 1, 0.5F, 2, 0.25F, 1};
  for (int c = 0; c < 6; ++c) image.channel(c)[0] = first[c], image.channel(c)[1] = second[c];
  const TotalVariation f(image, {}, true, 1, 0.1);
  const Field p = f.project(f.noisy());
  const double want[6] = {1.5, 1.5, 0, 1.5, 0, 0.5};
  for (std::size_t c = 0; c < 6; ++c) {
    EXPECT_NEAR(p[2 * c], want[c], 1e-14);
    EXPECT_EQ(p[2 * c + 1], second[c]);
  }
}

TEST(Lbfgs, FindsTheMinimumOfRosenbrocksFunction) {
  std::vector<double> x = {-1.2, 1, -1.2, 1};
  const auto result = lbfgs(
      [](const std::vector<double>& at, std::vector<double>& g) {
        double value = 0;
        for (std::size_t i = 0; i < 4; i += 2) {
          const double a = at[i + 1] - at[i] * at[i], b = 1 - at[i];
          value += 100 * a * a + b * b;
          g[i] = -400 * a * at[i] - 2 * b;
          g[i + 1] = 200 * a;
        }
        return value;
      },
      x, 1000, 1e-13);
  EXPECT_LT(result.value, 1e-20);
  for (double value : x) EXPECT_NEAR(value, 1, 1e-9);
}

TEST(Lbfgs, ReachesTheMinimumOfTotalVariationInTheFactor) {
  TensorImage image = tensor_phantom(8);
  add_noise(image, 0.15, 1);
  const TotalVariation f(image, {}, true, 4, 1e-2);
  const oracle::Minimum minimum = oracle::minimise(f);
  const double lipschitz = 4 + 12 * (1 / 1e-2 + double(f.voxels()) / f.regularity(minimum.d));
  // The bound in D, which is convex, is no part of the search in L.
  EXPECT_LT(f.gap_bound(minimum.d, 1 / lipschitz), 1e-9 * minimum.objective);
}

}  // namespace
}  // namespace warploom::imaging
