// An iteration a thread: which loop is along x, tiles for what runs across, constants, and the results.
#include "loops/kernel_cases.hpp"

namespace warploom::loops {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string transpose_text = R"(
void transpose(int n, int m, float B[m][n], float A[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) B[j][i] = A[i][j];
})";
const std::string signal_text = R"(
void signal_recognition(int n, int m, float R[n][m], float M[n][m][m], float V[m]) {
  for (int t = 0; t < n; t++)
    for (int i = 0; i < m; i++) {
      R[t][i] = 0.0f;
      for (int j = 0; j < m; j++) R[t][i] += M[t][j][i] * V[j];
    }
})";
std::vector<SizeRange> known(std::int64_t n, std::int64_t m) { return {{"n", n, n}, {"m", m, m}}; }

const std::vector<test::KernelCase> cases = {
    {"transpose",
     transpose_text,
     "transposing",
     {{{"n", 1}, {"m", 1}}, {{"n", 64}, {"m", 64}}, {{"n", 130}, {"m", 37}}}},
    {"two_tiles",
     R"(
void two_tiles(int n, int m, double B[m][n], double A[n][m], double C[n][m], double D[m][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      B[j][i] += 2.0 * A[i][j] + C[i][j];
      D[j][i] = C[i][j] * B[j][i];
    }
})",
     "transposing",
     {{{"n", 70}, {"m", 33}}}},
    {"symmetrise",
     R"(
void symmetrise(int n, float A[n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++) A[j][i] = A[i][j];
})",
     "transposing",
     {{{"n", 1}}, {{"n", 100}}}},
    {"batch_transpose",
     R"(
void batch_transpose(int n, int m, int b, int B[b][m][n], int A[b][n][m]) {
  for (int k = 0; k < b; k++)
    for (int i = 1; i < n; i++)
      for (int j = 0; j < m - 1; j++) B[k][j + 1][i - 1] = A[k][i][j] + 1;
})",
     "transposing",
     {{{"n", 1}, {"m", 1}, {"b", 1}}, {{"n", 40}, {"m", 70}, {"b", 3}}}},
    {"scattered_write",
     R"(
void scattered_write(int n, int m, float A[n][m], float B[m][n], float C[n][m], float D[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) B[j][i] = A[i][j] + C[i][j] * D[i][j] + A[i][j] * D[i][j];
})",
     "transposing",
     {{{"n", 70}, {"m", 33}}}},
    {"stencil",
     R"(
void stencil(int n, int steps, float A[n][n], float B[n][n]) {
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++) B[i][j] = 0.2f * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j]);
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++) A[i][j] = 0.2f * (B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j] + B[i - 1][j]);
  }
})",
     "pointwise, pointwise",
     {{{"n", 3}, {"steps", 2}}, {{"n", 37}, {"steps", 3}}, {{"n", 1}, {"steps", 1}}}},
    {"upper",
     R"(
void upper(int n, float A[n][n], float b[n]) {
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++) A[i][j] = A[i][j] * b[j] + sqrt(b[i]);
})",
     "pointwise",
     {{{"n", 1}}, {{"n", 2}}, {{"n", 70}}}},
    {"box",
     R"(
void box(int l, int n, int m, float A[l][n][m], float B[l][n][m]) {
  for (int k = 1; k < l; k++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < m; j++) A[k][i][j] = B[k - 1][i][j] * 2.0f + k;
})",
     "pointwise",
     {{{"l", 4}, {"n", 5}, {"m", 40}}}},
    {"strided",
     R"(
void strided(int n, float A[n], float B[n]) {
  for (int i = 1; i < n; i += 3) A[i] = B[i] + 1.0f;
})",
     "pointwise",
     {{{"n", 1}}, {{"n", 2}}, {{"n", 800}}}},
    {"private_sum",
     R"(
void private_sum(int n, int m, float A[m][n], float y[n]) {
  float s;
  for (int i = 0; i < n; i++) {
    s = 0.5f;
    for (int j = 0; j < m; j++) s = s * A[j][i] + 0.1f;
    y[i] = s;
  }
})",
     "pointwise",
     {{{"n", 70}, {"m", 5}}}},
    {"row_in_order",
     R"(
void row_in_order(int n, int m, float A[n][m], float x[m], float y[n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) y[i] += A[i][j] * x[j];
})",
     "pointwise",
     {{{"n", 70}, {"m", 5}}, {{"n", 3}, {"m", 0}}},
     true},
    {"signal_recognition",
     signal_text,
     "pointwise",
     {{{"n", 64}, {"m", 33}}},
     true,
     {{"n", 64, 64}, {"m", 33, 33}}},
};

