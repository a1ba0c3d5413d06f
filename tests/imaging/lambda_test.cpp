// lambda from the noise: against the lambda that a search with the truth at hand finds best.
#include "imaging/lambda.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "oracle/phantom.hpp"
#include "oracle/tv.hpp"
#include "warploom/core/error.hpp"
#include "warploom/imaging/denoise.hpp"
#include "warploom/imaging/mask.hpp"

namespace warploom::imaging {
namespace {

constexpr std::int64_t kSide = 20;

struct Noisy {
  TensorImage truth = tensor_phantom(kSide), image = truth;
  explicit Noisy(double sigma) { add_noise(image, sigma, 11); }
};

DenoiseReport denoised(TensorImage& image, double lambda, const Mask& mask = {}) {
  DenoiseOptions options;
  options.lambda = lambda;
  options.tolerance = 1e-3;
  options.run.devices = {Device::cpu};
  return denoise_tensors(image, mask, options);
}

class LambdaFromNoise : public testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(Sigma, LambdaFromNoise, testing::Values(0.05, 0.15, 0.3));

TEST_P(LambdaFromNoise, ComesCloseToTheBestLambda) {
  const Noisy noisy(GetParam());
  TensorImage chosen = noisy.image;
  const DenoiseReport report = denoised(chosen, 0);
  double best = INFINITY;
  for (double lambda = report.lambda / 1.7; lambda < 2.5 * report.lambda; lambda *= 1.3) {
    TensorImage image = noisy.image;
    denoised(image, lambda);
    best = std::min(best, relative_error(image, noisy.truth));
  }
  EXPECT_LT(relative_error(chosen, noisy.truth), 1.2 * best);
}

TEST_P(LambdaFromNoise, MeetsTheDiscrepancyPrinciple) {
  const Noisy noisy(GetParam());
  TensorImage image = noisy.image;
  const DenoiseReport report = denoised(image, 0);
  ASSERT_EQ(report.noise.size(), 6U);
  double variance = 0;
  for (std::size_t c = 0; c < 6; ++c) {
    EXPECT_NEAR(report.noise[c], GetParam(), 0.1 * GetParam());
    variance += kTensorWeights[c] * report.noise[c] * report.noise[c];
  }
  const oracle::TotalVariation f(noisy.image, {}, true, report.lambda, report.epsilon);
  const double share = f.fidelity(f.field(image)) / (kSide * kSide * kSide * variance);
  EXPECT_NEAR(share, kDiscrepancy, 0.04);  // 2 % by the search, as much by its tolerance
}

TEST(Lambda, TakesOnlyVoxelsInsideTheMaskIntoAccount) {
  Noisy noisy(0.15);
  Mask mask(noisy.image.channel(0).size(), 1);
  for (std::size_t v = 0; v < mask.size(); ++v) mask[v] = v % kSide < kSide / 2;
  TensorImage image = noisy.image, half(Grid{kSide / 2, kSide, kSide}, kTensorChannels);
  for (std::size_t to = 0, from = 0; from < image.data.size(); ++from)
    if (from % kSide < kSide / 2) half.data[to++] = image.data[from];
  EXPECT_NEAR(denoised(image, 0, mask).lambda, denoised(half, 0).lambda, 1e-3);
}

TEST(Lambda, FollowsTheUnit) {
  Noisy noisy(0.15);
  TensorImage other = noisy.image;
  for (float& value : other.data) value *= 4;
  DenoiseOptions options;
  options.run.devices = {Device::cpu};
  const double lambda = denoise_tensors(noisy.image, {}, options).lambda;
  options.epsilon *= 4;
  EXPECT_NEAR(4 * denoise_tensors(other, {}, options).lambda, lambda, 1e-3 * lambda);
}

TEST(Lambda, OfTheSharpFunctionalIsNearlyTheSame) {
  const Noisy noisy(0.15);
  TensorImage smooth = noisy.image, sharp = noisy.image;
  const double lambda = denoised(smooth, 0).lambda;
  DenoiseOptions options;
  options.solver = Solver::primal_dual;
  options.epsilon = 0;
  options.tolerance = 1e-3;
  options.run.devices = {Device::cpu};
  EXPECT_NEAR(denoise_tensors(sharp, {}, options).lambda, lambda, 0.1 * lambda);
}

TEST(Lambda, OfChannelsFollowsTheirNoise) {
  const Noisy noisy(0.2);
  Image channel(noisy.image.grid, 1), truth = channel;
  std::ranges::copy(noisy.image.channel(0), channel.data.begin());
  std::ranges::copy(noisy.truth.channel(0), truth.data.begin());
  const auto error = [&](const Image& image) {
    double sum = 0;
    for (std::size_t v = 0; v < truth.data.size(); ++v) sum += std::pow(image.data[v] - truth.data[v], 2);
    return std::sqrt(sum);
  };
  const double before = error(channel);
  DenoiseOptions options;
  options.run.devices = {Device::cpu};
  denoise_channels(channel, {}, options);
  EXPECT_LT(error(channel), before / 2.5);
}

TEST(Lambda, RefusesAnImageWithoutNoise) {
  TensorImage image = tensor_phantom(12), before = image;
  EXPECT_THROW(denoised(image, 0), BadInput);
  EXPECT_EQ(image.data, before.data);
}

TEST(Lambda, CostsAHandfulOfLooseMinimisations) {
  for (const double sigma : {0.02, 0.3}) {
    const Noisy noisy(sigma);
    TvProblem problem;
    problem.grid = noisy.image.grid;
    problem.tensor = true;
    problem.noisy = noisy.image.data.data();
    problem.constants.channels = kTensorChannels;
    problem.constants.epsilon = 1e-2;
    problem.constants.voxels = static_cast<double>(noisy.image.grid.voxels());
    problem.constants.gradient_bound = 12;
    for (int axis = 0; axis < 3; ++axis) problem.constants.inverse_spacing[axis] = 1;
    for (std::size_t c = 0; c < 6; ++c) problem.constants.weights[c] = kTensorWeights[c];
    TensorImage image = noisy.image;
    std::size_t passes = 0;
    const auto minimise = [&](const TvProblem& loose, float* values) {
      TvOutcome outcome = minimise_cpu(loose, values);
      passes += outcome.history.size();
      return outcome;
    };
    const LambdaChoice choice =
        lambda_from_noise(problem, noise_level(noisy.image, {}), minimise, image.data.data());
    EXPECT_LE(choice.solves, 5) << sigma;
    EXPECT_LE(passes, 400U) << sigma;
  }
}

}  // namespace
}  // namespace warploom::imaging
