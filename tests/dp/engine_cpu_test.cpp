// The tests of every back end on the CPU, and what is particular to it.

#include "every_device.hpp"
#include "warploom/core/device.hpp"
#include "warploom/core/run.hpp"

namespace warploom::dp {
namespace {

INSTANTIATE_TEST_SUITE_P(, EngineOn, testing::Values(Device::cpu),
                         [](const auto& device) { return std::string(name(device.param)); });

Options on_cpu() {
  Options options;
  options.run.devices = {Device::cpu};
  return options;
}

TEST(EngineCpu, CellsDoNotDependOnTheNumberOfThreads) {
  const Kind kind{.weights = true, .factors = true, .pairing = true, .style = Style::two_sided};
  const auto problem = random_problem<float>(kind, 411, 2);
  const Triangle<float> want = oracle_cells(problem);
  for (const unsigned count : {1u, 2u, 3u}) {
    const RunScope scope({.threads = count});
    for (const Decomposition decomposition :
         {Decomposition::bottom_up, Decomposition::divide_and_conquer, Decomposition::printed}) {
      Options with = on_cpu();
      with.decomposition = decomposition;
      EXPECT_EQ(first_difference(solve(problem, with).table(), want), "")
          << count << " threads, " << name(decomposition);
    }
  }
}

TEST(EngineCpu, RefusesThePersistentKernel) {
  Options with = on_cpu();
  with.decomposition = Decomposition::persistent;
  EXPECT_THAT(refusal([&] { solve(random_problem<float>({}, 20, 1), with); }),
              testing::AllOf(testing::HasSubstr("persistent"), testing::HasSubstr("bottom-up")));
}

TEST(EngineCpu, AGpuThatIsNotThereIsNoDevice) {
  if (!cuda_devices().devices.empty()) GTEST_SKIP() << "this machine has a CUDA device";
  Options with;
  with.run.devices = {Device::cuda};
  EXPECT_THROW(solve(random_problem<float>({}, 20, 1), with), NoDevice);
}

}  // namespace
}  // namespace warploom::dp
