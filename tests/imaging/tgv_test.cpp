// Total generalised variation: against an independent minimiser in double precision, and what its definition
// promises.

#include "imaging/tgv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "oracle/phantom.hpp"
#include "oracle/tgv.hpp"
#include "warploom/core/error.hpp"
#include "warploom/imaging/denoise.hpp"
#include "warploom/imaging/maps.hpp"

namespace warploom::imaging {
namespace {

using oracle::GeneralisedVariation;
using testing::HasSubstr;
using testing::ThrowsMessage;

DenoiseOptions generalised(double lambda, double tolerance = 1e-5, double ratio = 2) {
  DenoiseOptions o;
  o.variation = Variation::generalised;
  o.tgv_ratio = ratio;
  o.solver = Solver::primal_dual;
  o.epsilon = 0;
  o.lambda = lambda;
  o.tolerance = tolerance;
  o.max_iterations = 40000;
  o.run.devices = {Device::cpu};
  return o;
}

/// A part of the phantom about its middle.
Image noisy_image(const Grid& grid, int channels = kTensorChannels, double sigma = 0.15) {
  const TensorImage phantom = tensor_phantom(16);
  Image image(grid, channels);
  for (int c = 0; c < channels; ++c)
    for (std::int64_t z = 0, v = 0; z < grid.nz; ++z)
      for (std::int64_t y = 0; y < grid.ny; ++y)
        for (std::int64_t x = 0; x < grid.nx; ++x, ++v)
          image.channel(c)[std::size_t(v)] =
              phantom.channel(c)[std::size_t(((z + 5) * 16 + y + 5) * 16 + x + 5)];
  add_noise(image, sigma, 5);
  return image;
}

Mask with_holes(const Grid& grid) {
  Mask mask(static_cast<std::size_t>(grid.voxels()), 1);
  for (std::size_t v = 0; v < mask.size(); ++v) mask[v] = (v * 2654435761U) % 97 < 80;
  return mask;
}

/// A tensor field that is affine in x, y and z [mm] and positive definite.
TensorImage affine_field(const Grid& grid) {
  TensorImage image(grid, kTensorChannels);
  for (int c = 0; c < kTensorChannels; ++c)
    for (std::int64_t z = 0, v = 0; z < grid.nz; ++z)
      for (std::int64_t y = 0; y < grid.ny; ++y)
        for (std::int64_t x = 0; x < grid.nx; ++x, ++v)
          image.channel(c)[std::size_t(v)] = static_cast<float>(
              (kTensorWeights[std::size_t(c)] == 1 ? 2 : 0) + 0.01 * (c + 1) * double(x) * grid.spacing[0] -
              0.01 * c * double(y) * grid.spacing[1] + 0.01 * (3 - c) * double(z) * grid.spacing[2]);
  return image;
}

double largest_difference(const Image& a, const Image& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i)
    if (!std::isnan(b.data[i])) largest = std::max(largest, std::abs(double{a.data[i]} - b.data[i]));
  return largest;
}

struct Case {
  const char* name;
  Grid grid;
  int channels = kTensorChannels;
  bool tensor = true, holes = false;
  double lambda = 4, ratio = 2, sigma = 0.15;
};
std::ostream& operator<<(std::ostream& stream, const Case& c) { return stream << c.name; }

class Generalised : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Tgv, Generalised,
                         testing::Values(Case{"tensors", {6, 5, 4}},
                                         Case{"holes_and_spacing", {6, 5, 4, {1.5, 1, 2}}, 6, true, true},
                                         Case{"plane", {8, 7, 1, {2, 2, 9}}, 6, true, true, 1.5},
                                         Case{"two_slices", {5, 4, 2}, 6, true, false, 3, 0.5},
                                         Case{"strong_noise", {5, 5, 4}, 6, true, false, 6, 2, 0.6},
                                         Case{"line", {1, 12, 1}, 6, true},
                                         Case{"channel", {6, 5, 4}, 1, false, true},
                                         Case{"three_channels", {5, 5, 3}, 3, false, false, 3, 4}),
                         [](const auto& c) { return c.param.name; });

