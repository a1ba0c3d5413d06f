// The tests of every back end on a GPU, and larger problems, the CPU against the GPU.

#include "every_device.hpp"

namespace warploom::dp {
namespace {

INSTANTIATE_TEST_SUITE_P(, EngineOn, testing::Values(Device::cuda),
                         [](const auto& device) { return std::string(name(device.param)); });

template <Value T>
void gpu_equals_cpu(const Kind& kind, std::int64_t points) {
  SCOPED_TRACE(text(kind) + ", " + std::to_string(points) + " points");
  const auto problem = random_problem<T>(kind, points, 21);
  const auto cpu = solve(problem, {.run = {.devices = {Device::cpu}}, .storage = Storage::plain});
  const Triangle<T> want = cpu.table();
  const std::vector<Split> trace = cpu.trace();
  for (const Options& way :
       {Options{.run = {.devices = {Device::cuda}}},
        Options{.run = {.devices = {Device::cuda}}, .decomposition = Decomposition::persistent, .block = 32},
        Options{.run = {.devices = {Device::cuda}}, .decomposition = Decomposition::bottom_up, .block = 32},
        Options{.run = {.devices = {Device::cuda}}, .decomposition = Decomposition::bottom_up, .block = 64},
        Options{.run = {.devices = {Device::cuda}}, .decomposition = Decomposition::bottom_up, .block = 256},
        Options{.run = {.devices = {Device::cuda}}, .decomposition = Decomposition::divide_and_conquer}}) {
    const auto gpu = solve(problem, way);
    EXPECT_EQ(first_difference(gpu.table(), want), "") << text(way);
    EXPECT_EQ(gpu.trace(), trace) << text(way);
  }
}

const Kind kPlain{.style = Style::two_sided};
const Kind kChain{.factors = true, .style = Style::one_sided};
const Kind kTies{.weights = true, .pairing = true, .optimum = Optimum::maximum};
const Kind kAll{true, true, true, true, Optimum::maximum, Style::two_sided};
const Kind kHoles{.weights = true, .cells = true, .pairing = true, .style = Style::unreachable};

TEST(EngineGpu, LargeInt32IsTheCpus) {
  gpu_equals_cpu<std::int32_t>(kPlain, 3'000);
  gpu_equals_cpu<std::int32_t>(kTies, 2'049);
  gpu_equals_cpu<std::int32_t>(kChain, 1'500);
  gpu_equals_cpu<std::int32_t>(kAll, 1'111);
  gpu_equals_cpu<std::int32_t>(kHoles, 1'025);
}
TEST(EngineGpu, LargeInt64IsTheCpus) {
  gpu_equals_cpu<std::int64_t>(kPlain, 2'000);
  gpu_equals_cpu<std::int64_t>(kAll, 1'111);
  gpu_equals_cpu<std::int64_t>(kHoles, 1'025);
}
TEST(EngineGpu, LargeFloatIsTheCpus) {
  gpu_equals_cpu<float>(kPlain, 3'000);
  gpu_equals_cpu<float>(kChain, 2'500);
  gpu_equals_cpu<float>(kAll, 1'111);
  gpu_equals_cpu<float>(kHoles, 1'025);
}
TEST(EngineGpu, LargeDoubleIsTheCpus) {
  gpu_equals_cpu<double>(kPlain, 2'000);
  gpu_equals_cpu<double>(kAll, 1'111);
  gpu_equals_cpu<double>(kHoles, 1'025);
}
TEST(EngineGpu, LargeNarrowCellsAreTheCpus) {
  const auto problem = random_base_pairs<std::int32_t>(4'000, 6);
  const auto cpu = solve(problem, {.run = {.devices = {Device::cpu}}, .storage = Storage::plain});
  const auto gpu = solve(problem, {.run = {.devices = {Device::cuda}}, .storage = Storage::narrow});
  EXPECT_EQ(gpu.report().storage, "int16");
  EXPECT_EQ(first_difference(gpu.table(), cpu.table()), "");
  EXPECT_EQ(gpu.trace(), cpu.trace());
}

TEST(EngineGpu, FewMultiprocessorsGiveTheSameCells) {
  const auto problem = random_problem<float>(kAll, 700, 2);
  const auto want = solve(problem, {.run = {.devices = {Device::cpu}}}).table();
  for (const int count : {1, 2, 7}) {
    const auto gpu = solve(problem, {.run = {.devices = {Device::cuda}}, .multiprocessors = count});
    EXPECT_EQ(first_difference(gpu.table(), want), "") << count << " multiprocessors";
  }
}

TEST(EngineGpu, ABatchRefusesOtherDecompositions) {
  std::vector<Problem<float>> problems;
  for (const std::uint32_t seed : {1u, 2u}) problems.push_back(random_problem<float>({}, 10, seed));
  EXPECT_THAT(refusal([&] {
                solve_batch<float>(problems, {.run = {.devices = {Device::cuda}},
                                              .decomposition = Decomposition::bottom_up});
              }),
              testing::HasSubstr("persistent"));
}

}  // namespace
}  // namespace warploom::dp
