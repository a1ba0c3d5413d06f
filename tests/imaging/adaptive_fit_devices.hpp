#pragma once

/// What every back end of the adaptive fit has to do; adaptive_fit_test.cpp and adaptive_fit_gpu_test.cpp say
/// on which.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "imaging/adaptive_scene.hpp"
#include "oracle/phantom.hpp"
#include "warploom/core/error.hpp"
#include "warploom/imaging/maps.hpp"

namespace warploom::imaging {

class AdaptiveFitOn : public testing::TestWithParam<Device> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AdaptiveFitOn);

TEST_P(AdaptiveFitOn, IsCloserToTheTruthThanThePlainFit) {
  const TensorImage truth = scene().plain(scene().phantom.clean.image);
  const double plain = relative_error(scene().plain(scene().noisy.image), truth);
  EXPECT_LT(relative_error(scene().fit(GetParam()).tensor, truth), 0.6 * plain);
}

TEST_P(AdaptiveFitOn, OfOneVoxelWithoutPriorIsTheMeasurementsOwn) {
  // No neighbours, no prior: nearly the plain fit, where the signal is well above the noise.
  const TensorImage alone = scene().fit(GetParam(), {.bandwidth = 0, .prior = 0}).tensor;
  const TensorImage plain = scene().plain(scene().noisy.image);
  double difference = 0, count = 0;
  for (std::size_t v = 0; v < scene().phantom.tissue.size(); ++v)
    if (scene().phantom.tissue[v] == Tissue::grey) {
      difference += std::abs(static_cast<double>(alone.data[v]) - static_cast<double>(plain.data[v]));
      ++count;
    }
  EXPECT_LT(difference / count, 0.02);
}

TEST_P(AdaptiveFitOn, TakesNoNeighboursWithoutABandwidth) {
  const Image neighbours = scene().fit(GetParam(), {.bandwidth = 0}).neighbours;
  for (std::size_t v = 0; v < neighbours.data.size(); ++v)
    EXPECT_EQ(neighbours.data[v], scene().phantom.mask[v] != 0 ? 1.0F : 0.0F);
}

TEST_P(AdaptiveFitOn, TensorsHaveNoNegativeEigenvalue) {
  EXPECT_EQ(tensor_maps(scene().fit(GetParam()).tensor, scene().phantom.mask).negative, 0);
}

/// The mean of S0 relative to the truth's, over tissue whose signal is high.
inline double mean_s0(const Scene& of, const AdaptiveFit& fit) {
  const Image truth = of.fitted(of.phantom.clean.image).s0;
  double sum = 0, want = 0;
  for (std::size_t v = 0; v < of.phantom.tissue.size(); ++v)
    if (of.phantom.tissue[v] == Tissue::grey || of.phantom.tissue[v] == Tissue::bundle)
      sum += double(fit.s0.data[v]), want += double(truth.data[v]);
  return sum / want;
}

// As a pulse, a movement, or blood at the least b-value leave it in one volume, and denoising keeps it.
// Squares of all residuals would leave tensors farther from the truth than the plain fit has them: 1.1
// and 1.6 times at b = 0.
TEST_P(AdaptiveFitOn, AVolumeThatNoTensorExplainsMovesItLittle) {
  const TensorImage truth = scene().plain(scene().phantom.clean.image);
  EXPECT_NEAR(mean_s0(scene(), scene().fit(GetParam())), 1, 0.02);
  for (const int volume : {0, 20})  // of four at b = 0, of 45 at b = 1000
    for (const float factor : {2.0F, 4.0F}) {
      Scene struck = scene();
      for (Image* image : {&struck.noisy.image, &struck.means})
        for (float& value : image->channel(volume)) value *= factor;
      const AdaptiveFit fit = struck.fit(GetParam());
      const double plain = relative_error(struck.plain(struck.noisy.image), truth);
      EXPECT_LT(relative_error(fit.tensor, truth), 0.75 * plain) << volume << " times " << factor;
      EXPECT_NEAR(mean_s0(struck, fit), 1, 0.06 * double(factor)) << volume << " times " << factor;
    }
}

TEST_P(AdaptiveFitOn, DoesNotDependOnTheUnitOfTheSeries) {
  Scene scaled = scene();
  for (Image* image : {&scaled.noisy.image, &scaled.means, &scaled.noise})
    for (float& value : image->data) value *= 0.001F;
  const AdaptiveFit want = scene().fit(GetParam()), got = scaled.fit(GetParam());
  EXPECT_LT(relative_error(got.tensor, want.tensor), 1e-3);
}

TEST_P(AdaptiveFitOn, LeavesOutVoxelsThatAreNotFinite) {
  Scene holed = scene();
  const auto hole = static_cast<std::size_t>(std::ranges::find(holed.phantom.tissue, Tissue::grey) -
                                             holed.phantom.tissue.begin());
  holed.noisy.image.data[hole] = std::nanf("");
  const AdaptiveFit fit = holed.fit(GetParam());
  EXPECT_EQ(fit.not_fitted, 1);
  EXPECT_EQ(fit.tensor.data[hole], 0);
  EXPECT_TRUE(std::ranges::all_of(fit.tensor.data, [](float value) { return std::isfinite(value); }));
}

TEST_P(AdaptiveFitOn, RefusesNoiseThatIsNowhereKnown) {
  Scene quiet = scene();
  std::ranges::fill(quiet.noise.data, 0.0F);
  EXPECT_THROW(quiet.fit(GetParam()), BadInput);
}

TEST_P(AdaptiveFitOn, RefusesSettingsOutOfRange) {
  EXPECT_THROW(scene().fit(GetParam(), {.bandwidth = -1}), BadInput);
  EXPECT_THROW(scene().fit(GetParam(), {.prior = std::nan("")}), BadInput);
  EXPECT_THROW(scene().fit(GetParam(), {.radius = 9}), BadInput);
}

}  // namespace warploom::imaging