TEST_P(Generalised, FindsTheMinimumOfTheOracle) {
  const Case& c = GetParam();
  Image image = noisy_image(c.grid, c.channels, c.sigma);
  const Image noisy = image;
  const Mask mask = c.holes ? with_holes(c.grid) : Mask{};
  const DenoiseOptions o = generalised(c.lambda, 1e-5, c.ratio);
  const DenoiseReport report = c.tensor ? denoise_tensors(image, mask, o) : denoise_channels(image, mask, o);
  EXPECT_EQ(report.stop, StopReason::converged);
  EXPECT_EQ(report.tgv_ratio, c.ratio);
  const auto best = GeneralisedVariation(noisy, mask, c.tensor, c.lambda, c.ratio).minimise(20000);
  EXPECT_NEAR(report.objective, best.objective, 2e-5 * best.objective);
  const oracle::TotalVariation field(noisy, mask, c.tensor, c.lambda, 0);
  EXPECT_LT(oracle::distance(field.field(image), best.u), 5e-3);
  EXPECT_GT(oracle::distance(field.noisy(), best.u), 2e-2) << "there was nothing to do";
  EXPECT_GE(report.projected, c.sigma > 0.5 ? 20 : 0);
}

TEST(Tgv, ReportedGapBoundsTheDistanceToTheMinimum) {
  const Grid grid{6, 5, 4, {1, 2, 1.5}};
  const TensorImage noisy = noisy_image(grid);
  const auto best = GeneralisedVariation(noisy, {}, true, 3, 2).minimise(8000);
  const oracle::TotalVariation field(noisy, {}, true, 3, 0);
  for (const double tolerance : {1e-1, 1e-2, 1e-3, 1e-4}) {
    TensorImage image = noisy;
    const DenoiseReport report = denoise_tensors(image, {}, generalised(3, tolerance));
    EXPECT_LE(report.gap, tolerance);
    EXPECT_GT(report.gap, tolerance / 100) << "stopped far too late";
    const double room = report.gap * report.objective + 2e-6 * best.objective;
    EXPECT_LE(report.objective - best.objective, room) << tolerance;
    EXPECT_GE(report.objective, best.objective * (1 - 1e-6));
    const auto u = field.field(image);
    double square = 0;
    for (std::size_t i = 0; i < u.size(); ++i)
      square += double{kTensorWeights[i / std::size_t(grid.voxels())]} * std::pow(u[i] - best.u[i], 2);
    EXPECT_LE(3.0 / 2 * square, room) << tolerance;
    for (const DenoiseStep& step : report.history)
      EXPECT_LE(step.objective - best.objective, step.gap * step.objective + 2e-6 * best.objective);
  }
}

TEST(Tgv, AffineFieldStaysAsItIsAndTotalVariationFlattensIt) {
  for (const Grid& grid : {Grid{9, 8, 7, {1, 2, 1.5}}, Grid{12, 9, 1, {2, 2, 5}}}) {
    const TensorImage before = affine_field(grid);
    for (const Mask& mask : {Mask{}, with_holes(grid)}) {
      TensorImage image = before;
      const DenoiseReport report = denoise_tensors(image, mask, generalised(1));
      EXPECT_EQ(report.stop, StopReason::converged) << report.gap;
      EXPECT_EQ(report.projected, 0);
      EXPECT_LT(largest_difference(image, before), 5e-3);
      TensorImage flat = before;
      DenoiseOptions tv = generalised(1);
      tv.variation = Variation::total;
      denoise_tensors(flat, mask, tv);
      EXPECT_GT(largest_difference(flat, before), 0.05);
    }
  }
}

// With a single channel both variations take the same norm. Where most of the result is flat no slope that
// is the same everywhere is worth its price.
TEST(Tgv, BecomesTotalVariationAsTheRatioGrows) {
  Image image(Grid{9, 8, 7}, 1);
  for (std::size_t v = 0; v < image.data.size(); ++v) image.data[v] = v % 9 / 3 == 1 ? 2.0F : 1.0F;
  add_noise(image, 0.03, 3);
  Image tv = image, one = image, many = image;
  DenoiseOptions o = generalised(5, 1e-5);
  o.variation = Variation::total;
  const double objective = denoise_channels(tv, {}, o).objective;
  EXPECT_NEAR(denoise_channels(many, {}, generalised(5, 1e-5, 100)).objective, objective, 3e-5 * objective);
  EXPECT_LT(largest_difference(many, tv), 1e-2);
  denoise_channels(one, {}, generalised(5, 1e-5, 0.5));
  EXPECT_GT(largest_difference(one, tv), 3e-2);
}

