// Wavefronts as kernels: a loop of the host over the waves, a thread for each iteration of one.
#include "kernel_cases.hpp"
#include "tile/kernels/access_cost.hpp"

namespace warploom::tile {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<test::KernelCase> cases = {
    {"gauss_seidel",
     R"(
void gauss_seidel(int n, int m, int steps, float A[n][m]) {
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m - 1; j++)
        A[i][j] = 0.2f * (A[i][j] + A[i - 1][j] + A[i][j - 1] + A[i + 1][j] + A[i][j + 1]);
})",
     "pointwise",
     {{{"n", 0}, {"m", 4}, {"steps", 2}},
      {{"n", 3}, {"m", 3}, {"steps", 1}},
      {{"n", 7}, {"m", 40}, {"steps", 9}},
      {{"n", 37}, {"m", 5}, {"steps", 12}}}},
    {"nine_points",
     R"(
void nine_points(int n, int m, int steps, double A[n][m]) {
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m - 1; j++)
        A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] + A[i][j] + A[i][j + 1] +
                   A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]) / 9.0;
})",
     "pointwise",
     {{{"n", 2}, {"m", 2}, {"steps", 2}},
      {{"n", 3}, {"m", 4}, {"steps", 1}},
      {{"n", 9}, {"m", 23}, {"steps", 1}},
      {{"n", 12}, {"m", 7}, {"steps", 31}}}},
    {"edit_distance",
     R"(
void edit_distance(int n, int m, int D[n][m], const int a[n], const int b[m]) {
  for (int i = 1; i < n; i++)
    for (int j = 1; j < m; j++) {
      int same = D[i - 1][j - 1] + (a[i] == b[j] ? 0 : 1);
      int gap = D[i - 1][j] <= D[i][j - 1] ? D[i - 1][j] + 1 : D[i][j - 1] + 1;
      D[i][j] = same <= gap ? same : gap;
    }
})",
     "pointwise",
     {{{"n", 1}, {"m", 1}}, {{"n", 2}, {"m", 2}}, {{"n", 70}, {"m", 33}}, {{"n", 9}, {"m", 130}}}},
    {"triangle_with_sums",
     R"(
void triangle_with_sums(int n, float A[n][n], const float w[n]) {
  for (int i = n - 1; i >= 0; i--)
    for (int j = i + 1; j < n; j++) {
      A[i][j] = 0.5f * A[i][j - 1];
      for (int k = i + 1; k < j; k++) A[i][j] += w[k] * A[i][k] * A[k][j] * 0.01f;
    }
})",
     "pointwise",
     {{{"n", 1}}, {{"n", 2}}, {{"n", 31}}, {{"n", 67}}}},
    {"sums_of_other_arrays",
     R"(
void sums_of_other_arrays(int n, int m, float C[n][n], const float P[n][m], const float Q[n][m]) {
  for (int i = 1; i < n; i++)
    for (int j = 1; j < n; j++) {
      C[i][j] = 0.5f * C[i - 1][j] + 0.25f * C[i][j - 1];
      for (int k = 0; k < m; k++) C[i][j] += P[i][k] * Q[j][k] * 0.01f;
    }
})",
     "row reduction",
     {{{"n", 2}, {"m", 0}}, {{"n", 31}, {"m", 70}}, {{"n", 67}, {"m", 5}}}},
    {"sums_in_planes",
     R"(
void sums_in_planes(int n, int m, float C[n][n][n], const float P[n][m], const float Q[m][n]) {
  for (int t = 1; t < n; t++)
    for (int i = 1; i < n; i++)
      for (int j = 1; j < n; j++) {
        C[t][i][j] = 0.5f * C[t - 1][i][j] + 0.25f * C[t][i - 1][j] + 0.125f * C[t][i][j - 1];
        for (int k = 0; k < m; k++) C[t][i][j] += P[t][k] * Q[k][i] * 0.01f;
      }
})",
     "pointwise",
     {{{"n", 1}, {"m", 1}}, {{"n", 18}, {"m", 20}}}},
    {"steps_of_loops",
     R"(
void steps_of_loops(int n, int m, float A[n][m]) {
  for (int i = 3; i < n; i += 3)
    for (int j = m - 3; j >= 0; j -= 2) A[i][j] = 0.5f * A[i - 3][j] + 0.25f * A[i][j + 2];
})",
     "pointwise",
     {{{"n", 3}, {"m", 3}}, {{"n", 4}, {"m", 4}}, {{"n", 40}, {"m", 51}}}},
    {"known_sizes",
     R"(
void known_sizes(int n, float A[n][n]) {
  for (int i = 1; i < n; i++)
    for (int j = 1; j < n; j++) A[i][j] = 0.5f * A[i - 1][j] + 0.25f * A[i][j - 1];
})",
     "pointwise",
     {{{"n", 50}}},
     true,
     {{"n", 50, 50}}},
};

class WaveKernels : public testing::TestWithParam<std::size_t> {};
TEST_P(WaveKernels, ComputeWhatTheNestDoes) {
  static const test::CompiledCases compiled(cases);
  compiled.check(cases, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Cases, WaveKernels, testing::Range(std::size_t{0}, cases.size()),
                         [](const auto& one) { return cases[one.param].name; });

TEST(WaveKernelText, TheHostLaunchesOneKernelAWave) {
  const Nest nest = test::analyse(cases[2].text);
  const GpuProgram program = test::program_of(nest);
  EXPECT_THAT(to_text(program.host), HasSubstr("for (int wave = 2; wave < n + m - 1; wave++)"));
  EXPECT_THAT(program.kernels.at(0).parameters, testing::Contains("wave"));
  EXPECT_THAT(program.kernels.at(0).text, Not(HasSubstr("for (")));
}

TEST(WaveKernelText, NeighbouringThreadsStayInOneRowWhereTheyCan) {
  const Kernel kernel = test::program_of(cases[1].text).kernels.at(0);
  EXPECT_THAT(kernel.text, HasSubstr("const int t = "));  // A[i][wave - 2 * i - 4 * t]
  EXPECT_THAT(kernel.text, HasSubstr("for (int i0 = "));
}

TEST(WaveKernelCost, CountsAllIterationsAndLaunches) {
  const Nest nest = test::analyse(cases[2].text);
  const GpuProgram program = test::program_of(nest);
  const std::vector<Cost> costs = cost(nest, program, {}, {{"n", 1000}, {"m", 1000}});
  const double launches_ms = 1997 * device_rates("sm_90").launch_us / 1e3;
  EXPECT_EQ(costs.at(0).bound, "launches");
  EXPECT_NEAR(costs.at(0).milliseconds, launches_ms, 1e-6);
}

}  // namespace
}  // namespace warploom::tile
