// Rows and columns of sums: what matches, and that the kernels compute what the nest does.
#include "kernel_cases.hpp"

namespace warploom::tile {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string rows_text = R"(
void rows(int n, int m, float A[n][m], float x[m], float y[n]) {
  for (int i = 0; i < n; i++) {
    y[i] = 0.0f;
    for (int j = 0; j < m; j++) y[i] += A[i][j] * x[j];
  }
})";
const std::string columns_text = R"(
void columns(int n, int m, float A[n][m], float x[n], float y[m]) {
  for (int j = 0; j < m; j++)
    for (int i = 0; i < n; i++) y[j] += A[i][j] * x[i];
})";

const std::string rows = "row reduction", columns = "column reduction, sum of parts";

const std::vector<test::KernelCase> cases = {
    {"rows",
     rows_text,
     rows,
     {{{"n", 1}, {"m", 1}}, {{"n", 3}, {"m", 0}}, {{"n", 7}, {"m", 300}}, {{"n", 2}, {"m", 257}}}},
    {"columns",
     columns_text,
     columns,
     {{{"n", 1}, {"m", 1}}, {{"n", 0}, {"m", 5}}, {{"n", 300}, {"m", 7}}, {{"n", 65}, {"m", 33}}}},
    {"gesummv",
     R"(
void gesummv(int n, float alpha, float beta, float A[n][n], float B[n][n], float tmp[n], float x[n], float y[n]) {
  for (int i = 0; i < n; i++) {
    tmp[i] = 0.0f;
    y[i] = 0.0f;
    for (int j = 0; j < n; j++) {
      tmp[i] = A[i][j] * x[j] + tmp[i];
      y[i] = B[i][j] * x[j] + y[i];
    }
    y[i] = alpha * tmp[i] + beta * y[i];
  }
})",
     rows,
     {{{"n", 37}}}},
    {"row_triangle",
     R"(
void row_triangle(int n, float L[n][n], float x[n], float y[n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++) y[i] -= L[i][j] * x[j];
})",
     rows,
     {{{"n", 1}}, {{"n", 70}}}},
    // Rows that no sum has still get what stands before it.
    {"empty_rows",
     R"(
void empty_rows(int n, int m, float L[n][m], float y[n], float z[n]) {
  for (int i = 0; i < n; i++) {
    z[i] = 2.0f;
    for (int j = i; j < m; j++) y[i] += L[i][j];
    z[i] += 1.0f;
  }
})",
     rows,
     {{{"n", 9}, {"m", 5}}}},
    {"empty_columns",
     R"(
void empty_columns(int n, int m, float L[m][n], float y[n], float z[n]) {
  for (int j = 0; j < n; j++) {
    z[j] = 2.0f;
    for (int i = j; i < m; i++) y[j] += L[i][j];
    z[j] += 1.0f;
  }
})",
     columns,
     {{{"n", 9}, {"m", 5}}}},
    {"column_triangle",
     R"(
void column_triangle(int n, float L[n][n], float x[n], float y[n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) y[j] -= L[i][j] * x[i];
})",
     columns,
     {{{"n", 1}}, {{"n", 100}}}},
    {"counts",
     R"(
void counts(int n, int m, int A[n][m], int c[n]) {
  for (int i = 0; i < n; i++)
    for (int j = m - 1; j >= 0; j--) c[i] += A[i][j] * 3;
})",
     rows,
     {{{"n", 5}, {"m", 290}}}},
    {"dot",
     R"(
void dot(int n, double x[n], double y[n], double r[1]) {
  double s = 0.0;
  for (int i = 0; i < n; i++) s += x[i] * y[i];
  r[0] = s;
})",
     rows,
     {{{"n", 1}}, {{"n", 700}}}},
    {"frobenius",
     R"(
void frobenius(int n, int m, float A[n][m], float out[1]) {
  out[0] = 0.0f;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) out[0] += A[i][j] * A[i][j];
})",
     rows,
     {{{"n", 5}, {"m", 300}}}},
    {"batched",
     R"(
void batched(int b, int n, int m, float A[b][n][m], float x[b][m], float y[b][n]) {
  for (int k = 0; k < b; k++)
    for (int i = 0; i < n; i++) {
      float s = 1.0f;
      for (int j = 0; j < m; j++) s += A[k][i][j] * x[k][j];
      y[k][i] = s;
    }
})",
     rows,
     {{{"b", 3}, {"n", 4}, {"m", 40}}}},
    // Loops of the host around: columns k + 1 to n - 1 for each k.
    {"products",
     R"(
void products(int m, int n, float A[m][n], float R[n][n]) {
  for (int k = 0; k < n; k++) {
    for (int j = k + 1; j < n; j++) {
      R[k][j] = 0.0f;
      for (int i = 0; i < m; i++) R[k][j] += A[i][k] * A[i][j];
    }
    for (int j = k + 1; j < n; j++)
      for (int i = 0; i < m; i++) A[i][j] = A[i][j] - 0.01f * A[i][k] * R[k][j];
  }
})",
     "pointwise, " + columns + ", pointwise",
     {{{"m", 70}, {"n", 5}}}},
};

