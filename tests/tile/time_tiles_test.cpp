// Several steps of stencils a launch.
#include "kernel_cases.hpp"
#include "random_steps.hpp"

namespace warploom::tile {
namespace {

using testing::HasSubstr;

constexpr const char* kThree = "time tiles, time tiles, copy back";
constexpr const char* kStreamed = "streamed time tiles, streamed time tiles, copy back";

const std::vector<test::KernelCase> cases = {
    {"two_arrays",
     R"(
void two_arrays(int steps, int n, int m, float A[n][m], float B[n][m]) {
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m - 1; j++)
        B[i][j] = 0.2f * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j]);
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m - 1; j++)
        A[i][j] = 0.2f * (B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j] + B[i - 1][j]);
  }
})",
     kStreamed,
     {{{"steps", 0}, {"n", 5}, {"m", 5}},
      {{"steps", 1}, {"n", 3}, {"m", 70}},
      {{"steps", 4}, {"n", 20}, {"m", 20}},
      {{"steps", 9}, {"n", 67}, {"m", 53}},
      {{"steps", 13}, {"n", 1}, {"m", 9}},
      {{"steps", 5}, {"n", 2}, {"m", 2}},
      {{"steps", 5}, {"n", 39}, {"m", 129}},
      {{"steps", 5}, {"n", 105}, {"m", 215}}},  // tiles that touch no border
     true},
    {"one_dimension",
     R"(
void one_dimension(int steps, int n, double A[n], double B[n]) {
  for (int t = 1; t <= steps; t++) {
    for (int i = 1; i < n - 1; i++) B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1]);
    for (int i = 1; i < n - 1; i++) A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1]);
  }
})",
     kThree,
     {{{"steps", 3}, {"n", 1}},
      {{"steps", 40}, {"n", 900}},
      {{"steps", 64}, {"n", 1500}},
      {{"steps", 70}, {"n", 30}}},
     true},
    // Reaches of two and of none, a coefficient for each element, domains of stages that differ, values of
    // iterators.
    {"uneven",
     R"(
void uneven(int steps, int n, float A[n][n], float B[n][n], const float w[n][n], float c) {
  for (int t = 0; t < steps; t++) {
    for (int i = 2; i < n; i++)
      for (int j = 0; j < n - 3; j++) B[i][j] += c * w[i][j] * A[i - 2][j + 1] + 0.001f * i;
    for (int i = 0; i < n - 1; i++)
      for (int j = 1; j < n; j++) A[i][j] = 0.5f * A[i][j] + 0.25f * B[i + 1][j - 1] + w[i + 1][j];
  }
})",
     kStreamed,
     {{{"steps", 1}, {"n", 4}}, {{"steps", 7}, {"n", 61}}, {{"steps", 12}, {"n", 20}}},
     false},
    // Rows and columns of their own, what all iterations read, the step, an array that a step writes twice.
    {"driven",
     R"(
void driven(int steps, int n, int m, float E[n][m], float H[n][m], const float source[steps], const float at[3]) {
  for (int t = 0; t < steps; t++) {
    for (int j = 0; j < m; j++) E[0][j] = source[t] + 0.01f * t;
    for (int i = 1; i < n; i++)
      for (int j = 0; j < m; j++) E[i][j] = E[i][j] - at[1] * (H[i][j] - H[i - 1][j]);
    for (int i = 0; i < n; i++) H[i][m - 1] = 0.5f * E[i][m - 2];
    for (int i = 0; i < n - 1; i++)
      for (int j = 0; j < m - 1; j++) H[i][j] = H[i][j] - 0.25f * (E[i + 1][j] - E[i][j] + E[i][j + 1]);
  }
})",
     kStreamed,
     {{{"steps", 2}, {"n", 2}, {"m", 3}},
      {{"steps", 9}, {"n", 43}, {"m", 131}},
      {{"steps", 17}, {"n", 70}, {"m", 19}}},
     false},
    {"whole_numbers",
     R"(
void whole_numbers(int steps, int n, int A[n][n], int B[n][n]) {
  for (int t = 0; t < steps; t++) {
    for (int x = 1; x < n; x++)
      for (int y = 1; y < n; y++) B[x][y] = A[x][y] % 7 + A[x - 1][y - 1];
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) A[i][j] = B[i][j] - A[i][j];
  }
})",
     kStreamed,
     {{{"steps", 11}, {"n", 71}}, {{"steps", 2}, {"n", 1}}},
     true},
};

/// The same through shared memory.
std::vector<test::KernelCase> all_cases() {
  std::vector<test::KernelCase> all = cases;
  for (test::KernelCase one : cases) {
    if (one.patterns != kStreamed || one.name == "driven") continue;  // which has none there
    const std::string name = one.name + "_shared";
    one.text.replace(one.text.find(one.name), one.name.size(), name);
    one.name = name;
    one.patterns = kThree;
    one.time_tiles = TimeTiles::shared;
    all.push_back(std::move(one));
  }
  return all;
}

