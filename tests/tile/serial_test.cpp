// Nests without a parallel loop: one thread, which says so.
#include "kernel_cases.hpp"

namespace warploom::tile {
namespace {

const std::vector<test::KernelCase> cases = {
    {"prefix",
     R"(
void prefix(int n, float A[n]) {
  for (int i = 1; i < n; i++) A[i] = A[i] + 0.5f * A[i - 1];
})",
     "serial",
     {{{"n", 1}}, {{"n", 50}}}},
    {"scalar",
     R"(
void scalar(int n, double A[n], double r[2]) {
  double s = 1.0;
  for (int i = 0; i < n; i++) s = s * 0.5 + A[i];
  r[0] = s;
  r[1] = 2 * s;
})",
     "serial",
     {{{"n", 0}}, {{"n", 9}}}},
};

class Serial : public testing::TestWithParam<std::size_t> {};
TEST_P(Serial, ComputesWhatTheNestDoes) {
  static const test::CompiledCases compiled(cases);
  compiled.check(cases, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Cases, Serial, testing::Range(std::size_t{0}, cases.size()),
                         [](const auto& one) { return cases[one.param].name; });

TEST(SerialText, WarnsThatOneThreadRunsIt) {
  const Kernel kernel = test::program_of(cases[0].text).kernels.at(0);
  ASSERT_FALSE(kernel.reasons.empty());
  EXPECT_THAT(kernel.reasons[0], testing::HasSubstr("warning: no loop here is parallel"));
  EXPECT_EQ(kernel.block[0], Expression::integer(1));
  EXPECT_EQ(kernel.grid[0], Expression::integer(1));
}

}  // namespace
}  // namespace warploom::tile
