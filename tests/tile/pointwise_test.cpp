// An iteration a thread: which loop is along x, tiles for what runs across, constants, and the results.
#include "kernel_cases.hpp"

namespace warploom::tile {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string transpose_text = R"(
void transpose(int n, int m, float B[m][n], float A[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) B[j][i] = A[i][j];
})";
const std::string mirror_text = R"(
void mirror(int n, float A[n][4], float B[n][4]) {
  float t[4];
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < 4; k++) t[k] = 2.0f * A[i][k];
    for (int k = 0; k < 4; k++) B[i][k] = t[3 - k] + t[0];
  }
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
      for (int j = 1; j < n - 1; j++) A[i][j] = 0.2f * t * (B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j] + B[i - 1][j]);
  }
})",
     "pointwise, pointwise",
     {{{"n", 3}, {"steps", 2}}, {{"n", 37}, {"steps", 3}}, {{"n", 1}, {"steps", 1}}},
     false,
     {},
     TimeTiles::none},
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
    {"mirror", mirror_text, "pointwise", {{{"n", 1}}, {{"n", 70}}}},
    {"table_of_two",
     R"(
void table_of_two(int n, int m, double A[n][m], double B[n][m]) {
  double t[2][3];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      for (int k = 0; k < 2; k++)
        for (int l = 0; l < 3; l++) t[k][l] = A[i][j] * (k + 2 * l);
      for (int l = 0; l < 3; l++) B[i][j] += t[1][2 - l] * t[0][l];
    }
})",
     "pointwise",
     {{{"n", 3}, {"m", 40}}, {{"n", 0}, {"m", 5}}}},
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

TEST(PointwiseLocal, ASmallArrayThatEachIterationFillsIsAThreadsOwnWithAWarning) {
  const Kernel kernel = test::program_of(mirror_text).kernels.at(0);
  EXPECT_THAT(kernel.text, HasSubstr("float t[4];"));
  EXPECT_EQ(placement_of(kernel, "t").space, Space::local);
  EXPECT_EQ(placement_of(kernel, "t").bytes, 16u);
  EXPECT_THAT(placement_of(kernel, "t").reason,
              HasSubstr("warning: an array of 16 bytes a thread is in local memory"));
  EXPECT_THAT(kernel.parameters, Not(testing::Contains("t")));
}

std::string with_extent(const std::string& extent) {
  std::string text = mirror_text;
  text.replace(text.find("t[4]"), 4, "t[" + extent + "]");
  return text;
}

TEST(PointwiseLocal, AnArrayOfAKilobyteIsTheLargestThatAThreadHolds) {
  EXPECT_EQ(placement_of(test::program_of(with_extent("256")).kernels.at(0), "t").space, Space::local);
  EXPECT_NE(placement_of(test::program_of(with_extent("257")).kernels.at(0), "t").space, Space::local);
  EXPECT_NE(placement_of(test::program_of(with_extent("n + 4")).kernels.at(0), "t").space, Space::local);
}

TEST(PointwiseLocal, AnArrayThatLivesOnIsNotAThreadsOwn) {
  const GpuProgram program = test::program_of(R"(
void mirror(int n, float A[n][4], float B[n][4], float t[4]) {
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < 4; k++) t[k] = 2.0f * A[i][k];
    for (int k = 0; k < 4; k++) B[i][k] = t[3 - k] + t[0];
  }
})");
  EXPECT_NE(placement_of(program.kernels.at(0), "t").space, Space::local);
}

TEST(PointwiseConstant, ASmallVectorThatAllThreadsReadTogetherIsConstant) {
  const Nest nest = test::analyse(signal_text, known(4, 1024));
  const Kernel kernel = test::program_of(nest, true).kernels.at(0);
  EXPECT_EQ(placement_of(kernel, "V").space, Space::constant);
  EXPECT_EQ(placement_of(kernel, "V").bytes, 4096u);
  EXPECT_THAT(kernel.text, HasSubstr("signal_recognition_V_constant[j]"));
  EXPECT_THAT(kernel.parameters, Not(testing::Contains("V")));
}

TEST(PointwiseConstant, WhereSoManyThreadsRunThatMemoryIsBusyTheVectorStaysThere) {
  const Nest nest = test::analyse(signal_text, known(1024, 1024));
  EXPECT_EQ(placement_of(test::program_of(nest, true).kernels.at(0), "V").space, Space::read_only);
}

TEST(PointwiseConstant, ALoopThatStreamsNothingElseReadsItsVectorThroughTheFirstLevelCache) {
  const Nest nest = test::analyse(R"(
void polynomial(int n, int m, float R[n], float X[n], float V[m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) R[i] = R[i] * X[i] + V[j];
})",
                                  known(4096, 1024));
  EXPECT_EQ(placement_of(test::program_of(nest, true).kernels.at(0), "V").space, Space::read_only);
}

TEST(PointwiseConstant, AVectorOfUnknownSizeStaysInMemory) {
  EXPECT_EQ(placement_of(test::program_of(signal_text, true).kernels.at(0), "V").space, Space::read_only);
}

TEST(PointwiseConstant, ACopyThatCostsMoreThanItGainsIsNotMade) {
  const Nest nest = test::analyse(signal_text, known(2, 8));
  EXPECT_EQ(placement_of(test::program_of(nest, true).kernels.at(0), "V").space, Space::read_only);
}

const std::string columns_text = R"(
void columns(int n, int m, float R[n], float M[m][n], float V[m]) {
  for (int i = 0; i < n; i++) {
    R[i] = 1.0f;
    for (int j = 0; j < m; j++) R[i] += M[j][i] * V[j];
    R[i] = R[i] * 0.5f;
  }
})";
GpuProgram in_strips(const Nest& nest, std::uint64_t constant_bytes = 1024) {
  GpuOptions options;
  options.reorder_reductions = false;
  options.constant_bytes = constant_bytes;
  return map_to_gpu(nest, parallelise(nest), options);
}