TEST(Tgv, ResultIsPositiveSemidefinite) {
  TensorImage image = noisy_image({6, 6, 6}, kTensorChannels, 0.6);
  DenoiseOptions o = generalised(6, 1e-3);
  o.max_iterations = 100;
  EXPECT_GT(denoise_tensors(image, {}, o).projected, 50);
  for (std::size_t v = 0; v < 216; ++v) {
    std::array<double, 6> d;
    for (int c = 0; c < 6; ++c) d[std::size_t(c)] = image.channel(c)[v];
    EXPECT_GT(eigen(d).values[2], -2e-6 * (1 + eigen(d).values[0])) << v;
  }
}

TEST(Tgv, TurningTheTensorsTurnsTheResult) {
  const TensorImage noisy = noisy_image({5, 5, 4});
  // By 45 degrees about z.
  const auto turned = [](const TensorImage& from) {
    TensorImage to = from;
    for (std::size_t v = 0; v < from.channel(0).size(); ++v) {
      const auto d = [&](int c) { return from.channel(c)[v]; };
      const float half = std::sqrt(0.5F);
      to.channel(0)[v] = (d(0) + d(3)) / 2 - d(1), to.channel(3)[v] = (d(0) + d(3)) / 2 + d(1);
      to.channel(1)[v] = (d(0) - d(3)) / 2;
      to.channel(2)[v] = half * (d(2) - d(4)), to.channel(4)[v] = half * (d(2) + d(4));
    }
    return to;
  };
  TensorImage first = noisy, second = turned(noisy);
  denoise_tensors(first, {}, generalised(3, 1e-6));
  denoise_tensors(second, {}, generalised(3, 1e-6));
  EXPECT_LT(largest_difference(turned(first), second), 5e-3);
}

TEST(Tgv, LengthsScaleWithTheSpacing) {
  Image one = noisy_image({5, 5, 4}), two = one;
  two.grid.spacing = {2, 2, 2};
  const double objective = denoise_tensors(one, {}, generalised(4)).objective;
  EXPECT_NEAR(denoise_tensors(two, {}, generalised(2)).objective, objective / 2, 1e-6 * objective);
  EXPECT_EQ(largest_difference(one, two), 0);
}

TEST(Tgv, GivesTheSameForAnyNumberOfThreads) {
  TensorImage noisy = tensor_phantom(29);  // more voxels than one thread takes at once
  add_noise(noisy, 0.15, 1);
  DenoiseOptions o = generalised(4);
  o.max_iterations = 20;
  std::vector<TensorImage> results;
  for (const unsigned threads : {1U, 2U, 5U}) {
    results.push_back(noisy);
    o.run.threads = threads;
    EXPECT_EQ(denoise_tensors(results.back(), {}, o).iterations, 20);
    EXPECT_EQ(largest_difference(results.back(), results.front()), 0);
  }
}

TEST(Tgv, ChoosesLambdaFromTheNoise) {
  TensorImage image = noisy_image({11, 11, 11});
  const TensorImage noisy = image;
  const DenoiseReport report = denoise_tensors(image, {}, generalised(0, 1e-3));
  ASSERT_EQ(report.noise.size(), 6U);
  EXPECT_GT(report.lambda, 0);
  double removed = 0, noise = 0;
  for (std::size_t i = 0; i < image.data.size(); ++i) {
    const double weight = double{kTensorWeights[i / (11 * 11 * 11)]};
    removed += weight * std::pow(double{image.data[i]} - noisy.data[i], 2);
    noise += weight * 0.15 * 0.15;
  }
  EXPECT_GT(removed / noise, 0.6);
  EXPECT_LT(removed / noise, 1.05);
}

TEST(Tgv, RefusesWhatItCannotDo) {
  TensorImage image = noisy_image({4, 4, 4});
  const TensorImage before = image;
  const auto refused = [&](const DenoiseOptions& o, const char* why) {
    EXPECT_THAT([&] { denoise_tensors(image, {}, o); }, ThrowsMessage<BadInput>(HasSubstr(why)));
    EXPECT_EQ(largest_difference(image, before), 0);
  };
  DenoiseOptions o = generalised(4);
  o.solver = Solver::accelerated;
  refused(o, "primal-dual, not by accelerated");
  o = generalised(4);
  o.epsilon = 0.01;
  refused(o, "without smoothing");
  for (const double ratio : {0.0, -1.0, 101.0, std::nan("")})
    refused(generalised(4, 1e-4, ratio), "the ratio");
}

