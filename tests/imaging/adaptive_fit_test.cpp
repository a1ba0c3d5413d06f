#include "imaging/adaptive_fit_devices.hpp"

namespace warploom::imaging {
namespace {

INSTANTIATE_TEST_SUITE_P(Cpu, AdaptiveFitOn, testing::Values(Device::cpu));

TEST(AdaptiveFit, DoesNotDependOnThreads) {
  const AdaptiveFit one = scene().fit(Device::cpu, {.run = {.threads = 1}}),
                    three = scene().fit(Device::cpu, {.run = {.threads = 3}});
  EXPECT_EQ(one.tensor.data, three.tensor.data);
  EXPECT_EQ(one.s0.data, three.s0.data);
}

}  // namespace
}  // namespace warploom::imaging