class Pointwise : public testing::TestWithParam<std::size_t> {};
TEST_P(Pointwise, ComputesWhatTheNestDoes) {
  static const test::CompiledCases compiled(cases);
  compiled.check(cases, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Cases, Pointwise, testing::Range(std::size_t{0}, cases.size()),
                         [](const auto& one) { return cases[one.param].name; });

const Placement& placement_of(const Kernel& kernel, const std::string& array) {
  for (const Placement& placement : kernel.placements)
    if (placement.array == array) return placement;
  throw std::runtime_error(array + " is not placed");
}

TEST(PointwiseText, TheContiguousLoopIsAlongX) {
  const Kernel kernel = test::program_of(R"(
void f(int n, int m, float A[n][m], float B[n][m]) {
  for (int j = 0; j < m; j++)
    for (int i = 0; i < n; i++) A[i][j] = B[i][j] + 1.0f;
})")
                            .kernels.at(0);
  EXPECT_THAT(kernel.text, HasSubstr("const int j = blockIdx.x * 256 + threadIdx.x;"));
  EXPECT_EQ(placement_of(kernel, "A").sectors, 4);
}

TEST(PointwiseText, ATransposesTileHasAColumnMoreThanItsWidth) {
  const Kernel kernel = test::program_of(transpose_text).kernels.at(0);
  EXPECT_THAT(kernel.text, HasSubstr("__shared__ float A_tile[64][65];"));
  const Placement& placement = placement_of(kernel, "A");
  EXPECT_EQ(placement.space, Space::shared);
  EXPECT_EQ(placement.bytes, 64u * 65 * 4);
  EXPECT_EQ(placement.sectors, placement.ideal_sectors);
}

TEST(PointwiseText, AFewKnownColumnsAreNotWorthATile) {
  const Nest nest = test::analyse(transpose_text, {{"m", 3, 3}});
  EXPECT_EQ(test::patterns_of(test::program_of(nest)), "pointwise");
}

TEST(PointwiseConstant, ASmallVectorThatAllThreadsReadTogetherIsConstant) {
  const Nest nest = test::analyse(signal_text, known(1024, 1024));
  const Kernel kernel = test::program_of(nest, true).kernels.at(0);
  EXPECT_EQ(placement_of(kernel, "V").space, Space::constant);
  EXPECT_EQ(placement_of(kernel, "V").bytes, 4096u);
  EXPECT_THAT(kernel.text, HasSubstr("V_constant[j]"));
  EXPECT_THAT(kernel.parameters, Not(testing::Contains("V")));
}

TEST(PointwiseConstant, AVectorAboveTheConstantSpaceStaysInMemory) {
  const Nest nest = test::analyse(signal_text, known(4, 16385));
  EXPECT_EQ(placement_of(test::program_of(nest, true).kernels.at(0), "V").space, Space::read_only);
}

TEST(PointwiseConstant, AVectorOfUnknownSizeStaysInMemory) {
  EXPECT_EQ(placement_of(test::program_of(signal_text, true).kernels.at(0), "V").space, Space::read_only);
}

TEST(PointwiseConstant, ACopyThatCostsMoreThanItGainsIsNotMade) {
  const Nest nest = test::analyse(signal_text, known(2, 8));
  EXPECT_EQ(placement_of(test::program_of(nest, true).kernels.at(0), "V").space, Space::read_only);
}

}  // namespace
}  // namespace warploom::loops
