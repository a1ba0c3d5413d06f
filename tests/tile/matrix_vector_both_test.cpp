// Sums along rows and along columns of one matrix: which go through it together, and what they compute.
#include "example_nests.hpp"
#include "kernel_cases.hpp"

namespace warploom::tile {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string together = "row and column reduction, sum of parts", rows = "row reduction",
                  columns = "column reduction, sum of parts", apart = rows + ", " + columns;
/// What a program has for rows of any length, the rows' sums first.
const std::string both = together + ", " + apart;

const std::string mvt_text = R"(
void mvt(int n, float x1[n], float x2[n], float y1[n], float y2[n], float A[n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) x1[i] = x1[i] + A[i][j] * y1[j];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) x2[i] = x2[i] + A[j][i] * y2[j];
})";

const std::vector<test::KernelCase> cases = {
    {"mvt", mvt_text, both, {{{"n", 0}}, {{"n", 1}}, {{"n", 31}}, {{"n", 129}}, {{"n", 300}}}},
    {"bicg",
     R"(
void bicg(int m, int n, float A[n][m], float s[m], float q[n], float p[m], float r[n]) {
  for (int i = 0; i < m; i++) s[i] = 0.0f;
  for (int i = 0; i < n; i++) {
    q[i] = 0.0f;
    for (int j = 0; j < m; j++) {
      s[j] = s[j] + r[i] * A[i][j];
      q[i] = q[i] + A[i][j] * p[j];
    }
  }
})",
     together + ", " + columns + ", " + rows,
     {{{"m", 1}, {"n", 1}},
      {{"m", 0}, {"n", 5}},
      {{"m", 5}, {"n", 0}},
      {{"m", 130}, {"n", 3}},
      {{"m", 7}, {"n", 270}}}},
    // The columns' sums read their rows' totals. Shapes for short, longer and long rows; two kernels for
    // more.
    {"atax",
     R"(
void atax(int m, int n, float A[m][n], float x[n], float y[n], float tmp[m]) {
  for (int i = 0; i < n; i++) y[i] = 0;
  for (int i = 0; i < m; i++) {
    tmp[i] = 0.0f;
    for (int j = 0; j < n; j++) tmp[i] = tmp[i] + A[i][j] * x[j];
    for (int j = 0; j < n; j++) y[j] = y[j] + A[i][j] * tmp[i];
  }
})",
     both,
     {{{"m", 0}, {"n", 3}},
      {{"m", 3}, {"n", 0}},
      {{"m", 133}, {"n", 37}},
      {{"m", 270}, {"n", 1}},
      {{"m", 399}, {"n", 70}},
      {{"m", 3}, {"n", 1030}},
      {{"m", 2}, {"n", 4100}},
      {{"m", 2}, {"n", 8200}},
      {{"m", 2}, {"n", 16390}}}},
    {"doubles",
     R"(
void doubles(int n, int m, double u[n], double v[m], double x[m], double y[n], double A[n][m]) {
  for (int i = 0; i < n; i++) {
    double s = 0.0;
    for (int j = 0; j < m; j++) s += A[i][j] * x[j];
    u[i] = 2.0 * s;
  }
  for (int j = 0; j < m; j++) {
    double s = 1.0;
    for (int i = 0; i < n; i++) s -= A[i][j] * y[i];
    v[j] = s;
  }
})",
     both,
     {{{"n", 33}, {"m", 140}}}},
    // Two right-hand sides, with names that the text would take; of which the columns read what becomes of
    // both.
    {"several",
     R"(
void several(int n, int m, float a[n], float b[n], float c[m], float A[n][m], float row[m], float read[m], float parts[n]) {
  for (int i = 0; i < n; i++) {
    a[i] = 0.0f;
    b[i] = 1.0f;
    for (int j = 0; j < m; j++) {
      a[i] += A[i][j] * row[j] * parts[i];
      b[i] -= A[i][j] * read[j];
    }
    b[i] = a[i] + 2.0f * b[i];
  }
  for (int j = 0; j < m; j++) {
    c[j] = 0.0f;
    for (int i = 0; i < n; i++) c[j] += A[i][j] * (a[i] - b[i] * parts[i]);
    c[j] = 0.5f * c[j];
  }
})",
     both,
     {{{"n", 40}, {"m", 37}}, {{"n", 300}, {"m", 5}}}},
    {"inner_rectangle",
     R"(
void inner_rectangle(int n, int m, float u[n], float v[m], float A[n][m]) {
  for (int i = 2; i < n; i++)
    for (int j = 3; j <= m - 2; j++) u[i] += A[i][j];
  for (int j = 3; j <= m - 2; j++)
    for (int i = 2; i < n; i++) v[j] += A[i][j];
})",
     both,
     {{{"n", 2}, {"m", 9}}, {{"n", 9}, {"m", 4}}, {{"n", 35}, {"m", 160}}}},
    // A loop of the host around: the same memory for each launch.
    {"steps",
     R"(
void steps(int t, int n, int m, float p[m], float q[n], float s[m], float A[n][m]) {
  for (int k = 0; k < t; k++) {
    for (int i = 0; i < n; i++) {
      q[i] = 0.0f;
      for (int j = 0; j < m; j++) q[i] += A[i][j] * p[j];
    }
    for (int j = 0; j < m; j++) {
      s[j] = 0.0f;
      for (int i = 0; i < n; i++) s[j] += A[i][j] * q[i];
    }
    for (int j = 0; j < m; j++) p[j] = 0.001f * s[j];
  }
})",
     both + ", pointwise",
     {{{"t", 3}, {"n", 34}, {"m", 50}}}},
};

