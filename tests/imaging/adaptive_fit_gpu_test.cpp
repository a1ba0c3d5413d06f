#include "imaging/adaptive_fit_devices.hpp"
#include "imaging/there.hpp"

namespace warploom::imaging {
namespace {

INSTANTIATE_TEST_SUITE_P(Gpu, AdaptiveFitOn, testing::Values(Device::cuda));

// The header's tolerance, of all tensors and of each.
void expect_agreement(const Scene& of, const AdaptiveFitOptions& options) {
  const AdaptiveFit cpu = of.fit(Device::cpu, options), gpu = of.fit(Device::cuda, options);
  EXPECT_EQ(gpu.voxels, cpu.voxels);
  EXPECT_EQ(gpu.not_fitted, cpu.not_fitted);
  EXPECT_GE(gpu.device_bytes, 8 * of.noisy.image.data.size());
  EXPECT_LT(relative_error(gpu.tensor, cpu.tensor), 1e-5);
  const std::size_t voxels = cpu.s0.data.size();
  for (std::size_t v = 0; v < voxels; ++v) {
    EXPECT_NEAR(gpu.s0.data[v], cpu.s0.data[v], 1e-3F * cpu.s0.data[v]);
    EXPECT_NEAR(gpu.neighbours.data[v], cpu.neighbours.data[v], 2e-3F);
    double difference = 0, norm = 0;
    for (std::size_t c = 0; c < 6; ++c) {
      const double a = cpu.tensor.data[c * voxels + v], b = gpu.tensor.data[c * voxels + v];
      difference += (a - b) * (a - b), norm += a * a;
    }
    EXPECT_LE(difference, 1e-6 * norm) << "voxel " << v;
  }
}

TEST(AdaptiveFitGpu, AgreesWithTheCpu) {
  for (const int radius : {0, 1, 2, 3}) expect_agreement(scene(), {.radius = radius});
  expect_agreement(scene(), {.bandwidth = 0, .prior = 0});
}

TEST(AdaptiveFitGpu, AgreesWithTheCpuWhereTheSignalIsAtTheFloorOfTheNoise) { expect_agreement(Scene(4), {}); }

TEST(AdaptiveFitGpu, DoesTheSameTwice) {
  EXPECT_EQ(scene().fit(Device::cuda).tensor.data, scene().fit(Device::cuda).tensor.data);
}

TEST(AdaptiveFitGpu, ReadsASeriesThatIsThere) {
  const Scene& of = scene();
  const There there(of.noisy.image);
  AdaptiveFitOptions options;
  options.run.devices = {Device::cuda};
  const AdaptiveFit found = fit_tensors_adaptively(there.view(), of.means, of.noise, of.gradients().b,
                                                   of.gradients().directions, of.phantom.mask, options);
  const AdaptiveFit want = of.fit(Device::cuda);
  EXPECT_EQ(found.tensor.data, want.tensor.data);
  EXPECT_EQ(found.s0.data, want.s0.data);
  EXPECT_EQ(there.now(), of.noisy.image.data);
  EXPECT_LE(found.device_bytes + of.noisy.image.data.size() * sizeof(float), want.device_bytes + 256);
}

TEST(AdaptiveFitGpu, TellsHowMuchMemoryItNeeds) {
  EXPECT_THROW(scene().fit(Device::cuda, {.run = {.memory = 1 << 20}}), OutOfMemory);
}

}  // namespace
}  // namespace warploom::imaging
