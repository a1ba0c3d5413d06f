// Shortest paths and their like: a pass over the array for each k.
#include "kernel_cases.hpp"

namespace warploom::tile {
namespace {

using testing::HasSubstr;

// Values of make_memory are below and above 0: rows and columns k do change while k is the same.
const std::vector<test::KernelCase> cases = {
    {"shortest",
     R"(
void shortest(int n, float A[n][n]) {
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) A[i][j] = fminf(A[i][j], A[i][k] + A[k][j]);
})",
     "closure, closure",
     {{{"n", 0}}, {{"n", 1}}, {{"n", 2}}, {{"n", 19}}, {{"n", 35}}}},
    {"whole_numbers",
     R"(
void whole_numbers(int n, int path[n][n]) {
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        path[i][j] = path[i][j] < path[i][k] + path[k][j] ? path[i][j] : path[i][k] + path[k][j];
})",
     "closure, closure",
     {{{"n", 3}}, {{"n", 23}}}},
    // Each place of an old and a new value counts here.
    {"elimination",
     R"(
void elimination(int n, int m, double A[n][m], const double w[n]) {
  for (int k = 1; k <= n - 2; k++)
    for (int i = 1; i <= n - 2; i++)
      for (int j = 1; j <= n - 2; j++)
        A[i][j] -= 0.01 * w[i] * A[i][k] * A[k][j] + 0.02 * A[k][k] + 0.001 * j;
})",
     "closure, closure",
     {{{"n", 3}, {"m", 2}}, {{"n", 4}, {"m", 5}}, {{"n", 17}, {"m", 17}}, {{"n", 29}, {"m", 31}}}},
    {"only_rows",
     R"(
void only_rows(int n, double A[n][n]) {
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) A[i][j] = 0.5 * A[i][j] + 0.25 * A[k][j];
})",
     "closure, closure",
     {{{"n", 1}}, {{"n", 26}}}},
};

class Closures : public testing::TestWithParam<std::size_t> {};
TEST_P(Closures, ComputeWhatTheNestDoes) {
  static const test::CompiledCases compiled(cases);
  compiled.check(cases, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Cases, Closures, testing::Range(std::size_t{0}, cases.size()),
                         [](const auto& one) { return cases[one.param].name; });

TEST(ClosureText, ALaunchForEachK) {
  const Nest nest = test::analyse(cases[0].text);
  const GpuProgram program = test::program_of(nest);
  EXPECT_THAT(to_text(program.host), HasSubstr("for (int k = 0; k < n; k++)"));
  EXPECT_EQ(program.temporaries.size(), 2u);
  const std::vector<Cost> costs = cost(nest, program, {}, {{"n", 2000}});
  EXPECT_LT(costs.at(1).milliseconds, 15);  // 2 n - 1 waves for each k take 27 s to launch
}

TEST(ClosureText, WhatIsNoneIsLeftToOthers) {
  for (const char* value :
       {"A[i][j] + 1.0f", "A[i][j] + A[i][k + 1]", "A[i][j] + A[k][i]", "B[i][k] + B[k][j]"}) {
    const std::string text =
        "void none(int n, float A[n + 1][n + 1], const float B[n][n]) {\n"
        "  for (int k = 0; k < n; k++)\n    for (int i = 0; i < n; i++)\n      for (int j = 0; j < n; j++) A[i][j] = " +
        std::string(value) + ";\n}";
    EXPECT_EQ(test::patterns_of(test::program_of(text)).find("closure"), std::string::npos) << value;
  }
}

}  // namespace
}  // namespace warploom::tile