class RowAndColumnSums : public testing::TestWithParam<std::size_t> {};
TEST_P(RowAndColumnSums, ComputeWhatTheNestDoes) {
  static const test::CompiledCases compiled(cases);
  compiled.check(cases, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Cases, RowAndColumnSums, testing::Range(std::size_t{0}, cases.size()),
                         [](const auto& one) { return cases[one.param].name; });

TEST(RowAndColumnSumsText, AnElementIsReadOnce) {
  const GpuProgram program = test::program_of(mvt_text);
  ASSERT_GE(program.kernels.size(), 2u);
  const std::string &text = program.kernels[0].text, read = "A[(std::int64_t)i * n + j]";
  const std::size_t first = text.find(read);
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find(read, first + 1), std::string::npos);
  EXPECT_THAT(text, HasSubstr("A_here[row][column] * y1[j]"));
  EXPECT_THAT(text, HasSubstr("A_here[row][column] * y2[i]"));
  EXPECT_THAT(program.kernels[1].text, Not(HasSubstr("A[")));
  EXPECT_THAT(text + program.kernels[1].text, Not(HasSubstr("atomic")));
}

/// Of mvt with this many rows and columns.
std::string patterns_of_size(std::int64_t n) {
  return test::patterns_of(test::program_of(test::analyse(mvt_text, {{"n", n, n}})));
}

TEST(RowAndColumnSumsText, KnownSizesNeedNoOtherKernels) {
  EXPECT_EQ(patterns_of_size(16384), together);
  EXPECT_EQ(patterns_of_size(16385), apart);
}

TEST(RowAndColumnSumsText, OrderIsKeptWhereItMustBe) {
  EXPECT_EQ(test::patterns_of(test::program_of(mvt_text, true)), "pointwise, pointwise");
}

const std::string rows_sum = "  for (int i = 0; i < n; i++)\n    for (int j = 0; j < m; j++) ",
                  columns_sum = "  for (int j = 0; j < m; j++)\n    for (int i = 0; i < n; i++) ";

std::string patterns_of_sums(const std::string& loops) {
  return test::patterns_of(test::program_of(
      "void f(int n, int m, float u[n], float v[m], float A[n][m], float B[n][m], float x[m], float y[n]) {\n" +
      loops + "}\n"));
}

TEST(RowAndColumnSumsMatch, NeighboursThatReadOneMatrix) {
  const std::string sum = rows_sum + "u[i] += A[i][j] * x[j];\n";
  EXPECT_EQ(patterns_of_sums(sum + columns_sum + "v[j] += A[i][j] * y[i];\n"), both);
  EXPECT_EQ(patterns_of_sums(sum + columns_sum + "v[j] += B[i][j] * y[i];\n"), apart) << "another matrix";
  EXPECT_EQ(patterns_of_sums(sum + columns_sum + "v[j] += A[i][j] * B[i][j];\n"), apart) << "one more";
  const std::string fewer_rows = "  for (int j = 0; j < m; j++)\n    for (int i = 1; i < n; i++) ";
  EXPECT_EQ(patterns_of_sums(sum + fewer_rows + "v[j] += A[i][j] * y[i];\n"), apart) << "other rows";
  const std::string triangle = "  for (int j = 0; j < m; j++)\n    for (int i = j; i < n; i++) ";
  EXPECT_EQ(patterns_of_sums(sum + triangle + "v[j] += A[i][j] * y[i];\n"), apart)
      << "rows depend on the column";
}

TEST(RowAndColumnSumsLegality, ColumnsMayReadTheirRowsResultAndWriteWhatRowsHaveRead) {
  const std::string sum = rows_sum + "u[i] += A[i][j] * x[j];\n";
  EXPECT_EQ(patterns_of_sums(sum + columns_sum + "v[j] += A[i][j] * u[i];\n"), both);
  EXPECT_EQ(patterns_of_sums(sum + columns_sum + "x[j] += A[i][j] * y[i];\n"), both);
  EXPECT_EQ(patterns_of_sums(sum + columns_sum + "v[j] += A[i][j] * u[n - 1 - i];\n"), apart)
      << "of another row, which may not be there yet";
  EXPECT_EQ(patterns_of_sums(sum + columns_sum + "v[j] += A[i][j] * u[0];\n"), apart);
}

TEST(RowAndColumnSumsLegality, RowsThatFollowMustNotSeeTheColumns) {
  const std::string sum = columns_sum + "v[j] += A[i][j] * y[i];\n", after = columns + ", " + rows;
  EXPECT_EQ(patterns_of_sums(sum + rows_sum + "u[i] += A[i][j] * x[j];\n"), together + ", " + after);
  EXPECT_EQ(patterns_of_sums(sum + rows_sum + "u[i] += A[i][j] * v[j];\n"), after)
      << "reads the columns' sums";
  EXPECT_EQ(patterns_of_sums(sum + rows_sum + "y[i] += A[i][j] * x[j];\n"), after) << "writes what they read";
}

/// A spilled register costs mvt 15 % on an H200.
TEST(OnePass, SpillsNoRegister) {
  if (!test::have_kernel_compiler()) GTEST_SKIP() << "no nvcc";
  for (const std::string name : {"mvt", "atax", "bicg"}) {
    const Nest nest = test::example("polybench/" + name);
    const GpuProgram program = map_to_gpu(nest, parallelise(nest), {});
    const std::string report = test::assembler_report(emit_cuda(nest, program, {}), "sm_90");
    EXPECT_THAT(report, HasSubstr("0 bytes spill stores")) << name;
    EXPECT_THAT(report, testing::Not(testing::ContainsRegex("[1-9][0-9]* bytes spill"))) << name << report;
  }
}

}  // namespace
}  // namespace warploom::tile
