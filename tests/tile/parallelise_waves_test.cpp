// Wavefronts: which sum of the loops is taken, that it gives the source's result, that the iterations of a
// wave are independent.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "parallel_order.hpp"
#include "random_stencil.hpp"

namespace warploom::tile {
namespace {

/// Two loops around one statement.
std::string sweep(const std::string& value, const std::string& i = "int i = 1; i < n - 1; i++",
                  const std::string& j = "int j = 1; j < m - 1; j++") {
  return fmt::format("void f(int n, int m, float A[n][m]) {{\n  for ({}) for ({}) A[i][j] = {};\n}}\n", i, j,
                     value);
}

struct WaveCase {
  const char* name;
  std::string text;
  const char* order;
  const char* reason;  ///< is part of one
};
std::ostream& operator<<(std::ostream& out, const WaveCase& wave) { return out << wave.name; }

const std::string edit_distance = R"(
  void f(int n, int m, int D[n][m], const int a[n], const int b[m]) {
    for (int i = 1; i < n; i++)
      for (int j = 1; j < m; j++) {
        int same = D[i - 1][j - 1] + (a[i] == b[j] ? 0 : 1);
        int gap = D[i - 1][j] <= D[i][j - 1] ? D[i - 1][j] + 1 : D[i][j - 1] + 1;
        D[i][j] = same <= gap ? same : gap;
      }
  })";

const WaveCase wave_cases[] = {
    {"GaussSeidel", sweep("0.25f * (A[i - 1][j] + A[i][j - 1] + A[i + 1][j] + A[i][j + 1])"), "(wave [i S0])",
     "i + j grows along every dependence of S0"},
    {"NamesWhatForbidsParallelLoops", sweep("A[i - 1][j] + A[i][j - 1]"), "(wave [i S0])",
     "i carries the flow dependence S0 -> S0 on A, distance (1, 0)"},
    {"CountsWaves", sweep("A[i - 1][j] + A[i][j - 1]"), "(wave [i S0])", "wave goes through n + m - 5 waves"},
    {"DiagonalsNeedALargerSum", sweep("A[i - 1][j + 1] + A[i][j - 1]"), "(wave [i S0])", "2 * i + j grows"},
    {"TheLargestCoefficient",
     sweep("A[i - 1][j + 3] + A[i][j - 1]", "int i = 1; i < n; i++", "int j = 1; j < m - 3; j++"),
     "(wave [i S0])", "4 * i + j grows"},
    {"BeyondTheLargestCoefficient",
     sweep("A[i - 1][j + 4] + A[i][j - 1]", "int i = 1; i < n; i++", "int j = 1; j < m - 4; j++"), "(i j S0)",
     "S0 cannot run in waves over i, j: no sum of them with coefficients of -4 to 4, one of them 1 or -1, grows along each of (0, 1), (1, -4)"},
    {"DistancesThatGrowWithTheSizes", sweep("A[i - 1][m - 1 - j] + A[i][j - 1]"), "(i j S0)",
     "cannot run in waves over i, j"},
    {"DecreasingLoops", sweep("A[i + 1][j] + A[i][j - 1]", "int i = n - 2; i > 0; i--"), "(wave [i S0])",
     "j - i grows"},
    {"BothDecreasing",
     sweep("A[i + 1][j] + A[i][j + 1]", "int i = n - 2; i > 0; i--", "int j = m - 2; j >= 1; j--"),
     "(wave [i S0])", "-i - j grows"},
    {"Steps", sweep("A[i - 2][j] + A[i][j - 3]", "int i = 2; i < n; i += 2", "int j = 3; j < m; j += 3"),
     "(wave [i S0])", "i + j grows"},
    {"Triangle", sweep("A[i - 1][j] + A[i][j - 1]", "int i = 1; i < n; i++", "int j = i; j < m; j++"),
     "(wave [i S0])", "i + j grows"},
    {"ParallelLoopsNeedNoWave", sweep("A[i - 1][j + 1] + 1.0f"), "(i [j S0])", "i carries"},
    {"LocalVariablesHaveCopies", edit_distance, "(wave [i S0 S1 S2])",
     "i + j grows along every dependence of S0, S1, S2"},
    {"StatementsOfAnIterationStayInOrder", R"(
  void f(int n, int m, float A[n][m], float B[n][m]) {
    for (int i = 1; i < n; i++)
      for (int j = 1; j < m; j++) {
        A[i][j] = B[i - 1][j] + A[i][j - 1];
        B[i][j] = A[i][j] + B[i][j - 1];
      }
  })",
     "(wave [i S0 S1])", "i + j grows along every dependence of S0, S1"},
    {"SumsInsideStaySequential", R"(
  void f(int n, float A[n][n]) {
    for (int i = n - 1; i >= 0; i--)
      for (int j = i + 1; j < n; j++) {
        A[i][j] = A[i][j - 1];
        for (int k = i + 1; k < j; k++) A[i][j] += A[i][k] * A[k][j];
      }
  })",
     "(wave [i S0 (k S1)])", "j - i grows"},
    {"AllLoopsTogether", R"(
  void f(int n, int m, int steps, float A[n][m]) {
    for (int t = 0; t < steps; t++)
      for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
          A[i][j] = 0.25f * (A[i - 1][j] + A[i][j - 1] + A[i + 1][j] + A[i][j + 1]);
  })",
     "(wave [i t S0])", "2 * t + i + j grows"},
    {"NeitherTogetherNorInside", R"(
  void f(int n, int m, int steps, float A[n][m], float b[n]) {
    for (int t = 0; t < steps; t++)
      for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++) A[i][j] = A[i - 1][j] + A[i][j - 1] + A[n - 1 - i][m - 1 - j];
  })",
     "(t i j S0)", "cannot run in waves over t, i, j"},
    {"ClosureOfAGraph", R"(
  void f(int n, float A[n][n]) {
    for (int k = 0; k < n; k++)
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) A[i][j] = A[i][j] <= A[i][k] + A[k][j] ? A[i][j] : A[i][k] + A[k][j];
  })",
     "(k wave [i S0])", "wave goes through 2 * n - 1 waves in each iteration of k"},
    {"NoneWithinAParallelLoop", R"(
  void f(int n, int m, float A[n][m][m]) {
    for (int p = 0; p < n; p++)
      for (int i = 1; i < m; i++)
        for (int j = 1; j < m; j++) A[p][i][j] = A[p][i - 1][j] + A[p][i][j - 1];
  })",
     "[p (i j S0)]", "p carries no dependence of S0: parallel"},
    {"NoNameTwice", R"(
  void f(int n, int m, float wave[n][m], float B[n][m]) {
    for (int i = 1; i < n; i++)
      for (int wave2 = 1; wave2 < m; wave2++) wave[i][wave2] = wave[i - 1][wave2] + wave[i][wave2 - 1];
    for (int i = 1; i < n; i++)
      for (int j = 1; j < m; j++) B[i][j] = B[i - 1][j] + B[i][j - 1];
  })",
     "(wave3 [i S0]) (wave4 [i S1])", "wave4 goes through n + m - 3 waves"},
};

