// References that run across each other go through tiles, whose stores fill whole sectors of memory.
#include "kernel_cases.hpp"

namespace warploom::tile {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string odd_transpose = R"(
void odd_transpose(int n, int m, float B[m][n], float A[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) B[j][i] = A[i][j];
})";
const std::string transposed_sum = R"(
void transposed_sum(int n, int m, float A[n][m], float B[m][n], float C[n][m], float D[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) B[j][i] = A[i][j] + C[i][j] * D[i][j] + A[i][j] * D[i][j];
})";
const std::string transposed_update = R"(
void transposed_update(int n, int m, float A[n][m], float B[m][n], float C[n][m], float D[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) B[j][i] += A[i][j] + C[i][j] * D[i][j] + A[i][j] * D[i][j];
})";
const std::string shifted = R"(
void shifted(int n, int m, float B[m][n], float A[n][m]) {
  for (int i = 2; i < n - 3; i++)
    for (int j = 1; j < m; j++) B[j - 1][i + 3] = A[i][j];
})";
const std::string written_both_ways = R"(
void written_both_ways(int n, int m, float A[n][m], float B[m][n], float C[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      B[j][i] = 2.0f * A[i][j];
      C[i][j] = 3.0f * A[i][j];
    }
})";
std::vector<SizeRange> known_sizes(std::int64_t n, std::int64_t m) { return {{"n", n, n}, {"m", m, m}}; }

// A piece has 56 elements of a row, or 64 if rows are whole sectors: sizes below, at and above, and nothing
// at all.
const std::vector<test::KernelCase> transpose_cases = {
    {"odd_transpose",
     odd_transpose,
     "transposing",
     {{{"n", 0}, {"m", 9}},
      {{"n", 9}, {"m", 0}},
      {{"n", 1}, {"m", 100}},
      {{"n", 49}, {"m", 1}},
      {{"n", 49}, {"m", 2}},
      {{"n", 56}, {"m", 64}},
      {{"n", 136}, {"m", 64}},
      {{"n", 57}, {"m", 63}},
      {{"n", 131}, {"m", 129}},
      {{"n", 200}, {"m", 33}}}},
    {"wide_elements",
     R"(
void wide_elements(int n, int m, double B[m][n], double A[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) B[j][i] = A[i][j];
})",
     "transposing",
     {{{"n", 1}, {"m", 1}}, {{"n", 61}, {"m", 65}}, {{"n", 127}, {"m", 70}}}},
    {"shifted",
     shifted,
     "transposing",
     {{{"n", 1}, {"m", 3}}, {{"n", 5}, {"m", 5}}, {{"n", 64}, {"m", 64}}, {{"n", 125}, {"m", 37}}}},
    {"lower_triangle",
     R"(
void lower_triangle(int n, float B[n][n], float A[n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) B[j][i] = 2.0f * A[i][j];
})",
     "transposing",
     {{{"n", 1}}, {{"n", 99}}}},
    {"each_of_a_batch",
     R"(
void each_of_a_batch(int n, int m, int b, float B[b][m][n], float A[b][n][m], float s[m]) {
  for (int k = 0; k < b; k++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < m; j++) B[k][j][i] = A[k][i][j] * s[j];
})",
     "transposing",
     {{{"n", 61}, {"m", 35}, {"b", 4}}, {{"n", 72}, {"m", 65}, {"b", 2}}, {{"n", 40}, {"m", 40}, {"b", 0}}}},
    {"transposed_sum",
     transposed_sum,
     "transposing",
     {{{"n", 80}, {"m", 7}}, {{"n", 33}, {"m", 70}}, {{"n", 121}, {"m", 65}}}},
    {"from_tile_to_tile",
     R"(
void from_tile_to_tile(int n, int m, float A[n][m], float B[m][n], float C[n][m], float D[m][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) B[j][i] = D[j][i] + A[i][j] + C[i][j] * A[i][j] + C[i][j] * C[i][j];
})",
     "transposing",
     {{{"n", 121}, {"m", 65}}}},
    {"written_both_ways", written_both_ways, "transposing", {{{"n", 121}, {"m", 65}}}},
    {"transposed_update", transposed_update, "transposing", {{{"n", 71}, {"m", 65}}}},
    {"known_rows",
     R"(
void known_rows(int n, int m, float B[m][n], float A[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) B[j][i] = A[i][j];
})",
     "transposing",
     {{{"n", 72}, {"m", 65}}},
     false,
     known_sizes(72, 65)},
};

