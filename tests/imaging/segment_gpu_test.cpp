#include "segment_convex_devices.hpp"
#include "segment_devices.hpp"
#include "warploom/core/error.hpp"

namespace warploom::imaging {
namespace {

INSTANTIATE_TEST_SUITE_P(Gpu, SegmentOn, testing::Values(Device::cuda));
INSTANTIATE_TEST_SUITE_P(Gpu, ConvexOn, testing::Values(Device::cuda));

TEST(SegmentGpu, TheConvexMasksAgreeWithTheCpus) {
  for (const Grid& grid :
       {Grid{1000, 700, 1}, Grid{997, 350, 1}, Grid{501, 1, 300, {1, 1, 2}}, Grid{130, 70, 60, {1, 1, 2}}}) {
    const SegmentPhantom phantom = segment_phantom(grid, 2.5);
    SegmentOptions with;
    with.tolerance = 1e-4;
    with.run.devices = {Device::cpu};
    const Segmentation cpu = segment(phantom.image, with);
    with.run.devices = {Device::cuda};
    const Segmentation gpu = segment(phantom.image, with);
    EXPECT_GE(oracle::dice(cpu.mask, gpu.mask), 0.9998);
    EXPECT_TRUE(gpu.report.converged);
    EXPECT_NEAR(cpu.report.mask_energy, gpu.report.mask_energy, 2e-4 * cpu.report.mask_energy);
    EXPECT_EQ(cpu.report.noise_level, gpu.report.noise_level);
  }
}

// The kernel that does several iterations at once has them as the CPU has them one by one.
TEST(SegmentGpu, SevenIterationsOfAPlaneAreTheCpus) {
  for (const Grid& grid : {Grid{700, 500, 1}, Grid{701, 333, 1}, Grid{6, 900, 1}}) {
    const Image image = segment_phantom(grid, 2.5).image;
    SegmentOptions with;
    with.tolerance = 0, with.max_iterations = 7;
    with.run.devices = {Device::cpu};
    const Segmentation cpu = segment(image, with);
    with.run.devices = {Device::cuda};
    const Segmentation gpu = segment(image, with);
    ASSERT_EQ(cpu.level_set.data.size(), gpu.level_set.data.size());
    float most = 0;
    for (std::size_t v = 0; v < cpu.level_set.data.size(); ++v)
      most = std::max(most, std::abs(cpu.level_set.data[v] - gpu.level_set.data[v]));
    EXPECT_LE(most, 1e-4F) << grid.nx << " x " << grid.ny;
  }
}

TEST(SegmentGpu, MoreThanTwoClassesAreRefused) {
  SegmentOptions with;
  with.classes = 3;
  with.run.devices = {Device::cuda};
  EXPECT_THROW(segment(segment_phantom({40, 30, 1}, 5).image, with), NoDevice);
}

TEST(SegmentGpu, AgreesWithTheCpuOnALargeNoisyImage) {
  const SegmentPhantom phantom = segment_phantom({1000, 700, 1}, 2);
  SegmentOptions with;
  with.method = Method::level_set;
  with.run.devices = {Device::cpu};
  const Segmentation cpu = segment(phantom.image, with);
  with.run.devices = {Device::cuda};
  const Segmentation gpu = segment(phantom.image, with);
  EXPECT_GE(oracle::dice(cpu.mask, gpu.mask), 0.9998);
  EXPECT_NEAR(cpu.report.iterations, gpu.report.iterations, 3);
  EXPECT_NEAR(cpu.report.mean_in, gpu.report.mean_in, 1e-4);
  EXPECT_NEAR(cpu.report.energy.back(), gpu.report.energy.back(), 1e-4 * cpu.report.energy.back());
  EXPECT_GE(gpu.report.device_bytes, 12u * 700'000);
}

}  // namespace
}  // namespace warploom::imaging
