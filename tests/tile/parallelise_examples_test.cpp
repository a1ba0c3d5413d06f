// The nests of examples/tile/polybench and random ones: every order computes what the source does.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "parallel_order.hpp"
#include "random_nest.hpp"

namespace warploom::tile {
namespace {

// --- PolyBench/C

std::string example(const std::string& name) {
  const std::filesystem::path folder =
      std::filesystem::path(WARPLOOM_TESTS_DIR).parent_path() / "examples" / "tile" / "polybench";
  std::ifstream file(folder / (name + ".c"));
  EXPECT_TRUE(file.is_open()) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct ParallelExample {
  const char* name;
  const char* order;
};
std::ostream& operator<<(std::ostream& out, const ParallelExample& example) { return out << example.name; }

/// What dependences allow; floyd-warshall would need its row and column k apart from the rest.
const ParallelExample kExamples[] = {
    {"2mm", "[i j S0 (k S1)] [i j S2 (k S3)]"},
    {"3mm", "[i j S0 (k S1)] [i j S2 (k S3)] [i j S4 (k S5)]"},
    {"adi",
     "S0 S1 S2 S3 S4 S5 S6 S7 S8 S9 S10 S11 S12 (t [i S13 S14 S15 (j S16 S17) S18 (j S19)] [i S20 S21 S22 (j S23 S24) S25 (j S26)])"},
    {"atax", "[i S1 (j S2)] [j S0 (i S3)]"},
    {"bicg", "[j S0 (i S2)] [i S1 (j S3)]"},
    {"cholesky", "(k S3 [i S1 S2] [i j S0])"},
    {"correlation", "[j S0 (i S1) S2] [j S3 (i S4) S5 S6 S7] [i j S8 S9] [i S10] [i j S11 (k S12) S13] S14"},
    {"covariance", "[j S0 (i S1) S2] [i j S3] [i j S4 (k S5) S6 S7]"},
    {"deriche",
     "S0 S1 S2 S3 S4 S5 S6 S7 S8 S9 S10 S11 S12 [i S13 S14 S15 (j S16 S17 S18 S19)] [i S20 S21 S22 S23 (j S24 S25 S26 S27 S28)] [i j S29] "
     "[j S30 S31 S32 (i S33 S34 S35 S36)] [j S37 S38 S39 S40 (i S41 S42 S43 S44 S45)] [i j S46]"},
    {"doitgen", "[r q p S0 (s S1) S2]"},
    {"durbin", "S0 S1 S2 (k S3 S4 (i S5) S6 [i S7] [i S8] S9)"},
    {"fdtd-2d", "(t [j S0] [i j S1] [i j S2] [i j S3])"},
    {"floyd-warshall", "(k wave [i S0])"},
    {"gemm", "[i j S0 (k S1)]"},
    {"gemver", "[i j S0] [i (j S1) S2] [i (j S3)]"},
    {"gesummv", "[i S0 S1 (j S2 S3) S4]"},
    {"gramschmidt", "[k j S4] (k S0 (i S1) S2 [i S3] [j (i S5)] [i j S6])"},
    {"heat-3d", "(t [i j k S0] [i j k S1])"},
    {"jacobi-1d", "(t [i S0] [i S1])"},
    {"jacobi-2d", "(t [i j S0] [i j S1])"},
    {"lu", "(k [i S1] [i j S0] [i j S2])"},
    {"ludcmp", "(k [i S1] [i j S0] [i j S2]) (i S3 (j S4) S5) (i S6 (j S7) S8)"},
    {"mvt", "[i (j S0)] [i (j S1)]"},
    {"nussinov", "(wave [i S0 S1 S2 S3 (k S4)])"},
    {"seidel-2d", "(wave [i t S0])"},
    {"symm", "[i j S0 (k S2) S3] [k j (i S1)]"},
    {"syr2k", "[i j S0 (k S1)]"},
    {"syrk", "[i j S0 (k S1)]"},
    {"trisolv", "[i S0] (j S2 [i S1])"},
    {"trmm", "[i j (k S0) S1]"},
};

class ParalleliseExample : public testing::TestWithParam<ParallelExample> {};

TEST_P(ParalleliseExample, HasTheOrderAndTheResult) {
  const Nest nest = Nest::analyse(region_of(example(GetParam().name), GetParam().name));
  const ParallelNest parallel = parallelise(nest);
  EXPECT_EQ(skeleton(parallel.code), GetParam().order)
      << to_text(parallel.code) << testing::PrintToString(parallel.reasons);
  expect_same_results(nest, parallel, {1, 2, 3, 7});
}

INSTANTIATE_TEST_SUITE_P(PolyBench, ParalleliseExample, testing::ValuesIn(kExamples), [](const auto& test) {
  std::string name = test.param.name;
  std::erase(name, '-');
  return name;
});

// --- chance

/// More by chance: WARPLOOM_NESTS=10000.
int trials() {
  const char* wanted = std::getenv("WARPLOOM_NESTS");
  return wanted ? std::atoi(wanted) : 100;
}

TEST(ParalleliseRandom, NestsOfAnyShapeGiveTheResultOfTheSource) {
  std::mt19937 random(1);
  int parallel_nests = 0;
  for (int trial = 0; trial < trials(); ++trial) {
    const test::RandomNest nest = test::random_nest(random);
    SCOPED_TRACE(nest.text());
    const Nest analysed = Nest::analyse(region_of(nest.text()), {{"n", nest.n, nest.n}});
    const ParallelNest parallel = parallelise(analysed);
    parallel_nests += skeleton(parallel.code).find('[') != std::string::npos;
    std::map<std::string, std::int64_t> sizes = sizes_from(analysed.region(), 4);
    sizes["n"] = nest.n;
    for (const Order order : {Order::as_written, Order::backwards, Order::odd_first})
      expect_same_result(analysed, parallel, sizes, order);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(parallel_nests, trials() / 5);
}

/// Bodies full of temporaries and old values: a scalar, a row that lives on, neighbours in two arrays.
class TemporariesMaker {
 public:
  explicit TemporariesMaker(std::mt19937& random) : random_(random) {}

  std::string text() {
    std::string body;
    for (int inner = pick(1, 3); inner > 0; --inner) {
      if (pick(0, 2) == 0) body += "    " + assignment(false);
      body += "    for (int j = 1; j < m - 1; j++) {\n";
      for (int s = pick(1, 3); s > 0; --s) body += "      " + assignment(true);
      body += "    }\n";
    }
    return "void f(int n, int m, float A[n][m], float B[n][m], float u[m], float v[n]) {\n  float t;\n  t = 0.5f;\n"
           "  for (int i = 1; i < n - 1; i++) {\n" +
           body + "  }\n}\n";
  }

 private:
  int pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  std::string shifted(const std::string& name) {
    const int by = pick(0, 9);  // backwards seldom: values of earlier iterations leave little to do
    return name + (by == 0 ? " - 1" : by < 4 ? " + 1" : "");
  }
  std::string reference(bool inside) {
    switch (pick(0, inside ? 5 : 1)) {
      case 0:
        return "t";
      case 1:
        return "v[" + shifted("i") + "]";
      case 2:
        return "u[" + shifted("j") + "]";
      case 3:
        return "B[" + shifted("i") + "][" + shifted("j") + "]";
      default:
        return "A[" + shifted("i") + "][" + shifted("j") + "]";
    }
  }
  std::string assignment(bool inside) {
    const std::string target = reference(inside);
    return target + (pick(0, 4) ? " = " : " += ") + reference(inside) + " + 0.5f * " + reference(inside) +
           ";\n";
  }

  std::mt19937& random_;
};

TEST(ParalleliseRandom, TemporariesAndOldValuesGiveTheResultOfTheSource) {
  std::mt19937 random(2);
  int snapshots = 0, copies = 0, kept = 0;
  for (int trial = 0; trial < trials(); ++trial) {
    const std::string text = TemporariesMaker(random).text();
    SCOPED_TRACE(text);
    const Nest nest = nest_of(text);
    const ParallelNest parallel = parallelise(nest);
    snapshots += !parallel.snapshots.empty();
    copies += !parallel.privatised.empty();
    for (const Privatised& copy : parallel.privatised) kept += copy.last_value;
    expect_same_results(nest, parallel, {2, 4});
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(snapshots, trials() / 30);
  EXPECT_GT(copies, trials() / 30);
  EXPECT_GT(kept, trials() / 100);
}

}  // namespace
}  // namespace warploom::tile
