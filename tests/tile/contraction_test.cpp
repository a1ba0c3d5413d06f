// Which loop trees are contractions, what is printed for them, and, where there is a compiler, that the
// kernels give in the simulator what the nest gives.
#include "tile/kernels/contraction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "simulate_kernels.hpp"
#include "tile_cases.hpp"

namespace warploom::tile {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Names = std::vector<std::string>;
using Sizes = std::map<std::string, std::int64_t>;

/// A nest whose text has the order of the schedule already.
struct Scheduled {
  std::string text;
  Names parallel;               ///< loops
  std::string privatised = "";  ///< a variable of which each iteration of `own_loops` has its own
  Names own_loops = {};
  bool last_value = false;
  bool reorder = true;
  std::vector<SizeRange> known = {};
};

void mark(Node& node, const Names& parallel) {
  if (node.kind == Node::Kind::loop)
    node.parallel = std::find(parallel.begin(), parallel.end(), node.iterator) != parallel.end();
  for (Node& child : node.children) mark(child, parallel);
}

/// Takes from `host` what is not in parallel loops, and puts a launch in its place.
Node take_tree(Node& host, Names& host_loops) {
  if (host.kind == Node::Kind::block) return take_tree(host.children.at(0), host_loops);
  if (!host.parallel) {
    host_loops.push_back(host.iterator);
    return take_tree(host.children.at(0), host_loops);
  }
  Node launch;
  launch.kind = Node::Kind::launch;
  launch.statement = 0;
  return std::exchange(host, launch);
}

struct Contracted {
  Nest nest;
  std::optional<KernelGroup> group;
  Node host;  ///< loops of the host around the launch
  const Kernel& kernel() const { return group.value().kernels.at(0); }
};

Contracted contract(const Scheduled& scheduled, const std::string& name = "kernel") {
  Contracted result{test::analyse(scheduled.text, scheduled.known), std::nullopt, {}};
  ParallelNest parallel;
  parallel.nest = result.nest;
  parallel.code = result.nest.region().body;
  mark(parallel.code, scheduled.parallel);
  if (!scheduled.privatised.empty()) {
    Privatised own{scheduled.privatised, scheduled.own_loops, {}, scheduled.last_value, false, ""};
    for (const Statement& statement : result.nest.statements()) own.statements.push_back(statement.number);
    parallel.privatised.push_back(own);
  }
  GpuOptions options;
  options.reorder_reductions = scheduled.reorder;
  Names host_loops;
  result.host = parallel.code;
  const Node tree = take_tree(result.host, host_loops);
  result.group = contraction({result.nest, parallel, tree, host_loops, name, options});
  return result;
}

GpuProgram program_of(const Contracted& contracted) {
  GpuProgram program;
  program.kernels = contracted.group.value().kernels;
  program.host = contracted.host;
  return program;
}

/// The body of two parallel loops i < n, j < m.
Scheduled over_i_j(const std::string& parameters, const std::string& body) {
  return {"void f(int n, int m, int l, " + parameters +
              ") {\n  for (int i = 0; i < n; i++)\n    for (int j = 0; j < m; j++) {\n" + body +
              "\n    }\n}\n",
          {"i", "j"}};
}

const std::string product_arrays = "float alpha, float beta, float C[n][m], float A[n][l], float B[l][m]";
const std::string gemm_body =
    "C[i][j] *= beta; for (int k = 0; k < l; k++) C[i][j] += alpha * A[i][k] * B[k][j];";
const Scheduled gemm = over_i_j(product_arrays, gemm_body);

// ---- which match ----

TEST(Contraction, TakesAMatrixProduct) { EXPECT_TRUE(contract(gemm).group.has_value()); }

TEST(Contraction, RefusesOneParallelLoop) {
  Scheduled nest = gemm;
  nest.parallel = {"i"};
  EXPECT_FALSE(contract(nest).group.has_value());
}

TEST(Contraction, RefusesWhatHasNoSum) {
  EXPECT_FALSE(contract(over_i_j(product_arrays, "C[i][j] *= beta;")).group.has_value());
}

TEST(Contraction, RefusesSumsThatOneSideDoesNotEnter) {
  EXPECT_FALSE(contract(over_i_j(product_arrays, "for (int k = 0; k < l; k++) C[i][j] += A[i][k];"))
                   .group.has_value());
}

TEST(Contraction, RefusesConvolutions) {
  EXPECT_FALSE(contract(over_i_j("float C[n][m], float A[n + l][m], float B[l]",
                                 "for (int k = 0; k < l; k++) C[i][j] += A[i + k][j] * B[k];"))
                   .group.has_value());
}

TEST(Contraction, RefusesTwoStatementsInTheSum) {
  EXPECT_FALSE(
      contract(
          over_i_j(
              product_arrays + ", float D[n][m]",
              "for (int k = 0; k < l; k++) { C[i][j] += A[i][k] * B[k][j]; D[i][j] += A[i][k] * B[k][j]; }"))
          .group.has_value());
}

TEST(Contraction, RefusesOperandsThatItWrites) {
  EXPECT_FALSE(contract(over_i_j("float A[n][m], float B[m][m]",
                                 "for (int k = j + 1; k < m; k++) A[i][j] += A[i][k] * B[k][j];"))
                   .group.has_value());
}

TEST(Contraction, RefusesLargestOfSums) {
  EXPECT_FALSE(contract(over_i_j("float C[n][m], float A[n][l], float B[l][m]",
                                 "for (int k = 0; k < l; k++) C[i][j] = fminf(C[i][j], A[i][k] + B[k][j]);"))
                   .group.has_value());
}

TEST(Contraction, RefusesTermsThatZerosDoNotLeaveOut) {
  EXPECT_FALSE(
      contract(over_i_j(product_arrays, "for (int k = 0; k < l; k++) C[i][j] += A[i][k] * B[k][j] + 1.0f;"))
          .group.has_value());
}

TEST(Contraction, RefusesIntegersThatRoundEachTerm) {
  EXPECT_FALSE(contract(over_i_j("int C[n][m], float A[n][l], float B[l][m]",
                                 "for (int k = 0; k < l; k++) C[i][j] += A[i][k] * B[k][j];"))
                   .group.has_value());
}

TEST(Contraction, RefusesDepthBetweenRowsAndColumns) {
  EXPECT_FALSE(contract(over_i_j("float C[n][m], float A[n][m], float B[m][m]",
                                 "for (int k = i; k < j; k++) C[i][j] += A[i][k] * B[k][j];"))
                   .group.has_value());
}

TEST(Contraction, RefusesPrivateArraysOfWhichThreadsShareElements) {
  Scheduled nest =
      over_i_j("float C[n][m], float A[n][l], float B[l][m], float s[n]",
               "s[i] = 0; for (int k = 0; k < l; k++) s[i] += A[i][k] * B[k][j]; C[i][j] = s[i];");
  nest.privatised = "s";
  nest.own_loops = {"i"};
  EXPECT_FALSE(contract(nest).group.has_value());
  nest.own_loops = {"i", "j"};
  EXPECT_TRUE(contract(nest).group.has_value());
}

// ---- what is printed ----

TEST(Contraction, NamesItsArgumentsGridAndBlock) {
  const Contracted product = contract(gemm, "gemm_0");
  const Kernel& kernel = product.kernel();
  EXPECT_EQ(kernel.name, "gemm_0");
  EXPECT_EQ(kernel.pattern, "contraction");
  EXPECT_EQ(kernel.statements, (std::vector{0, 1}));
  EXPECT_EQ(kernel.parameters, (Names{"n", "m", "l", "alpha", "beta", "C", "A", "B"}));
  EXPECT_EQ(to_text(kernel.grid[0]), "(m + 127) / 128");
  EXPECT_EQ(to_text(kernel.grid[1]), "(n + 127) / 128");
  EXPECT_EQ(to_text(kernel.grid[2]), "1");
  EXPECT_EQ(to_text(kernel.block[0]), "256");
}

TEST(Contraction, TakesScalarsOutOfTheSum) {
  const std::string text = contract(gemm).kernel().text;
  EXPECT_THAT(text, HasSubstr("sum[x][y] += A_row[x] * B_column[y];"));
  EXPECT_THAT(text, HasSubstr("C[(std::int64_t)i * m + j] += alpha * sum[x][y];"));
}

TEST(Contraction, KeepsTheOrderOfTheSourceWhereItIsAsked) {
  Scheduled nest = gemm;
  nest.reorder = false;
  const std::string text = contract(nest).kernel().text;
  EXPECT_THAT(text, HasSubstr("sum[x][y] = C[(std::int64_t)i * m + j];"));
  EXPECT_THAT(text, HasSubstr("sum[x][y] += alpha * A_row[x] * B_column[y];"));
}

TEST(Contraction, LoadsAlongWhatIsContiguous) {
  const Contracted product = contract(gemm);
  for (const Placement& placement : product.kernel().placements) {
    EXPECT_EQ(placement.sectors, placement.ideal_sectors) << placement.array;
    EXPECT_EQ(placement.bank_conflicts, 1) << placement.array;
  }
  EXPECT_THAT(product.kernel().placements.at(0).reason, HasSubstr("8 neighbouring threads along k"));
  EXPECT_THAT(product.kernel().placements.at(1).reason, HasSubstr("neighbouring threads along j"));
}

TEST(Contraction, TakesTilesThatMakeEnoughBlocks) {
  Scheduled nest = gemm;
  const auto rows_of_tile = [&](std::int64_t size) {
    nest.known = {{"n", size, size}, {"m", size, size}, {"l", size, size}};
    return to_text(contract(nest).kernel().grid[1]);
  };
  EXPECT_EQ(rows_of_tile(512), "(n + 31) / 32");
  EXPECT_EQ(rows_of_tile(8192), "(n + 127) / 128");
}

TEST(Contraction, SharedMemoryIsWithinWhatAKernelHasWithoutAsking) {
  for (const std::string type : {"float", "double"}) {
    const Contracted product =
        contract(over_i_j(type + " C[n][m], " + type + " A[n][l], " + type + " B[l][m], " + type +
                              " D[n][l], " + type + " E[l][m]",
                          "for (int k = 0; k < l; k++) C[i][j] += A[i][k] * B[k][j] + D[i][k] * E[k][j];"));
    std::uint64_t bytes = 0;
    for (const Placement& placement : product.kernel().placements)
      if (placement.space == Space::shared) bytes += placement.bytes;
    EXPECT_GT(bytes, 0u);
    EXPECT_LE(bytes, 48u * 1024);
  }
}

TEST(Contraction, EndsBlocksOutsideOfATriangle) {
  Scheduled nest = gemm;
  nest.text = R"(void f(int n, int l, float C[n][n], float A[n][l]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++)
      for (int k = 0; k < l; k++) C[i][j] += A[i][k] * A[j][k];
})";
  EXPECT_THAT(contract(nest).kernel().text, HasSubstr("if (j0 > i0 + 127) return;"));
}