TEST(ConstantStrips, AVectorThatDoesNotFitIsTiledToFit) {
  const Nest nest = test::analyse(columns_text, known(64, 700));
  const GpuProgram program = in_strips(nest);
  EXPECT_EQ(test::patterns_of(program), "pointwise, pointwise, pointwise");
  const Kernel& kernel = program.kernels.at(1);
  EXPECT_EQ(placement_of(kernel, "V").space, Space::constant);
  EXPECT_EQ(placement_of(kernel, "V").bytes, 1024u);
  EXPECT_THAT(placement_of(kernel, "V").reason, HasSubstr("3 strips of 256 elements"));
  EXPECT_THAT(kernel.text, HasSubstr("for (int j = j_first; j < min(j_first + 256, 700); j++)"));
  EXPECT_THAT(kernel.text, HasSubstr("columns_V_constant[j - j_first]"));
  const std::string text = emit_cuda(nest, program, {});
  EXPECT_THAT(text, HasSubstr("__constant__ float columns_V_constant[256];"));
  EXPECT_THAT(text,
              HasSubstr("for (int j_first = 0; j_first < 700; j_first += 256) {\n"
                        "    cudaMemcpyToSymbolAsync(columns_V_constant, V + j_first, "
                        "std::min(256, m - j_first) * sizeof(float), 0, cudaMemcpyDeviceToDevice, stream);"));
}

/// Differs by a few roundings from the nest, finds nothing.
void expect_right(const Nest& nest, const std::map<std::string, std::int64_t>& sizes) {
  const GpuProgram program = in_strips(nest);
  ASSERT_TRUE(std::any_of(program.kernels.begin(), program.kernels.end(),
                          [](const Kernel& k) { return !k.constants.empty(); }));
  if (!test::have_kernel_compiler()) GTEST_SKIP() << "no nvcc";
  std::vector<std::string> findings;
  EXPECT_LE(test::SimulatedKernels({program}).difference(nest, program, sizes, findings), 1e-5);
  EXPECT_THAT(findings, testing::IsEmpty());
}

TEST(ConstantStrips, GiveWhatTheNestGives) {
  expect_right(test::analyse(columns_text, known(64, 700)), {{"n", 64}, {"m", 700}});
}

TEST(ConstantStrips, TheLastStripMayBeFullOrOneElement) {
  expect_right(test::analyse(columns_text, known(64, 768)), {{"n", 64}, {"m", 768}});
  expect_right(test::analyse(columns_text, known(64, 769)), {{"n", 64}, {"m", 769}});
}

TEST(ConstantStrips, TwoVectorsShareTheSpace) {
  const Nest nest = test::analyse(R"(
void two(int n, int m, float R[n], float M[m][n], double V[m], float W[m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) R[i] += M[j][i] * W[j] + V[j];
})",
                                  known(64, 1500));
  const GpuProgram program = in_strips(nest);
  EXPECT_THAT(program.kernels.at(0).text, HasSubstr("two_V_constant[j - j_first]"));
  EXPECT_THAT(program.kernels.at(0).text, HasSubstr("two_W_constant[j - j_first]"));
  std::int64_t bytes = 0;
  for (const ConstantCopy& copy : program.kernels.at(0).constants)
    bytes += copy.elements * size_of(copy.type);
  EXPECT_LE(bytes, 1024);
  expect_right(nest, {{"n", 64}, {"m", 1500}});
}

TEST(ConstantStrips, APrivateSumIsKeptInItsResultBetweenStrips) {
  const Nest nest = test::analyse(R"(
void summed(int n, int m, float R[n], float M[m][n], float V[m]) {
  float sum;
  for (int i = 0; i < n; i++) {
    sum = 0.0f;
    for (int j = 0; j < m; j++) sum += M[j][i] * V[j];
    R[i] = sum;
  }
})",
                                  known(64, 700));
  const GpuProgram program = in_strips(nest);
  EXPECT_EQ(test::patterns_of(program), "pointwise, pointwise");
  EXPECT_THAT(program.kernels.at(1).text, Not(HasSubstr("float sum")));
  expect_right(nest, {{"n", 64}, {"m", 700}});
}

TEST(ConstantStrips, AVectorReadAtOtherPlacesThanTheLoopsStaysInMemory) {
  const Nest nest = test::analyse(R"(
void shifted(int n, int m, float R[n], float M[m][n], float V[m]) {
  for (int i = 0; i < n; i++)
    for (int j = 1; j < m; j++) R[i] += M[j][i] * V[j - 1];
})",
                                  known(64, 700));
  EXPECT_EQ(placement_of(in_strips(nest).kernels.at(0), "V").space, Space::read_only);
}

TEST(ConstantStrips, LaunchesThatCostMoreThanTheyGainAreNotMade) {
  const Nest nest = test::analyse(columns_text, known(64, 300));
  EXPECT_EQ(placement_of(in_strips(nest, 128).kernels.at(0), "V").space, Space::read_only);
  EXPECT_EQ(placement_of(in_strips(nest, 1024).kernels.at(1), "V").space, Space::constant);
}

TEST(ConstantStrips, ArraysThatTheNestDoesNotReadTakeNoSpace) {
  const Nest nest = test::analyse(R"(
void unread(int n, int m, float R[n], float M[m][n], float V[m], float W[m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) R[i] += M[j][i] * V[j];
})",
                                  known(64, 700));
  EXPECT_EQ(placement_of(in_strips(nest).kernels.at(0), "V").bytes, 1024u);
}

}  // namespace
}  // namespace warploom::tile