class Waves : public testing::TestWithParam<WaveCase> {};

TEST_P(Waves, HaveTheOrderTheReasonAndTheResult) {
  const Nest nest = nest_of(GetParam().text);
  const ParallelNest parallel = parallelise(nest);
  EXPECT_EQ(skeleton(parallel.code), GetParam().order) << to_text(parallel.code);
  EXPECT_TRUE(mentions(parallel.reasons, GetParam().reason)) << testing::PrintToString(parallel.reasons);
  const bool on_waves = std::string(GetParam().order).find("wave") != std::string::npos ||
                        std::string(GetParam().reason).find("waves") != std::string::npos;
  EXPECT_EQ(mentions(parallel.wave_reasons, GetParam().reason), on_waves);
  expect_same_results(nest, parallel, {0, 1, 2, 3, 5, 8, 13});
}

INSTANTIATE_TEST_SUITE_P(Nests, Waves, testing::ValuesIn(wave_cases),
                         [](const auto& test) { return test.param.name; });

TEST(Waves, AVariableThatLivesOnHasNoCopies) {
  const Nest nest = nest_of(R"(
    void f(int n, int m, float A[n][m], float last) {
      for (int i = 1; i < n; i++)
        for (int j = 1; j < m; j++) {
          last = A[i - 1][j] + A[i][j - 1];
          A[i][j] = last;
        }
    })");
  EXPECT_EQ(skeleton(parallelise(nest).code), "(i j S0 S1)");
}

