#include "warploom/registration/measure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "warploom/core/error.hpp"

namespace warploom::registration {
namespace {

imaging::Image noise(const imaging::Grid& grid, unsigned seed) {
  imaging::Image out(grid, 1);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (float& v : out.data) v = normal(random);
  return out;
}

// The definition, window by window.
double lncc_by_hand(const imaging::Image& fixed, const imaging::Image& moving, int radius) {
  const auto& g = fixed.grid;
  double total = 0;
  const auto window = [radius](std::int64_t at, std::int64_t n) {
    return std::pair(std::max<std::int64_t>(0, at - radius), std::min<std::int64_t>(n - 1, at + radius));
  };
  for (std::int64_t z = 0; z < g.nz; ++z)
    for (std::int64_t y = 0; y < g.ny; ++y)
      for (std::int64_t x = 0; x < g.nx; ++x) {
        double n = 0, si = 0, sj = 0, sii = 0, sjj = 0, sij = 0;
        const auto [x0, x1] = window(x, g.nx);
        const auto [y0, y1] = window(y, g.ny);
        const auto [z0, z1] = window(z, g.nz);
        for (std::int64_t k = z0; k <= z1; ++k)
          for (std::int64_t j = y0; j <= y1; ++j)
            for (std::int64_t i = x0; i <= x1; ++i) {
              const auto at = static_cast<std::size_t>((k * g.ny + j) * g.nx + i);
              const double a = double(fixed.data[at]), b = double(moving.data[at]);
              ++n, si += a, sj += b, sii += a * a, sjj += b * b, sij += a * b;
            }
        const double a = sij / n - si * sj / n / n + 1e-3, b = sii / n - si * si / n / n + 1e-3,
                     c = sjj / n - sj * sj / n / n + 1e-3;
        total += a * a / (b * c);
      }
  return total / static_cast<double>(g.voxels());
}

struct Case {
  Measure measure;
  int radius;
  imaging::Grid grid;
};

class EveryMeasure : public testing::TestWithParam<Case> {};

TEST_P(EveryMeasure, DerivativeIsThatOfFiniteDifferences) {
  const auto [measure, radius, grid] = GetParam();
  const imaging::Image fixed = noise(grid, 1), change = noise(grid, 3);
  imaging::Image moving = noise(grid, 2);
  // ngf has a kink where slopes are at right angles, which differences would step over.
  if (measure == Measure::ngf)
    for (std::size_t i = 0; i < moving.data.size(); ++i)
      moving.data[i] = 0.1F * moving.data[i] - 0.8F * fixed.data[i];
  const MeasuredImages at = measure_images(fixed, moving, measure, radius);
  for (const bool of_moving : {false, true}) {
    constexpr float kStep = 2e-3F;
    double ends[2], predicted = 0;
    for (int side = 0; side < 2; ++side) {
      imaging::Image f = fixed, m = moving;
      imaging::Image& varied = of_moving ? m : f;
      for (std::size_t i = 0; i < varied.data.size(); ++i)
        varied.data[i] += (side == 0 ? -kStep : kStep) * change.data[i];
      ends[side] =
          measure == Measure::lncc ? lncc_by_hand(f, m, radius) : measure_images(f, m, measure, radius).value;
    }
    for (std::size_t i = 0; i < change.data.size(); ++i)
      predicted += double(change.data[i]) * double((of_moving ? at.by_moving : at.by_fixed)[i]);
    const double measured = (ends[1] - ends[0]) / (2 * double(kStep));
    EXPECT_NEAR(predicted, measured, 2e-3 * std::abs(measured) + 1e-5) << (of_moving ? "moving" : "fixed");
  }
}

TEST_P(EveryMeasure, IsSymmetric) {
  const auto [measure, radius, grid] = GetParam();
  const imaging::Image fixed = noise(grid, 1), moving = noise(grid, 2);
  const MeasuredImages a = measure_images(fixed, moving, measure, radius),
                       b = measure_images(moving, fixed, measure, radius);
  EXPECT_NEAR(a.value, b.value, 1e-6);
  for (std::size_t i = 0; i < a.by_fixed.size(); ++i) ASSERT_NEAR(a.by_fixed[i], b.by_moving[i], 1e-6) << i;
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryMeasure,
    testing::Values(Case{Measure::lncc, 1, {7, 6, 5}}, Case{Measure::lncc, 2, {9, 8, 7}},
                    Case{Measure::lncc, 2, {41, 5, 3}}, Case{Measure::lncc, 4, {18, 3, 20}},
                    Case{Measure::lncc, 2, {37, 19, 1}}, Case{Measure::lncc, 3, {1, 1, 9}},
                    Case{Measure::nmi, 2, {30, 20, 9}}, Case{Measure::nmi, 2, {50, 60, 1}},
                    Case{Measure::ngf, 2, {7, 6, 5, {1, 1.5, 3}}}, Case{Measure::ngf, 2, {40, 17, 1}},
                    Case{Measure::ngf, 2, {2, 1, 9, {2, 1, 1}}}, Case{Measure::ssd, 2, {7, 6, 5}},
                    Case{Measure::ssd, 2, {70, 3, 1}}));

TEST(Lncc, IsItsDefinition) {
  for (const int radius : {1, 2, 3, 5}) {
    const imaging::Image fixed = noise({40, 13, 9}, 1), moving = noise({40, 13, 9}, 2);
    EXPECT_NEAR(measure_images(fixed, moving, Measure::lncc, radius).value,
                lncc_by_hand(fixed, moving, radius), 1e-6)
        << radius;
  }
}

TEST(Lncc, OfEqualImagesIsOne) {
  imaging::Image image = noise({20, 19, 18}, 1);
  for (std::size_t i = 0; i < image.data.size(); ++i) image.data[i] = i % 20 < 9 ? image.data[i] : 0.5F;
  EXPECT_NEAR(measure_images(image, image).value, 1, 1e-6);
}

TEST(Lncc, DoesNotMindBrightnessAndContrast) {
  const imaging::Image fixed = noise({20, 19, 18}, 1);
  imaging::Image darker = fixed, inverted = fixed;
  for (float& v : darker.data) v = 0.6F * v - 0.4F;
  for (float& v : inverted.data) v = 0.4F - v;
  EXPECT_NEAR(measure_images(fixed, darker).value, 1, 1e-3);
  EXPECT_NEAR(measure_images(fixed, inverted).value, 1, 5e-3);  // 4 e, since the noise is not inverted
}

TEST(Nmi, IsThatOfTwoValuesThatTellOfEachOther) {
  // Two values far apart, each half of the voxels, through any map of values: H(I) = H(J) = H(I, J), but for
  // the spline.
  imaging::Image fixed({20, 10, 10}, 1), moving = fixed, blind = fixed;
  for (std::size_t i = 0; i < fixed.data.size(); ++i) {
    fixed.data[i] = i % 2 == 0 ? -1.0F : 2.0F;
    moving.data[i] = i % 2 == 0 ? 3.0F : 0.5F;
    blind.data[i] = i / 2 % 2 == 0 ? 3.0F : 0.5F;
  }
  const double alike = measure_images(fixed, moving, Measure::nmi).value;
  EXPECT_GT(alike, 0.2);
  EXPECT_NEAR(measure_images(fixed, blind, Measure::nmi).value, 0, 1e-6);
}

// The definition, voxel by voxel.
double ngf_by_hand(const imaging::Image& fixed, const imaging::Image& moving) {
  const auto& g = fixed.grid;
  const double smallest = std::min({g.spacing[0], g.spacing[1], g.spacing[2]});
  double total = 0;
  for (std::int64_t z = 0; z < g.nz; ++z)
    for (std::int64_t y = 0; y < g.ny; ++y)
      for (std::int64_t x = 0; x < g.nx; ++x) {
        const auto slope = [&](const imaging::Image& of, std::size_t axis) {
          std::array<std::int64_t, 3> up{x, y, z}, down = up;
          const std::int64_t n[3] = {g.nx, g.ny, g.nz};
          up[axis] = std::min(n[axis] - 1, up[axis] + 1),
          down[axis] = std::max<std::int64_t>(0, down[axis] - 1);
          const auto at = [&](const std::array<std::int64_t, 3>& p) {
            return double(of.data[static_cast<std::size_t>((p[2] * g.ny + p[1]) * g.nx + p[0])]);
          };
          return (at(up) - at(down)) /
                 (g.spacing[axis] / smallest * static_cast<double>(up[axis] - down[axis]));
        };
        double a = 0.01, b = 0.01, c = 0.01;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const double i = slope(fixed, axis), j = slope(moving, axis);
          a += i * j, b += i * i, c += j * j;
        }
        a = std::abs(a - 0.01) + 0.01;
        total += a * a / (b * c);
      }
  return total / static_cast<double>(g.voxels());
}

TEST(Ngf, IsItsDefinition) {
  const imaging::Grid grid{11, 9, 8, {1.5, 1, 2}};
  const imaging::Image fixed = noise(grid, 1), moving = noise(grid, 2);
  EXPECT_NEAR(measure_images(fixed, moving, Measure::ngf).value, ngf_by_hand(fixed, moving), 1e-6);
  EXPECT_NEAR(measure_images(fixed, fixed, Measure::ngf).value, 1, 1e-6);
}

TEST(Ngf, TakesEdgesAndNotTheirContrast) {
  const imaging::Image fixed = noise({20, 19, 18}, 1);
  imaging::Image inverted = fixed;
  for (float& v : inverted.data) v = 0.4F - v;
  EXPECT_NEAR(measure_images(fixed, inverted, Measure::ngf).value, 1, 1e-5);
  EXPECT_LT(measure_images(fixed, noise({20, 19, 18}, 2), Measure::ngf).value, 0.5);
}

TEST(MeasureImages, RefusesWhatCannotBeCompared) {
  EXPECT_THROW(measure_images(noise({4, 4, 4}, 1), noise({4, 4, 5}, 1)), BadInput);
  EXPECT_THROW(measure_images(noise({4, 4, 4}, 1), imaging::Image({4, 4, 4}, 2)), BadInput);
  EXPECT_THROW(measure_images(noise({4, 4, 4}, 1), noise({4, 4, 4}, 1), Measure::lncc, 0), BadInput);
  EXPECT_THROW(measure_images(noise({4, 4, 4}, 1), noise({4, 4, 4}, 1), static_cast<Measure>(9)), BadInput);
  EXPECT_THROW(parse_measure("correlation"), BadInput);
}

}  // namespace
}  // namespace warploom::registration