TEST(Tgv, StopsWhenInterruptedAndLeavesTheImage) {
  TensorImage image = noisy_image({6, 6, 6});
  const TensorImage before = image;
  const std::atomic<bool> stop = true;
  DenoiseOptions o = generalised(4, 1e-9);
  o.run.stop = &stop;
  EXPECT_THROW(denoise_tensors(image, {}, o), Interrupted);
  EXPECT_EQ(largest_difference(image, before), 0);
}

// --- the operators

/// Fields of noise on slopes and strains that exist, as the solver holds them.
class Adjoint : public testing::TestWithParam<Grid> {};
INSTANTIATE_TEST_SUITE_P(Tgv, Adjoint,
                         testing::Values(Grid{7, 6, 5, {1, 2, 0.5}}, Grid{9, 8, 1, {2, 1, 1}}, Grid{1, 5, 6},
                                         Grid{6, 1, 1}, Grid{1, 1, 1}));

TEST_P(Adjoint, IsTheTransposed) {
  const Image noisy = [&] {
    Image image(GetParam(), 1);
    const Mask mask = with_holes(image.grid);
    for (std::size_t v = 1; v < mask.size(); ++v)
      if (mask[v] == 0) image.data[v] = std::numeric_limits<float>::quiet_NaN();
    return image;
  }();
  TvProblem problem;
  problem.grid = noisy.grid;
  problem.constants.channels = 1;
  const std::int64_t extents[3] = {noisy.grid.nx, noisy.grid.ny, noisy.grid.nz};
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (extents[axis] > 1) problem.constants.inverse_spacing[axis] = 1 / noisy.grid.spacing[axis];
  const TgvShape s = tgv_shape(problem);
  const std::int64_t padding = s.padding;
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> us(std::size_t(tgv_floats(s, 1))), ws(std::size_t(tgv_floats(s, 3)), kNone),
      ps(std::size_t(tgv_floats(s, 3))), qs(std::size_t(tgv_floats(s, 6)));
  float *u = us.data() + padding, *w = ws.data() + padding, *p = ps.data() + padding,
        *q = qs.data() + padding;
  std::mt19937 engine(7);
  const auto random = [&] { return static_cast<float>(engine()) / 4294967296.0F - 0.5F; };
  for (std::int64_t v = 0; v < s.voxels; ++v) {
    u[v] = std::isnan(noisy.data[std::size_t(v)]) ? kNone : random();
    for (int axis = 0; axis < 3; ++axis)
      if (tgv_exists(noisy.data.data(), s, v, axis)) {
        w[axis * s.stride + v] = random();
        p[axis * s.stride + v] = random();
      }
  }

  double slopes = 0, strains = 0, divergences = 0, adjoints = 0;
  for (std::int64_t v = 0; v < s.voxels; ++v) {
    float e[6], g[3];
    tgv_strain(w, s, v, e);
    for (int k = 0; k < 6; ++k) {
      if (e[k] != 0) q[k * s.stride + v] = random();
      strains += double{tgv_strain_weight(k)} * double{e[k]} * double{q[k * s.stride + v]};
    }
    tgv_slope(u, w, s, v, g);
    for (int axis = 0; axis < 3; ++axis) slopes += double{g[axis]} * double{p[axis * s.stride + v]};
  }
  for (std::int64_t v = 0; v < s.voxels; ++v) {
    if (!std::isnan(u[v]))
      divergences -= double{u[v]} * double{tgv_divergence(p, s, v)};
    else
      EXPECT_EQ(tgv_divergence(p, s, v), 0) << v;
    const float of_q[3] = {tgv_adjoint_x(q, s, v), tgv_adjoint_y(q, s, v), tgv_adjoint_z(q, s, v)};
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t at = axis * s.stride + v;
      if (std::isnan(w[at])) {
        EXPECT_EQ(of_q[axis], 0) << v << ' ' << axis;
        continue;
      }
      divergences -= double{w[at]} * double{p[at]};
      adjoints += double{w[at]} * double{of_q[axis]};
    }
  }
  EXPECT_NEAR(slopes, divergences, 1e-5);
  EXPECT_NEAR(strains, adjoints, 1e-5);
  EXPECT_GT(std::abs(strains), noisy.grid.voxels() > 40 ? 1e-3 : -1);
}

}  // namespace
}  // namespace warploom::imaging