TEST(Contraction, MakesOneLoopOfTwoThatLieInOnePiece) {
  const Scheduled nest = {R"(void f(int n, int m, int l, float C[n][m][l], float A[n][m][l], float B[l][l]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int p = 0; p < l; p++)
        for (int k = 0; k < l; k++) C[i][j][p] += A[i][j][k] * B[k][p];
})",
                          {"i", "j", "p"}};
  const Contracted product = contract(nest);
  EXPECT_EQ(to_text(product.kernel().grid[0]), "(n * m + 127) / 128");
  EXPECT_EQ(to_text(product.kernel().grid[2]), "1");
}

// ---- in the simulator ----

struct SimulatedCase {
  std::string name;
  Scheduled scheduled;
  std::vector<Sizes> sizes;
  double tolerance = 1e-5;
};
void PrintTo(const SimulatedCase& one, std::ostream* out) { *out << one.name; }

Sizes n_m_l(std::int64_t n, std::int64_t m, std::int64_t l) { return {{"n", n}, {"m", m}, {"l", l}}; }
const std::vector<Sizes> edges = {n_m_l(1, 1, 1), n_m_l(5, 3, 2), n_m_l(130, 67, 33), n_m_l(64, 128, 16),
                                  n_m_l(3, 200, 0)};

Scheduled with(Scheduled scheduled, auto change) {
  change(scheduled);
  return scheduled;
}

