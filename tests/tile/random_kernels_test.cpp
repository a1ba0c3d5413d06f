// Kernels of nests of any shape: in the simulator they leave what the nests leave.
#include <fmt/format.h>

#include "kernel_cases.hpp"
#include "random_nest.hpp"
#include "random_stencil.hpp"

namespace warploom::tile {
namespace {

TEST(RandomKernels, LeaveWhatTheNestLeaves) {
  if (!test::have_kernel_compiler()) GTEST_SKIP() << "no nvcc";
  std::mt19937 random(1);
  std::vector<Nest> nests;
  std::vector<GpuProgram> programs;
  std::vector<std::string> texts;
  std::vector<int> sizes;
  int parallel = 0;
  for (int i = 0; i < 100; ++i) {
    const test::RandomNest made = test::random_nest(random);
    Region region = read_source(made.text(), "nest.c", {}).at(0);
    region.function = fmt::format("nest{}", i);  // kernels of one text need different names
    nests.push_back(Nest::analyse(std::move(region), {{"n", made.n, made.n}}));
    programs.push_back(test::program_of(nests.back(), i % 2 == 0));
    texts.push_back(made.text());
    sizes.push_back(made.n);
    parallel += test::patterns_of(programs.back()) != "serial";
  }
  EXPECT_GT(parallel, 30);
  const test::SimulatedKernels kernels(programs);
  for (std::size_t i = 0; i < nests.size(); ++i) {
    std::map<std::string, std::int64_t> values;
    for (const std::string& size : nests[i].region().sizes) values[size] = size == "n" ? sizes[i] : 1;
    std::vector<std::string> findings;
    EXPECT_EQ(kernels.difference(nests[i], programs[i], values, findings), 0) << texts[i];  // integers
    EXPECT_THAT(findings, testing::IsEmpty()) << texts[i];
  }
}

TEST(RandomKernels, OfWavesLeaveWhatTheNestLeaves) {
  if (!test::have_kernel_compiler()) GTEST_SKIP() << "no nvcc";
  std::mt19937 random(2);
  std::vector<Nest> nests;
  std::vector<GpuProgram> programs;
  for (int i = 0; i < 60; ++i) {
    const Nest nest = test::analyse(test::RandomStencil(random).text(fmt::format("stencil{}", i)));
    GpuProgram program = test::program_of(nest);
    if (to_text(program.host).find("wave") == std::string::npos) continue;
    nests.push_back(nest);
    programs.push_back(std::move(program));
  }
  EXPECT_GT(nests.size(), 12u);
  const test::SimulatedKernels kernels(programs);
  for (std::size_t k = 0; k < nests.size(); ++k)
    for (const auto& [n, m] : {std::pair{5, 6}, {12, 19}}) {
      std::vector<std::string> findings;
      EXPECT_LE(kernels.difference(nests[k], programs[k], {{"n", n}, {"m", m}}, findings), 1e-6)
          << to_text(nests[k].region().body);
      EXPECT_THAT(findings, testing::IsEmpty()) << to_text(nests[k].region().body);
    }
}

}  // namespace
}  // namespace warploom::tile