class TimeTilesOf : public testing::TestWithParam<std::size_t> {};
TEST_P(TimeTilesOf, ComputeWhatTheNestDoes) {
  static const std::vector<test::KernelCase> all = all_cases();
  static const test::CompiledCases compiled(all);
  compiled.check(all, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Cases, TimeTilesOf, testing::Range(std::size_t{0}, all_cases().size()),
                         [](const auto& one) { return all_cases()[one.param].name; });

TEST(RandomSteps, LeaveWhatTheNestLeaves) {
  if (!test::have_kernel_compiler()) GTEST_SKIP() << "no nvcc";
  const bool all = std::getenv("WARPLOOM_ALL_STEPS") != nullptr;
  const int count = all ? 60 : 6;
  std::mt19937 random(all ? 2 : 1);
  std::vector<Nest> nests;
  std::vector<GpuProgram> programs;
  std::vector<std::string> texts;
  for (int k = 0; k < count; ++k) {
    texts.push_back(test::RandomSteps(random).text(fmt::format("steps{}", k)));
    nests.push_back(test::analyse(texts.back()));
    programs.push_back(test::program_of(nests.back(), true, TimeTiles::registers));
  }
  EXPECT_GE(std::ranges::count_if(programs,
                                  [](const GpuProgram& program) {
                                    return test::patterns_of(program).find(kStreamed) != std::string::npos;
                                  }),
            count * 2 / 3);
  const test::SimulatedKernels kernels(programs);
  for (std::size_t k = 0; k < nests.size(); ++k)
    for (const auto& [steps, n, m] :
         {std::tuple{3, 8, 9}, {9, 21, 70}, k % 5 == 0 ? std::tuple{5, 110, 215} : std::tuple{2, 40, 40}}) {
      std::vector<std::string> findings;
      EXPECT_LE(kernels.difference(nests[k], programs[k], {{"steps", steps}, {"n", n}, {"m", m}}, findings),
                1e-5)
          << texts[k] << steps << ' ' << n << ' ' << m;
      EXPECT_THAT(findings, testing::IsEmpty()) << texts[k];
    }
}

TEST(TimeTilesText, SeveralStepsALaunch) {
  const GpuProgram program = test::program_of(cases[0].text, false, TimeTiles::shared);
  EXPECT_THAT(to_text(program.host), HasSubstr("t += 4"));
  EXPECT_THAT(program.kernels[0].text, HasSubstr("__shared__ float A_tile[66][66];"));
  EXPECT_THAT(program.kernels[0].reasons, testing::Contains(HasSubstr("4 steps of t a launch")));
}

TEST(TimeTilesText, RowsStreamThroughRegisters) {
  const GpuProgram program = test::program_of(cases[0].text);
  EXPECT_THAT(to_text(program.host), HasSubstr("t += 4"));
  const Kernel& kernel = program.kernels[0];
  // What is read is in registers, and of B only what no loop writes comes from memory.
  EXPECT_THAT(kernel.text, HasSubstr("float A_rows[kSteps + 1][3][kColumns + 2] = {};"));
  EXPECT_THAT(kernel.text, HasSubstr("if (!(row_runs && j >= 1 && j < m - 1)) row[c] = B["));
  EXPECT_THAT(kernel.text, HasSubstr("if (kCareful && t + kSteps >= steps"));
  // A product is rounded before the next stage adds it.
  EXPECT_THAT(kernel.text, HasSubstr("__fmul_rn(0.2f, A_rows[step][1][c + 1] + "));
  EXPECT_THAT(kernel.reasons, testing::Contains(HasSubstr("4 steps of t a launch, in registers")));
  EXPECT_THAT(kernel.reasons, testing::Contains(HasSubstr("steps overwrite B before they read it")));
  EXPECT_EQ(program.temporaries.size(), 1u);
}

TEST(TimeTilesText, KnownSmallArraysGoThroughSharedMemory) {
  const auto pattern = [](std::int64_t n) {
    return test::program_of(test::analyse(cases[0].text, {{"n", n, n}, {"m", n, n}})).kernels[0].pattern;
  };
  EXPECT_EQ(pattern(900), "time tiles");
  EXPECT_EQ(pattern(1300), "streamed time tiles");
}

TEST(TimeTilesText, WhatIsAskedForAndDoesNotFitIsSaid) {
  const std::string one_dimension = cases[1].text;
  const GpuProgram none = test::program_of(one_dimension, false, TimeTiles::registers);
  EXPECT_THAT(none.reasons, testing::Contains(HasSubstr("time tiles in registers were asked for: ")));
  EXPECT_EQ(test::patterns_of(none).find("time tiles"), std::string::npos);
  EXPECT_EQ(test::patterns_of(test::program_of(one_dimension, false, TimeTiles::none)).find("time tiles"),
            std::string::npos);
}

TEST(TimeTilesText, WhatIsNoStencilIsLeftToOthers) {
  const auto patterns = [](const std::string& stage) {
    return test::patterns_of(test::program_of(
        "void none(int steps, int n, float A[n][n], float B[n][n], float v[n]) {\n  for (int t = 0; t < steps; t++) {\n"
        "    for (int i = 1; i < n - 1; i++)\n      for (int j = 1; j < n - 1; j++) B[i][j] = A[i][j + 1];\n" +
        stage + "  }\n}"));
  };
  const std::string loops = "    for (int i = 1; i < n - 1; i++)\n      for (int j = 1; j < n - 1; j++) ";
  for (const char* statement : {"A[i][j] = B[j][i];", "A[i][j] = B[i][j] + v[j];",
                                "A[i][j] = B[i][j] + B[0][0];", "A[j][i] = B[j][i] + B[0][i];"})
    EXPECT_EQ(patterns(loops + statement + "\n").find("time tiles"), std::string::npos) << statement;
  EXPECT_EQ(patterns("    for (int j = 0; j < n; j++) A[0][j] = B[j][1];\n").find("time tiles"),
            std::string::npos);
}

}  // namespace
}  // namespace warploom::tile