TEST(Waves, AreNotWorthALaunchWhereTheyAreKnownToBeNarrow) {
  const std::string text = sweep("A[i - 1][j] + A[i][j - 1]");
  const auto order = [&](std::int64_t n, std::int64_t m) {
    return parallelise(Nest::analyse(region_of(text), {{"n", n, n}, {"m", m, m}}));
  };
  EXPECT_EQ(skeleton(order(17, 17).code), "(i j S0)");  // 15 x 15 in 29 waves
  EXPECT_TRUE(mentions(order(17, 17).wave_reasons,
                       "S0 does not run in waves over i, j: those of i + j have 7.8 iterations on average"));
  EXPECT_EQ(skeleton(order(18, 18).code), "(wave [i S0])");
  EXPECT_EQ(skeleton(order(1000, 9).code), "(i j S0)");
}

TEST(Waves, AreAsFewAsKnownSizesAllow) {
  const Nest nest = nest_of(R"(
    void f(int n, int m, float A[n][5][m]) {
      for (int t = 1; t < n; t++)
        for (int i = 1; i < 5; i++)
          for (int j = 1; j < m - 2; j++)
            A[t][i][j] = A[t - 1][i - 1][j + 2] + A[t][i][j - 1] + A[t - 1][i][j] + A[t][i - 1][j];
    })");
  const ParallelNest parallel = parallelise(nest);
  EXPECT_TRUE(mentions(parallel.wave_reasons, "t + 2 * i + j grows"))  // 2 * t + i + j would be right, too
      << testing::PrintToString(parallel.wave_reasons);
  expect_same_results(nest, parallel, {1, 2, 3, 5, 8});
}

// --- chance

TEST(Waves, OfRandomStencilsGiveTheResultOfTheSource) {
  const char* wanted = std::getenv("WARPLOOM_NESTS");
  const int trials = wanted ? std::atoi(wanted) : 60;
  std::mt19937 random(3);
  int waves = 0, inside = 0, with_copies = 0, none = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const std::string text = test::RandomStencil(random).text("f");
    SCOPED_TRACE(text);
    const Nest nest = nest_of(text);
    const ParallelNest parallel = parallelise(nest);
    const std::string order = skeleton(parallel.code);
    const bool is_wave = order.find("wave") != std::string::npos;
    waves += is_wave;
    inside += order.find(" wave") != std::string::npos;
    with_copies += is_wave && !parallel.privatised.empty();
    none += mentions(parallel.reasons, "cannot run in waves");
    expect_same_results(nest, parallel, {5, 8});
    if (testing::Test::HasFailure()) return;
  }
  if (wanted)
    fmt::print("{} nests, {} with waves, {} of them inside of another loop, {} with copies; {} have none\n",
               trials, waves, inside, with_copies, none);
  EXPECT_GT(waves, trials / 4);
  EXPECT_GT(with_copies, trials / 30);
  EXPECT_GT(none, trials / 30);
}

}  // namespace
}  // namespace warploom::tile
