#include <gtest/gtest.h>

#include <cmath>

#include "imaging/adaptive_scene.hpp"
#include "warploom/imaging/residual_structure.hpp"
#include "warploom/imaging/rician.hpp"

namespace warploom::imaging {
namespace {

const warploom::Run kCpu{.devices = {Device::cpu}}, kGpu{.devices = {Device::cuda}};

TEST(RicianNoiseGpu, AgreesWithTheCpu) {
  for (const double snr : {3.0, 15.0}) {
    const Scene of(snr);
    Image cpu = of.noise, gpu = of.noise;
    cpu.data[7] = gpu.data[7] = 0;  // not known
    correct_noise_bias(cpu, of.means, {5, 3, 5}, kCpu);
    correct_noise_bias(gpu, of.means, {5, 3, 5}, kGpu);
    EXPECT_EQ(gpu.data[7], 0);
    EXPECT_GT(cpu.data[0], 1.05F * of.noise.data[0]);  // in air the deviation of magnitudes is lower
    for (std::size_t v = 0; v < cpu.data.size(); ++v)
      EXPECT_NEAR(gpu.data[v], cpu.data[v], 1e-5F * cpu.data[v]);
  }
}

TEST(ResidualStructureGpu, AgreesWithTheCpu) {
  const AdaptiveFit fit = scene().fit(Device::cpu);
  const auto structure = [&](const warploom::Run& run) {
    return residual_structure(scene().noisy.image, scene().noise, fit.tensor, fit.s0, scene().gradients().b,
                              scene().gradients().directions, scene().phantom.mask, run);
  };
  const ResidualStructure cpu = structure(kCpu), gpu = structure(kGpu);
  EXPECT_EQ(gpu.verdict(), cpu.verdict());
  for (std::size_t k = 0; k < cpu.groups.size(); ++k) {
    EXPECT_GT(cpu.groups[k].pairs, 100);
    EXPECT_EQ(gpu.groups[k].pairs, cpu.groups[k].pairs);
    EXPECT_NEAR(gpu.groups[k].removed, cpu.groups[k].removed, 1e-5);
    EXPECT_NEAR(gpu.groups[k].noise, cpu.groups[k].noise, 1e-5);
    EXPECT_EQ(gpu.groups[k].structured, cpu.groups[k].structured);
  }
}

TEST(ResidualStructureGpu, LooksAtAllVoxelsWithoutAMask) {
  const AdaptiveFit fit = scene().fit(Device::cpu);
  const auto pairs = [&](const warploom::Run& run) {
    const ResidualStructure found =
        residual_structure(scene().noisy.image, scene().noise, fit.tensor, fit.s0, scene().gradients().b,
                           scene().gradients().directions, {}, run);
    return found.groups[0].pairs + found.groups[1].pairs + found.groups[2].pairs;
  };
  EXPECT_EQ(pairs(kGpu), pairs(kCpu));
}

}  // namespace
}  // namespace warploom::imaging
