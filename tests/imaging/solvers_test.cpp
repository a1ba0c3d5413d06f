// The solvers against an independent minimiser in double precision, L-BFGS over the Cholesky factor.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracle/measured.hpp"
#include "oracle/phantom.hpp"
#include "oracle/tv.hpp"
#include "warploom/imaging/denoise.hpp"

namespace warploom::imaging {
namespace {

using oracle::Field;
using oracle::TotalVariation;

TensorImage noisy_phantom(std::int64_t n, double sigma = 0.15) {
  TensorImage image = tensor_phantom(n);
  add_noise(image, sigma, 7);
  return image;
}

DenoiseOptions options_with(double lambda, double epsilon, double tolerance) {
  DenoiseOptions o;
  o.lambda = lambda, o.epsilon = epsilon, o.tolerance = tolerance;
  o.max_iterations = 20000;
  o.run.devices = {Device::cpu};
  return o;
}

/// What accelerated makes of an image, judged by the oracle alone.
struct Judged {
  double objective = 0;  ///< of the result
  double minimum = 0;    ///< by L-BFGS
  double distance = 0;   ///< of the two minimisers, relative
  DenoiseReport report;

  double excess() const { return (objective - minimum) / minimum; }
};
Judged judge(const Image& noisy, const Mask& mask, bool tensor, const DenoiseOptions& o) {
  Judged judged;
  Image result = noisy;
  judged.report = tensor ? denoise_tensors(result, mask, o) : denoise_channels(result, mask, o);
  const TotalVariation f(noisy, mask, tensor, o.lambda, o.epsilon);
  const oracle::Minimum best = oracle::minimise(f);
  judged.objective = f.objective(f.field(result));
  judged.minimum = best.objective;
  judged.distance = oracle::distance(f.field(result), best.d);
  return judged;
}

struct Case {
  const char* name;
  std::int64_t n;
  double lambda, epsilon;
};
std::ostream& operator<<(std::ostream& stream, const Case& c) { return stream << c.name; }

class Accelerated : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Phantom, Accelerated,
                         testing::Values(Case{"weak", 7, 16, 1e-2}, Case{"usual", 8, 4, 1e-2},
                                         Case{"strong", 8, 1, 1e-2}, Case{"smooth", 8, 4, 1e-1}));

TEST_P(Accelerated, FindsTheMinimumThatLbfgsFinds) {
  const auto& [name, n, lambda, epsilon] = GetParam();
  const Judged judged = judge(noisy_phantom(n), {}, true, options_with(lambda, epsilon, 1e-6));
  EXPECT_EQ(judged.report.stop, StopReason::converged);
  EXPECT_LT(std::abs(judged.excess()), 1e-6);
  EXPECT_LT(judged.distance, 1e-3);
  EXPECT_NEAR(judged.report.objective, judged.objective, 2e-6 * judged.minimum);
}

TEST(Solvers, AcceleratedFindsTheMinimumWithAMaskNansAndAnisotropicSpacing) {
  TensorImage image = noisy_phantom(7);
  image.grid.spacing = {1, 1.5, 3};
  Mask mask(image.channel(0).size(), 1);
  for (std::size_t v = 0; v < mask.size(); ++v) mask[v] = (v * 2654435761U) % 97 < 80;  // holes all over
  image.channel(2)[145] = std::numeric_limits<float>::quiet_NaN();
  const Judged judged = judge(image, mask, true, options_with(3, 1e-2, 1e-6));
  EXPECT_LT(std::abs(judged.excess()), 1e-6);
}

TEST(Solvers, AcceleratedFindsTheMinimumInTwoDimensions) {
  TensorImage volume = noisy_phantom(14), slice(Grid{14, 14, 1, {2, 1, 7}}, kTensorChannels);
  for (int c = 0; c < kTensorChannels; ++c)
    std::ranges::copy(volume.channel(c).subspan(5 * 14 * 14, 14 * 14), slice.channel(c).begin());
  EXPECT_LT(std::abs(judge(slice, {}, true, options_with(4, 1e-2, 1e-6)).excess()), 1e-6);
}

TEST(Solvers, AcceleratedFindsTheMinimumOfChannels) {
  const TensorImage tensors = noisy_phantom(8);
  for (const int channels : {1, 3}) {
    Image image(tensors.grid, channels);
    for (int c = 0; c < channels; ++c) std::ranges::copy(tensors.channel(c), image.channel(c).begin());
    EXPECT_LT(std::abs(judge(image, {}, false, options_with(8, 1e-2, 1e-6)).excess()), 1e-6) << channels;
  }
}

TEST(Solvers, AcceleratedFindsTheMinimumWhereTensorsTouchTheBoundary) {
  // Noise so strong that many tensors have negative eigenvalues, and little smoothing.
  const Judged judged = judge(noisy_phantom(6, 0.5), {}, true, options_with(6, 1e-2, 1e-6));
  EXPECT_GT(judged.report.projected, 50);
  EXPECT_LT(std::abs(judged.excess()), 1e-6);
}

TEST(Solvers, AcceleratedFindsTheMinimumOfMeasuredTensors) {
  const auto folder = measured_data(std::filesystem::path(WARPLOOM_TESTS_DIR) / "../../shared/data");
  const auto head = head_tensors(folder);
  if (!head) GTEST_SKIP() << "no measured series in " << folder << "; set WARPLOOM_DATA";
  for (const auto& begin : {std::array<std::int64_t, 3>{40, 50, 12}, {60, 30, 20}})
    EXPECT_LT(std::abs(judge(crop(*head, begin, {8, 7, 6}), {}, true, options_with(3, 1e-2, 1e-6)).excess()),
              1e-6);
}

TEST(Solvers, ReportedGapBoundsTheDistanceToTheMinimum) {
  const TensorImage noisy = noisy_phantom(8);
  const TotalVariation f(noisy, {}, true, 4, 1e-2);
  const double minimum = oracle::minimise(f).objective;
  for (const double tolerance : {1e-1, 1e-2, 1e-3, 1e-4, 1e-5}) {
    TensorImage image = noisy;
    const DenoiseReport report = denoise_tensors(image, {}, options_with(4, 1e-2, tolerance));
    const double objective = f.objective(f.field(image));
    EXPECT_LE(report.gap, tolerance);
    EXPECT_GT(report.gap, tolerance / 1000) << "stopped far too late";
    EXPECT_LE(objective - minimum, report.gap * objective + 1e-7 * minimum) << tolerance;
  }
}

TEST(Solvers, PrimalDualGapBoundsTheDistanceToTheMinimum) {
  const TensorImage noisy = noisy_phantom(8);
  const TotalVariation f(noisy, {}, true, 4, 0);
  TensorImage exact = noisy;
  DenoiseOptions o = options_with(4, 0, 1e-6);
  o.solver = Solver::primal_dual;
  denoise_tensors(exact, {}, o);
  const double minimum = f.objective(f.field(exact));
  for (const double tolerance : {1e-1, 1e-2, 1e-3, 1e-4}) {
    o.tolerance = tolerance;
    TensorImage image = noisy;
    const DenoiseReport report = denoise_tensors(image, {}, o);
    const double objective = f.objective(f.field(image));
    EXPECT_EQ(report.stop, StopReason::converged);
    EXPECT_LE(objective - minimum, tolerance * objective) << tolerance;
  }
}

// TV with epsilon lies between TV without and TV + epsilon * voxels, so the minima do, and they meet as
// epsilon falls.
TEST(Solvers, AcceleratedApproachesPrimalDualAsEpsilonFalls) {
  const TensorImage noisy = noisy_phantom(8);
  const TotalVariation f(noisy, {}, true, 4, 0);
  TensorImage sharp = noisy;
  DenoiseOptions o = options_with(4, 0, 1e-6);
  o.solver = Solver::primal_dual;
  ASSERT_EQ(denoise_tensors(sharp, {}, o).stop, StopReason::converged);
  const double minimum = f.objective(f.field(sharp));
  double before = INFINITY;
  for (const double epsilon : {1e-1, 1e-2, 1e-3, 1e-4}) {
    TensorImage image = noisy;
    ASSERT_EQ(denoise_tensors(image, {}, options_with(4, epsilon, 1e-6)).stop, StopReason::converged);
    const double excess = f.objective(f.field(image)) / minimum - 1;  // both without epsilon
    EXPECT_GT(excess, -2e-6) << epsilon;
    EXPECT_LT(excess, before / 3) << epsilon;
    EXPECT_LT(oracle::distance(f.field(image), f.field(sharp)), 2 * std::sqrt(epsilon) / 10) << epsilon;
    before = excess;
  }
  EXPECT_LT(before, 5e-5);
}

// Of an image whose tensors stay away from singular ones, where descent in L stalls:
// bench/imaging/solvers_study.cpp shows both.
TEST(Solvers, DescentComesWithinAThousandthOfTheMinimum) {
  const TensorImage noisy = noisy_phantom(8, 0.05);
  const TotalVariation f(noisy, {}, true, 8, 1e-2);
  const double minimum = oracle::minimise(f).objective;
  DenoiseOptions o = options_with(8, 1e-2, 1e-9);
  o.solver = Solver::descent;
  o.descent_step = 5e-4;
  o.max_iterations = 3000;
  TensorImage image = noisy;
  const DenoiseReport report = denoise_tensors(image, {}, o);
  EXPECT_LT(f.objective(f.field(image)) / minimum - 1, 1e-3);
  EXPECT_GT(report.history[30].objective / minimum - 1, 1e-3) << "faster than descent is";
}

TEST(Solvers, DescentNeverRisesWithTheStepItChooses) {
  const TensorImage noisy = noisy_phantom(8);
  DenoiseOptions o = options_with(4, 1e-2, 1e-9);
  o.solver = Solver::descent;
  o.max_iterations = 1000;
  TensorImage image = noisy;
  const auto history = denoise_tensors(image, {}, o).history;
  for (std::size_t i = 1; i < history.size(); ++i)
    ASSERT_LE(history[i].objective, history[i - 1].objective * (1 + 1e-6)) << i;
  EXPECT_LT(history.back().objective, 0.8 * history.front().objective);
}

TEST(Solvers, DescentTakesTheCorrectedStepOfFigure48) {
  const TensorImage noisy = noisy_phantom(6, 0.05);
  const TotalVariation f(noisy, {}, true, 4, 1e-1);
  DenoiseOptions o = options_with(4, 1e-1, 1e-9);
  o.solver = Solver::descent;
  o.descent_step = 1e-3;
  const auto after = [&](int iterations) {
    o.max_iterations = iterations;
    TensorImage image = noisy;
    denoise_tensors(image, {}, o);
    return f.field(image);
  };
  Field l = f.factor(after(2),
                     0);  // the first pass only measures, and what is returned is what the last one measured
  for (int iterations = 3; iterations <= 5; ++iterations) {
    const Field before = f.product(l), gradient = f.factor_gradient(l);
    for (std::size_t i = 0; i < l.size(); ++i) l[i] -= o.descent_step * gradient[i];
    const Field want = f.product(l);
    // The factors TV(d_ij) / R lag one pass behind, and the first step follows a pass that only measured.
    const double moved = oracle::distance(before, want);
    EXPECT_GT(moved, 1e-3);
    EXPECT_LT(oracle::distance(after(iterations), want), iterations == 3 ? 2e-6 : 0.01 * moved) << iterations;
  }
}

TEST(Solvers, ResultIsPositiveSemidefinite) {
  for (const Solver solver : {Solver::accelerated, Solver::primal_dual, Solver::descent}) {
    const TensorImage noisy = noisy_phantom(8, 0.5);
    TensorImage image = noisy;
    DenoiseOptions o = options_with(6, solver == Solver::primal_dual ? 0 : 1e-2, 1e-3);
    o.solver = solver;
    o.max_iterations = 300;
    denoise_tensors(image, {}, o);
    const TotalVariation f(noisy, {}, true, 6, 1e-2);
    const Field d = f.field(image);
    EXPECT_LT(oracle::distance(f.project(d), d), 1e-6) << name(solver);
    EXPECT_GT(oracle::distance(f.project(f.noisy()), f.noisy()), 1e-2);
  }
}

TEST(Solvers, ConstantImageStaysAsItIs) {
  for (const Solver solver : {Solver::accelerated, Solver::primal_dual, Solver::descent}) {
    TensorImage image(Grid{7, 6, 5}, kTensorChannels);
    for (int c = 0; c < kTensorChannels; ++c)
      std::ranges::fill(image.channel(c), fibre(0.6, 0, 0.8)[std::size_t(c)]);
    const TensorImage before = image;
    DenoiseOptions o = options_with(4, solver == Solver::primal_dual ? 0 : 1e-2, 1e-6);
    o.solver = solver;
    o.descent_step = solver == Solver::descent ? 1e-3 : 0;
    denoise_tensors(image, {}, o);
    for (std::size_t i = 0; i < image.data.size(); ++i)
      // Descent starts beside the image, away from singular factors, and comes back as close as its gap says.
      ASSERT_NEAR(image.data[i], before.data[i], solver == Solver::descent ? 2e-3 : 1e-6)
          << name(solver) << i;
  }
}

// In another unit, 4 times as large (a power of two, so that not even rounding differs).
TEST(Solvers, ResultDoesNotDependOnTheUnit) {
  TensorImage image = noisy_phantom(8), other = image;
  for (float& value : other.data) value *= 4;
  denoise_tensors(image, {}, options_with(4, 1e-2, 1e-4));
  denoise_tensors(other, {}, options_with(1, 4e-2, 1e-4));
  for (std::size_t i = 0; i < image.data.size(); ++i) ASSERT_NEAR(other.data[i], 4 * image.data[i], 1e-5);
}

TEST(Solvers, ResultDoesNotDependOnTheUnitOfLength) {
  TensorImage image = noisy_phantom(8), other = image;
  other.grid.spacing = {0.25, 0.25, 0.25};
  denoise_tensors(image, {}, options_with(4, 1e-2, 1e-4));
  denoise_tensors(other, {}, options_with(16, 4e-2, 1e-4));
  for (std::size_t i = 0; i < image.data.size(); ++i) ASSERT_NEAR(other.data[i], image.data[i], 1e-5);
}

// x, y and z exchanged, of the grid and of the tensors.
TEST(Solvers, ResultDoesNotPreferAnAxis) {
  TensorImage image = noisy_phantom(8), turned(image.grid, kTensorChannels);
  const int channel[6] = {3, 4, 1, 5, 2, 0};
  const auto turn = [&](const TensorImage& from, TensorImage& to) {
    for (int c = 0; c < 6; ++c)
      for (std::size_t z = 0; z < 8; ++z)
        for (std::size_t y = 0; y < 8; ++y)
          for (std::size_t x = 0; x < 8; ++x)
            to.channel(c)[(z * 8 + y) * 8 + x] = from.channel(channel[c])[(y * 8 + x) * 8 + z];
  };
  turn(image, turned);
  denoise_tensors(image, {}, options_with(4, 1e-2, 1e-6));
  denoise_tensors(turned, {}, options_with(4, 1e-2, 1e-6));
  TensorImage want(image.grid, kTensorChannels);
  turn(image, want);
  for (std::size_t i = 0; i < want.data.size(); ++i) ASSERT_NEAR(turned.data[i], want.data[i], 2e-3);
}

}  // namespace
}  // namespace warploom::imaging