std::vector<SimulatedCase> simulated() {
  const auto triangle = [](const std::string& j_range, const std::string& type, const std::string& body) {
    return Scheduled{"void f(int n, int m, int l, " + type + " C[n][n], " + type + " A[n][l], " + type +
                         " B[n][l]) {\n  for (int i = 0; i < n; i++)\n    for (int j = " + j_range +
                         "; j++) {\n" + body + "\n    }\n}\n",
                     {"i", "j"}};
  };
  const std::string sum_of_products =
      "for (int k = 0; k < l; k++) C[i][j] += A[j][k] * 3 * B[i][k] + B[j][k] * 3 * A[i][k];";
  std::vector<SimulatedCase> all = {
      {"product", gemm, edges},
      {"product_small_tiles",
       with(gemm,
            [](Scheduled& s) {
              s.known = {{"n", 130, 130}, {"m", 67, 67}, {"l", 33, 33}};
            }),
       {n_m_l(130, 67, 33)}},
      {"product_in_order", with(gemm, [](Scheduled& s) { s.reorder = false; }), edges},
      {"transposed_double",
       over_i_j("double C[n][m], double A[l][n], double B[m][l]",
                "for (int k = 0; k < l; k++) C[i][j] -= A[k][i] * B[j][k];"),
       edges, 1e-13},
      {"double_small_tiles",
       with(over_i_j("double C[n][m], double A[n][l], double B[l][m]",
                     "for (int k = 0; k < l; k++) C[i][j] += A[i][k] * B[k][j];"),
            [](Scheduled& s) {
              s.known = {{"n", 130, 130}, {"m", 67, 67}, {"l", 33, 33}};
            }),
       {n_m_l(130, 67, 33)},
       1e-13},
      {"integers",
       over_i_j("int C[n][m], int A[n][l], int B[l][m]",
                "for (int k = 0; k < l; k++) C[i][j] = C[i][j] + 2 * A[i][k] * B[k][j];"),
       edges, 0},
      {"offsets",
       over_i_j(
           "float C[n][m], float A[n + 1][2 * l + 1], float B[l + 2][m + 3]",
           "C[i][j] = 0; for (int k = 1; k <= l; k++) C[i][j] += A[i + 1][2 * k - 1] * B[k + 1][j + 3];"),
       edges},
      {"distances",
       over_i_j(
           "float C[n][m], float A[n][l], float B[m][l]",
           "C[i][j] = 0; for (int k = 0; k < l; k++) C[i][j] += (A[i][k] - B[j][k]) * (A[i][k] - B[j][k]); C[i][j] = sqrtf(C[i][j]);"),
       edges},
      {"two_depths",
       over_i_j(
           "float C[n][m], float A[n][l][3], float B[l][3][m]",
           "for (int k = 0; k < l; k++) for (int h = 0; h < 3; h++) C[i][j] += A[i][k][h] * B[k][h][j];"),
       edges},
      {"own_scalar",
       with(
           over_i_j(
               "float C[n][m], float A[n][l], float B[l][m], float D[n][m]",
               "float s = 0; for (int k = 0; k < l; k++) s += A[i][k] * B[k][j]; C[i][j] = s; D[i][j] += s * s;"),
           [](Scheduled& s) {
             s.privatised = "s", s.own_loops = {"i", "j"};
           }),
       edges},
      {"own_element_last_value",
       with(over_i_j("float C[n][m], float A[n][l], float B[l][m], float s[m]",
                     "s[j] = 0; for (int k = 0; k < l; k++) s[j] += A[i][k] * B[k][j]; C[i][j] = s[j];"),
            [](Scheduled& s) { s.privatised = "s", s.own_loops = {"i"}, s.last_value = true; }),
       edges},
      {"lower_triangle", triangle("0; j <= i", "float", "C[i][j] *= 2; " + sum_of_products), edges},
      {"upper_triangle", triangle("i; j < n", "double", sum_of_products), edges, 1e-13},
      {"below_the_diagonal",
       triangle("0; j < i", "float", "for (int k = 0; k < l; k++) C[i][j] += A[i - 1][k] * B[j + 1][k];"),
       edges},
      {"above_the_diagonal",
       triangle("i + 1; j < n", "float", "for (int k = 0; k < l; k++) C[i][j] += A[i + 1][k] * B[j - 1][k];"),
       edges},
      {"both_halves",
       triangle(
           "i; j < n", "float",
           "C[i][j] = 0; for (int k = 0; k < l; k++) C[i][j] += A[i][k] * B[j][k]; C[i][j] /= l + 1; C[j][i] = C[i][j];"),
       edges},
      {"depth_from_rows",
       over_i_j("float alpha, float C[n][m], float A[n][n], float B[n][m]",
                "for (int k = i + 1; k < n; k++) C[i][j] += A[k][i] * B[k][j]; C[i][j] = alpha * C[i][j];"),
       edges},
      {"depth_to_rows",
       over_i_j("float C[n][m], float A[n][n], float B[n][m]",
                "for (int k = 0; k <= i; k++) C[i][j] += A[i][i - k] * B[k][j];"),
       edges},
      {"depth_from_columns",
       over_i_j("float C[n][m], float A[n][m], float B[m][m]",
                "for (int k = j; k < m; k++) C[i][j] += A[i][k] * B[j][k - j];"),
       edges},
      {"merged_rows",
       {R"(void f(int n, int m, int l, float C[n][m][l], float A[n][m][l], float B[l][l], float s[l]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int p = 0; p < l; p++) {
        s[p] = 0;
        for (int k = 0; k < l; k++) s[p] += A[i][j][k] * B[k][p];
        C[i][j][p] = s[p];
      }
})",
        {"i", "j", "p"},
        "s",
        {"i", "j"},
        true},
       {n_m_l(1, 1, 1), n_m_l(5, 29, 7), n_m_l(3, 4, 150)}},
      {"batch",
       {R"(void f(int n, int m, int l, float C[4][3][n][m], float A[4][n][l], float B[3][l][m]) {
  for (int b = 0; b < 4; b++)
    for (int c = 1; c < 3; c++)
      for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
          for (int k = 0; k < l; k++) C[b][c][i][j] += A[b][i][k] * B[c][k][j];
})",
        {"b", "c", "i", "j"}},
       {n_m_l(1, 1, 1), n_m_l(5, 3, 2), n_m_l(130, 67, 33)}},
      {"growing_batch",
       {R"(void f(int n, int m, int l, float C[n][n][m], float A[n][l], float B[n][l][m]) {
  for (int b = 0; b < n; b++)
    for (int i = 0; i <= b; i++)
      for (int j = 0; j < m; j++)
        for (int k = 0; k < l; k++) C[b][i][j] += A[i][k] * B[b][k][j];
})",
        {"b", "i", "j"}},
       {n_m_l(1, 1, 1), n_m_l(5, 3, 2), n_m_l(7, 150, 20)}},
      {"inside_of_a_host_loop",
       {R"(void f(int n, int m, int l, float C[n][m], float A[3][n][l], float B[l][m]) {
  for (int t = 0; t < 3; t++)
    for (int i = t; i < n; i++)
      for (int j = 0; j < m; j++)
        for (int k = t; k < l; k++) C[i][j] += A[t][i][k] * B[k][j];
})",
        {"i", "j"}},
       edges},
      {"sum_within_a_value",
       over_i_j("float C[n][m], float A[n][l], float B[l][m]",
                "for (int k = 0; k < l; k++) C[i][j] = B[k][j] * A[i][k] + C[i][j] - 2 * A[i][k] * B[k][j];"),
       edges},
      {"both_precisions",
       over_i_j("double C[n][m], float A[n][l], double B[l][m]",
                "for (int k = 0; k < l; k++) C[i][j] += A[i][k] * B[k][j];"),
       edges, 1e-13},
      {"columns_outside",
       {R"(void f(int n, int m, int l, float C[n][m], float A[n][l], float B[l][m]) {
  for (int j = 0; j < m; j++)
    for (int i = 0; i < n; i++)
      for (int k = 0; k < l; k++) C[i][j] += A[i][k] * B[k][j];
})",
        {"i", "j"}},
       edges},
      {"names_of_ours",
       {R"(void f(int n, int m, int l, float sum[n][m], float x[n][l], float lane[l][m], float stage) {
  for (int row = 0; row < n; row++)
    for (int y = 0; y < m; y++)
      for (int from = 0; from < l; from++) sum[row][y] += stage * x[row][from] * lane[from][y];
})",
        {"row", "y"}},
       edges},
  };
  return all;
}