class Transpose : public testing::TestWithParam<std::size_t> {};
TEST_P(Transpose, ComputesWhatTheNestDoes) {
  static const test::CompiledCases compiled(transpose_cases);
  compiled.check(transpose_cases, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Cases, Transpose, testing::Range(std::size_t{0}, transpose_cases.size()),
                         [](const auto& one) { return transpose_cases[one.param].name; });

Kernel kernel_of(const std::string& text, std::vector<SizeRange> sizes = {}) {
  return test::program_of(test::analyse(text, std::move(sizes))).kernels.at(0);
}
std::int64_t blocks(const Kernel& kernel, std::int64_t n, std::int64_t m) {
  return value_of(kernel.grid[0], {{"n", n}, {"m", m}});
}

TEST(TransposeText, RowsAreCutWhereTheirSectorsBegin) {
  const std::string text = kernel_of(odd_transpose).text;
  EXPECT_THAT(
      text,
      HasSubstr(
          "  const int overlap = n % 8 == 0 ? 0 : 8;  // of tiles along i: none if rows of B are whole "
          "sectors\n"
          "  const int i0 = (64 - overlap) * static_cast<int>(blockIdx.x % ((n + 63) / (64 - overlap))) - overlap;\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "  // Each row of B is cut where a sector of 32 bytes begins; a thread's rows, 16 apart, in "
          "the same place.\n"
          "  const auto first = reinterpret_cast<std::uintptr_t>(B) / sizeof(*B) + (std::int64_t)(j0 + ty) * n + i0;\n"
          "  const int skipped = overlap == 0 ? 0 : 8 - static_cast<int>(first % 8);\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "if (j < m && i >= 0 && i < n && tx + step % 2 * 32 < 64 - overlap) {\n"
          "      B[(std::int64_t)j * n + i] = A_tile[skipped + tx + step % 2 * 32][ty + step / 2 * 16];\n"));
}

TEST(TransposeText, KnownRowsNeedNoQuestion) {
  const Kernel aligned = kernel_of(odd_transpose, known_sizes(128, 65)),
               odd = kernel_of(odd_transpose, known_sizes(129, 64));
  EXPECT_THAT(aligned.text, Not(HasSubstr("skipped")));
  EXPECT_EQ(blocks(aligned, 128, 65), 4);
  EXPECT_THAT(odd.text, HasSubstr("const int skipped = 8 - static_cast<int>(first % 8);"));
  EXPECT_THAT(odd.text, HasSubstr("const int i0 = 56 * static_cast<int>("));
}

TEST(TransposeText, WholeSectorsAreCutIfTheLoopBeginsWithinOne) {
  EXPECT_THAT(kernel_of(shifted).text, HasSubstr("const int skipped = 8 - static_cast<int>(first % 8);"));
  EXPECT_THAT(kernel_of(shifted, known_sizes(128, 64)).text, HasSubstr("const int skipped = 8 -"));
}

TEST(TransposeText, BlocksReachTheEndWhereverThePiecesBegin) {
  // Of rows that are cut the first piece may lack 7 of its 56 elements.
  const Kernel kernel = kernel_of(odd_transpose);
  for (std::int64_t n = 0; n < 500; ++n) {
    const std::int64_t enough = n % 8 == 0 ? (n + 63) / 64 : n <= 49 ? 1 : 1 + (n - 49 + 55) / 56;
    EXPECT_GE(blocks(kernel, n, 64), enough) << n;
    EXPECT_LE(blocks(kernel, n, 64), n % 56 == 49 ? enough + 1 : enough) << n;
  }
}

TEST(TransposeText, TilesThatAreWrittenAreCutAlongTheirOwnRows) {
  const std::string text = kernel_of(transposed_sum).text;
  EXPECT_THAT(text, HasSubstr("const int i0 = (64 - overlap) * static_cast<int>(blockIdx.x % "));
  EXPECT_THAT(text, HasSubstr("const int j0 = 64 * static_cast<int>(blockIdx.x / "));
  EXPECT_THAT(
      text,
      HasSubstr("B[(std::int64_t)j * n + i] = B_tile[ty + step / 2 * 16][skipped + tx + step % 2 * 32];"));
}

TEST(TransposeText, NothingIsWrittenByTwoBlocksOrReadWhereAnotherBlockWrites) {
  for (const std::string* text : {&transposed_update, &written_both_ways}) {
    const Kernel kernel = kernel_of(*text);
    EXPECT_THAT(kernel.text, Not(HasSubstr("skipped")));
    EXPECT_THAT(kernel.reasons, testing::Contains(HasSubstr("tiles do not overlap")));
  }
}

TEST(TransposeText, TilesHaveNoBankConflicts) {
  for (const std::string* text : {&odd_transpose, &transposed_sum})
    for (const Placement& placement : kernel_of(*text).placements) {
      EXPECT_EQ(placement.bank_conflicts, 1);
      EXPECT_EQ(placement.sectors, placement.ideal_sectors);
    }
}

}  // namespace
}  // namespace warploom::tile
