#include <atomic>

#include "series_denoise_devices.hpp"

namespace warploom::imaging {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

INSTANTIATE_TEST_SUITE_P(Cpu, SeriesDenoiseOn, testing::Values(Device::cpu));

SeriesDenoiseOptions on_cpu() {
  SeriesDenoiseOptions out;
  out.run.devices = {Device::cpu};
  return out;
}

void expect_refused(Image image, const SeriesDenoiseOptions& options, const Mask& mask, const char* why) {
  EXPECT_THAT([&] { denoise_series(image, mask, options); }, ThrowsMessage<BadInput>(HasSubstr(why)));
}

TEST(SeriesDenoise, RefusesOneVolume) { expect_refused(Image({5, 5, 5}, 1), on_cpu(), {}, "has 1 volumes"); }

TEST(SeriesDenoise, RefusesAnEvenExtent) {
  auto with = on_cpu();
  with.extent = {3, 4, 3};
  expect_refused(Image({5, 5, 5}, 9), with, {}, "along y is 4");
}

TEST(SeriesDenoise, RefusesAPatchThatIsLargerThanTheImage) {
  auto with = on_cpu();
  with.extent = {3, 3, 7};
  expect_refused(Image({5, 5, 5}, 9), with, {}, "7 voxels along z does not fit");
}

TEST(SeriesDenoise, RefusesAMaskOfAnotherSize) {
  expect_refused(Image({5, 5, 5}, 9), on_cpu(), Mask(7), "the mask has 7 voxels");
}

TEST(SeriesDenoise, RefusesAMaskWithNothingInside) {
  expect_refused(Image({5, 5, 5}, 9), on_cpu(), Mask(125), "no voxel is inside");
}

TEST(SeriesDenoise, RefusesValuesWhoseSquaresOverflow) {
  Image image({5, 5, 5}, 9);
  image.data[3] = 2e18F;
  expect_refused(image, on_cpu(), {}, "is the unit right");
}

TEST(SeriesDenoise, RefusesUnknownNames) {
  EXPECT_THAT([] { parse_noise_estimator("exp3"); },
              ThrowsMessage<BadInput>(HasSubstr("neither exp1 nor exp2")));
  EXPECT_EQ(parse_patch_output("average"), PatchOutput::average);
  EXPECT_EQ(name(Precision::float64), "float64");
}

TEST(SeriesDenoise, RefusesComplexValuesOfAnotherNumber) {
  std::vector<std::complex<float>> values(100);
  EXPECT_THAT(
      [&] {
        denoise_complex_series(values, {5, 5, 5}, 4, {}, on_cpu());
      },
      ThrowsMessage<BadInput>(HasSubstr("100 complex values")));
}

TEST(SeriesDenoise, LeavesTheSeriesWhenItIsStopped) {
  Image image = series_of({9, 9, 9}, 12, 20);
  const Image before = image;
  const std::atomic<bool> stop = true;
  auto with = on_cpu();
  with.run.stop = &stop;
  EXPECT_THROW(denoise_series(image, {}, with), Interrupted);
  EXPECT_EQ(image.data, before.data);
}

TEST(PatchExtent, IsTheSmallestOddCubeThatHasAVoxelForEachVolume) {
  using testing::ElementsAre;
  const Grid large{30, 30, 30};
  EXPECT_THAT(patch_extent(large, 27), ElementsAre(3, 3, 3));
  EXPECT_THAT(patch_extent(large, 28), ElementsAre(5, 5, 5));
  EXPECT_THAT(patch_extent(large, 126), ElementsAre(7, 7, 7));
}

TEST(PatchExtent, GrowsAlongTheOtherAxesWhereTheGridIsThin) {
  EXPECT_THAT(patch_extent({30, 30, 1}, 65), testing::ElementsAre(9, 9, 1));
  EXPECT_THAT(patch_extent({4, 4, 4}, 65), testing::ElementsAre(3, 3, 3));
}

/// By half a voxel along x, with linear interpolation.
Image resampled(const Image& image) {
  Image out = image;
  for (std::size_t k = 0; k + 1 < image.data.size(); ++k)
    out.data[k] = (image.data[k] + image.data[k + 1]) / 2;
  return out;
}

TEST(NoiseCorrelationOf, WhiteNoiseIsNearZero) {
  for (const double sigma : {5.0, 50.0}) {
    const NoiseCorrelation found = noise_correlation(series_of({20, 18, 14}, 30, sigma), {});
    EXPECT_EQ(found.patches, 64);
    EXPECT_FALSE(found.correlated);
    for (const double axis : found.neighbours) EXPECT_NEAR(axis, 0, 0.02);
  }
}

TEST(NoiseCorrelationOf, ResampledNoiseIsSeenAlongItsAxis) {
  const NoiseCorrelation found = noise_correlation(resampled(series_of({20, 18, 14}, 30, 20)), {});
  EXPECT_TRUE(found.correlated);
  EXPECT_GT(found.neighbours[0], 0.3);
  EXPECT_NEAR(found.neighbours[1], 0, 0.03);
}

TEST(NoiseCorrelationOf, PatchesLieInsideTheMask) {
  Image image = series_of({24, 18, 14}, 12, 20);
  const Image smooth = resampled(image);
  Mask mask(std::size_t(image.grid.voxels()));
  for (std::size_t v = 0; v < mask.size(); ++v) {
    mask[v] = v % 24 < 12;
    if (mask[v] == 0)
      for (int c = 0; c < 12; ++c) image.channel(c)[v] = smooth.channel(c)[v];
  }
  EXPECT_FALSE(noise_correlation(image, mask).correlated);
  for (std::uint8_t& m : mask) m = !m;
  EXPECT_TRUE(noise_correlation(image, mask).correlated);
}

TEST(SeriesDenoiseObstacle, IsNoneForAWholeSeriesOfWhiteNoise) {
  EXPECT_EQ(series_denoise_obstacle(series_of({20, 18, 14}, 30, 20), {}), "");
}

TEST(SeriesDenoiseObstacle, TellsWhatIsTooShort) {
  EXPECT_THAT(series_denoise_obstacle(series_of({20, 18, 14}, 7, 20), {}), HasSubstr("too short: 7 volumes"));
}

TEST(SeriesDenoiseObstacle, TellsWhatIsTooSmall) {
  EXPECT_THAT(series_denoise_obstacle(series_of({4, 4, 2}, 20, 20), {}), HasSubstr("too small"));
  EXPECT_THAT(series_denoise_obstacle(series_of({6, 6, 6}, 100, 20), {}),
              HasSubstr("too few voxels to tell"));
}

TEST(SeriesDenoiseObstacle, TellsThatTheNoiseIsCorrelated) {
  EXPECT_THAT(series_denoise_obstacle(resampled(series_of({20, 18, 14}, 30, 20)), {}),
              HasSubstr("correlated"));
}

}  // namespace
}  // namespace warploom::imaging
