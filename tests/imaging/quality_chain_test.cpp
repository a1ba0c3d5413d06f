// The whole chain on the made-up head: what the guide promises.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "imaging/dwi_phantom.hpp"
#include "warploom/imaging/adaptive_fit.hpp"
#include "warploom/imaging/fit.hpp"
#include "warploom/imaging/maps.hpp"
#include "warploom/imaging/residual_structure.hpp"
#include "warploom/imaging/rician.hpp"
#include "warploom/imaging/series_denoise.hpp"

namespace warploom::imaging {
namespace {

// Sums of squares, and of angles, over the voxels of one tissue.
struct Squares {
  double tensor = 0, fa = 0;
  double angle = 0;  // of V1, a sum [radians], where the true FA is above 0.2
};
Squares squares(const TensorImage& tensor, const TensorImage& truth, const DwiPhantom& phantom,
                Tissue tissue) {
  const TensorMaps maps = tensor_maps(tensor, phantom.mask), true_maps = tensor_maps(truth, phantom.mask);
  const Image &fa = maps.fa, &want = true_maps.fa;
  const std::size_t voxels = phantom.tissue.size();
  Squares sums;
  for (std::size_t v = 0; v < voxels; ++v) {
    if (phantom.tissue[v] != tissue) continue;
    for (std::size_t c = 0; c < 6; ++c) {
      const double off =
          static_cast<double>(tensor.data[c * voxels + v]) - static_cast<double>(truth.data[c * voxels + v]);
      sums.tensor += static_cast<double>(kTensorWeights[c]) * off * off;
    }
    sums.fa += std::pow(static_cast<double>(fa.data[v]) - static_cast<double>(want.data[v]), 2);
    double cosine = 0;
    for (std::size_t k = 0; k < 3; ++k)
      cosine += static_cast<double>(maps.v1.data[k * voxels + v]) *
                static_cast<double>(true_maps.v1.data[k * voxels + v]);
    if (want.data[v] > 0.2F) sums.angle += std::acos(std::min(1.0, std::abs(cosine)));
  }
  return sums;
}

class Chain : public testing::TestWithParam<int> {};

TEST_P(Chain, IsNoWorseThanThePlainFitInAnyTissue) {
  const double snr = GetParam();
  const DwiPhantom phantom = dwi_phantom({.nx = 40, .ny = 42, .nz = 12, .layout = 1});
  const Series noisy = with_noise(phantom, snr, 1);
  const auto& b = noisy.gradients.b;
  const auto& directions = noisy.gradients.directions;
  const TensorImage truth = fit_tensors(phantom.clean.image, b, directions, phantom.mask).tensor;
  const TensorImage plain = fit_tensors(noisy.image, b, directions, phantom.mask).tensor;
  Image denoised = noisy.image;
  SeriesDenoising series = denoise_series(denoised, phantom.mask);
  correct_noise_bias(series.noise, denoised, series.extent);
  const AdaptiveFit chain =
      fit_tensors_adaptively(noisy.image, denoised, series.noise, b, directions, phantom.mask);
  for (const Tissue tissue : kTissues) {
    const Squares before = squares(plain, truth, phantom, tissue),
                  after = squares(chain.tensor, truth, phantom, tissue);
    EXPECT_LT(after.tensor, before.tensor) << name(tissue);
    EXPECT_LT(after.fa, before.fa) << name(tissue);
    EXPECT_LT(after.angle, 0.9 * before.angle) << name(tissue);
  }
  EXPECT_FALSE(
      residual_structure(noisy.image, series.noise, chain.tensor, chain.s0, b, directions, phantom.mask)
          .structured);
}

INSTANTIATE_TEST_SUITE_P(Snr, Chain, testing::Values(8, 10, 20, 30));

}  // namespace
}  // namespace warploom::imaging
