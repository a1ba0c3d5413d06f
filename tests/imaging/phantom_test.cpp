// What denoising does to tensors whose truth is known. bench/imaging/solvers_study.cpp has the table at 64^3,
// where the error falls further: a larger share of the voxels is away from edges.
#include "oracle/phantom.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "warploom/imaging/denoise.hpp"
#include "warploom/imaging/maps.hpp"

namespace warploom::imaging {
namespace {

class Phantom : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    truth_ = tensor_phantom(32);
    before_ = truth_;
    add_noise(before_, 0.15, 7);
    after_ = before_;
    DenoiseOptions options;
    options.run.devices = {Device::cpu};
    denoise_tensors(after_, {}, options);
  }
  inline static TensorImage truth_, before_, after_;
};

TEST_F(Phantom, TensorErrorFallsByAFactorOfThree) {
  EXPECT_LT(3 * relative_error(after_, truth_), relative_error(before_, truth_));
}

TEST_F(Phantom, FractionalAnisotropyErrorFallsByAFactorOfTwoAndAHalf) {
  EXPECT_LT(2.5 * fa_error(after_, truth_), fa_error(before_, truth_));
}

TEST_F(Phantom, DirectionErrorInBundlesIsHalved) {
  EXPECT_LT(2 * direction_error(after_, truth_), direction_error(before_, truth_));
  EXPECT_LT(direction_error(after_, truth_), 4);
}

TEST_F(Phantom, FreeWaterAndTissueKeepTheirDiffusivity) {
  const TensorMaps truth = tensor_maps(truth_, {}), after = tensor_maps(after_, {});
  for (const float level : {0.8F, 3.0F}) {
    double sum = 0, count = 0;
    for (std::size_t v = 0; v < truth.md.data.size(); ++v)
      if (truth.fa.data[v] < 1e-3F && std::abs(truth.md.data[v] - level) < 1e-3F)
        sum += after.md.data[v], ++count;
    ASSERT_GT(count, 100);
    EXPECT_NEAR(sum / count, level, 0.05 * level);
  }
}

}  // namespace
}  // namespace warploom::imaging
