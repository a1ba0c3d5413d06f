#include "warploom/imaging/residual_structure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "imaging/dwi_phantom.hpp"
#include "warploom/imaging/fit.hpp"

namespace warploom::imaging {
namespace {

struct NoisyHead {
  DwiPhantom phantom = dwi_phantom({.nx = 32, .ny = 32, .nz = 10, .layout = 2});
  Series noisy;
  TensorFit truth;
  Image noise;
  explicit NoisyHead(double snr = 20)
      : noisy(with_noise(phantom, snr, 1)), truth(fit(phantom.clean.image)), noise(noisy.image.grid, 1) {
    for (float& value : noise.data) value = static_cast<float>(1000 / snr);
  }
  TensorFit fit(const Image& image) const {
    return fit_tensors(image, noisy.gradients.b, noisy.gradients.directions, phantom.mask);
  }
  ResidualStructure look(const TensorFit& at) const {
    return residual_structure(noisy.image, noise, at.tensor, at.s0, noisy.gradients.b,
                              noisy.gradients.directions, phantom.mask);
  }
};

// The mean of every voxel and its face neighbours within the mask.
Image blurred(const Image& image, const Mask& mask) {
  Image result = image;
  const std::int64_t nx = image.grid.nx, ny = image.grid.ny, nz = image.grid.nz;
  for (int c = 0; c < image.channels; ++c)
    for (std::int64_t z = 1; z + 1 < nz; ++z)
      for (std::int64_t y = 1; y + 1 < ny; ++y)
        for (std::int64_t x = 1; x + 1 < nx; ++x) {
          const auto v = (z * ny + y) * nx + x;
          float sum = 0, count = 0;
          for (const std::int64_t u : {v, v - 1, v + 1, v - nx, v + nx, v - nx * ny, v + nx * ny})
            if (mask[static_cast<std::size_t>(u)] != 0)
              sum += image.channel(c)[static_cast<std::size_t>(u)], ++count;
          if (count > 0) result.channel(c)[static_cast<std::size_t>(v)] = sum / count;
        }
  return result;
}

TEST(ResidualStructure, OfTheTruthIsNoise) {
  const NoisyHead head;
  const ResidualStructure found = head.look(head.truth);
  EXPECT_FALSE(found.structured) << found.verdict();
  for (const auto& group : found.groups) {
    EXPECT_GT(group.pairs, 100) << group.name;
    EXPECT_NEAR(group.removed, 0, 5 * group.error + 0.02) << group.name;
    EXPECT_NEAR(group.noise, 0, 5 * group.error) << group.name;
  }
}

TEST(ResidualStructure, OfABlurredImageIsFound) {
  const NoisyHead head;
  TensorFit smooth = head.truth;
  smooth.tensor = blurred(smooth.tensor, head.phantom.mask);
  const ResidualStructure found = head.look(smooth);
  EXPECT_TRUE(found.structured);
  EXPECT_TRUE(found.groups[1].structured);
  EXPECT_THAT(found.verdict(), testing::HasSubstr("anisotropic tissue"));
}

TEST(ResidualStructure, NoiseThatIsCorrelatedIsNotTakenForStructure) {
  NoisyHead head(80);  // the blur leaves Rician bias as it was, so let there be little
  // Noise that was blurred, as interpolation does it, on top of the noiseless series.
  Image added = head.noisy.image;
  for (std::size_t i = 0; i < added.data.size(); ++i) added.data[i] -= head.phantom.clean.image.data[i];
  added = blurred(added, Mask(head.phantom.mask.size(), 1));
  for (std::size_t i = 0; i < added.data.size(); ++i)
    head.noisy.image.data[i] = head.phantom.clean.image.data[i] + added.data[i];
  for (float& value : head.noise.data) value /= std::sqrt(7.0F);
  const ResidualStructure found = head.look(head.truth);
  EXPECT_GT(found.groups[0].noise, 0.1);
  EXPECT_FALSE(found.groups[0].structured) << found.groups[0].removed;
  EXPECT_FALSE(found.groups[1].structured) << found.groups[1].removed;
}

}  // namespace
}  // namespace warploom::imaging