class ContractionKernels : public testing::TestWithParam<SimulatedCase> {
 protected:
  /// All kernels are compiled at once.
  static void SetUpTestSuite() {
    if (!test::have_kernel_compiler()) return;
    std::vector<GpuProgram> programs;
    for (const SimulatedCase& one : simulated())
      programs.push_back(program_of(contract(one.scheduled, one.name)));
    kernels_ = std::make_unique<test::SimulatedKernels>(programs);
  }
  static void TearDownTestSuite() { kernels_.reset(); }
  static inline std::unique_ptr<test::SimulatedKernels> kernels_;
};

TEST_P(ContractionKernels, GiveWhatTheNestGives) {
  if (!test::have_kernel_compiler()) GTEST_SKIP() << "no CUDA compiler here";
  const SimulatedCase& one = GetParam();
  const Contracted contracted = contract(one.scheduled, one.name);
  const GpuProgram program = program_of(contracted);
  for (const Sizes& sizes : one.sizes) {
    std::vector<std::string> findings;
    EXPECT_LE(kernels_->difference(contracted.nest, program, sizes, findings), one.tolerance)
        << "n = " << sizes.at("n") << ", m = " << sizes.at("m") << ", l = " << sizes.at("l");
    EXPECT_THAT(findings, IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(Nests, ContractionKernels, testing::ValuesIn(simulated()),
                         [](const auto& nest) { return nest.param.name; });

}  // namespace
}  // namespace warploom::tile