class MatrixVector : public testing::TestWithParam<std::size_t> {};
TEST_P(MatrixVector, ComputesWhatTheNestDoes) {
  static const test::CompiledCases compiled(cases);
  compiled.check(cases, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Cases, MatrixVector, testing::Range(std::size_t{0}, cases.size()),
                         [](const auto& one) { return cases[one.param].name; });

TEST(MatrixVectorText, ARowIsReadByNeighbouringThreads) {
  const Kernel kernel = test::program_of(rows_text).kernels.at(0);
  EXPECT_THAT(kernel.text, HasSubstr("const int i = blockIdx.x;"));
  EXPECT_THAT(kernel.text, HasSubstr("for (int j = threadIdx.x; j < m; j += 256)"));
  EXPECT_THAT(kernel.text, HasSubstr("y_sum += A[(std::int64_t)i * m + j] * x[j];"));
  EXPECT_THAT(kernel.text, HasSubstr("const float* __restrict__ A"));
  EXPECT_EQ(to_text(kernel.grid[0]), "n");
  EXPECT_EQ(kernel.block[0], Expression::integer(256));
}

TEST(MatrixVectorText, AColumnBelongsToAThreadAndItsRowsToSeveralBlocks) {
  const GpuProgram program = test::program_of(columns_text);
  ASSERT_EQ(program.kernels.size(), 2u);
  EXPECT_THAT(program.kernels[0].text, HasSubstr("const int j = blockIdx.x * 32 + threadIdx.x;"));
  EXPECT_EQ(to_text(program.kernels[0].grid[1]), "max(1, min(1056 / max(1, (m + 31) / 32), (n + 63) / 64))");
  ASSERT_EQ(program.temporaries.size(), 1u);
  EXPECT_EQ(program.temporaries[0].extents[0], program.kernels[0].grid[1]);
  EXPECT_THAT(program.kernels[0].text, Not(HasSubstr("atomic")));
}

TEST(MatrixVectorText, OrderIsKeptWhereItMustBe) {
  EXPECT_EQ(test::patterns_of(test::program_of(rows_text, true)), "pointwise");
  EXPECT_EQ(test::patterns_of(test::program_of(columns_text, true)), "pointwise");
}

TEST(MatrixVectorMatch, ASumThatReadsItsTargetsNeighbourIsNone) {
  const GpuProgram program = test::program_of(R"(
void f(int n, int m, float A[n][m], float x[m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) A[i][0] += A[i][j] * x[j];
})");
  EXPECT_EQ(test::patterns_of(program), "pointwise");
}

TEST(MatrixVectorMatch, AProductIsNoSum) {
  const GpuProgram program = test::program_of(R"(
void f(int n, int m, float A[n][m], float y[n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) y[i] *= A[i][j];
})");
  EXPECT_EQ(test::patterns_of(program), "pointwise");
}

TEST(MatrixVectorPlacement, SaysWhichAccessesAreContiguous) {
  const Kernel kernel = test::program_of(rows_text).kernels.at(0);
  for (const Placement& placement : kernel.placements) {
    if (placement.array != "A") continue;
    EXPECT_EQ(placement.space, Space::read_only);
    EXPECT_EQ(placement.sectors, 4);
    EXPECT_EQ(placement.ideal_sectors, 4);
    return;
  }
  FAIL() << "A is not placed";
}

}  // namespace
}  // namespace warploom::tile
