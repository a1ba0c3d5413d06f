#include "segment_devices.hpp"

namespace warploom::imaging {
namespace {

INSTANTIATE_TEST_SUITE_P(Gpu, SegmentOn, testing::Values(Device::cuda));

TEST(SegmentGpu, AgreesWithTheCpuOnALargeNoisyImage) {
  const SegmentPhantom phantom = segment_phantom({1000, 700, 1}, 2);
  SegmentOptions with;
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
