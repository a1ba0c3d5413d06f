// Several steps of stencils a launch.
#include "kernel_cases.hpp"

namespace warploom::tile {
namespace {

using testing::HasSubstr;

constexpr const char* kThree = "time tiles, time tiles, copy back";

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
     kThree,
     {{{"steps", 0}, {"n", 5}, {"m", 5}},
      {{"steps", 1}, {"n", 3}, {"m", 70}},
      {{"steps", 4}, {"n", 20}, {"m", 20}},
      {{"steps", 9}, {"n", 67}, {"m", 53}},
      {{"steps", 5}, {"n", 2}, {"m", 2}}},
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
     kThree,
     {{{"steps", 1}, {"n", 4}}, {{"steps", 7}, {"n", 61}}, {{"steps", 12}, {"n", 20}}},
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
     kThree,
     {{{"steps", 11}, {"n", 71}}, {{"steps", 2}, {"n", 1}}},
     true},
};

class TimeTilesOf : public testing::TestWithParam<std::size_t> {};
TEST_P(TimeTilesOf, ComputeWhatTheNestDoes) {
  static const test::CompiledCases compiled(cases);
  compiled.check(cases, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Cases, TimeTilesOf, testing::Range(std::size_t{0}, cases.size()),
                         [](const auto& one) { return cases[one.param].name; });

TEST(TimeTilesText, SeveralStepsALaunch) {
  const GpuProgram program = test::program_of(cases[0].text);
  EXPECT_THAT(to_text(program.host), HasSubstr("t += 4"));
  EXPECT_THAT(program.kernels[0].text, HasSubstr("__shared__ float A_tile[66][66];"));
  EXPECT_THAT(program.kernels[0].reasons, testing::Contains(HasSubstr("4 steps of t a launch")));
}

TEST(TimeTilesText, WhatIsNoStencilIsLeftToOthers) {
  const auto patterns = [](const std::string& stage) {
    return test::patterns_of(test::program_of(
        "void none(int steps, int n, float A[n][n], float B[n][n], float v[n]) {\n  for (int t = 0; t < steps; t++) {\n"
        "    for (int i = 1; i < n - 1; i++)\n      for (int j = 1; j < n - 1; j++) B[i][j] = A[i][j + 1];\n" +
        stage + "  }\n}"));
  };
  const std::string loops = "    for (int i = 1; i < n - 1; i++)\n      for (int j = 1; j < n - 1; j++) ";
  for (const char* statement : {"A[i][j] = B[j][i];", "A[i][j] = B[i][j] + t;", "A[i][j] = B[i][j] + v[j];",
                                "A[j][i] = B[j][i] + B[0][i];"})
    EXPECT_EQ(patterns(loops + statement + "\n").find("time tiles"), std::string::npos) << statement;
  EXPECT_EQ(patterns("    for (int j = 0; j < n; j++) A[0][j] = B[1][j];\n").find("time tiles"),
            std::string::npos);
}

}  // namespace
}  // namespace warploom::tile
