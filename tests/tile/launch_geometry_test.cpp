// How many threads kernels have for the iterations that there are, also after steps that a person chose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "example_nests.hpp"
#include "tile/kernels/thread_loops.hpp"
#include "tile_cases.hpp"
#include "warploom/core/error.hpp"
#include "warploom/tile/gpu.hpp"

namespace warploom::tile {
namespace {

using testing::HasSubstr;
using Values = std::map<std::string, std::int64_t>;

std::int64_t trips(const Node& loop, const Values& values) {
  return std::max<std::int64_t>(0, value_of(trip_count(loop), values));
}

/// Iterations of loops that nest perfectly; the innermost is counted, not run.
double tuples(const std::vector<ThreadLoop>& loops, std::size_t depth, Values& values) {
  const Node& loop = loops[depth].loop;
  if (depth + 1 == loops.size()) return static_cast<double>(trips(loop, values));
  double sum = 0;
  const std::int64_t count = trips(loop, values), first = count > 0 ? value_of(loop.first, values) : 0;
  for (std::int64_t k = 0; k < count; ++k) {
    values[loop.iterator] = first + k * loop.step;
    sum += tuples(loops, depth + 1, values);
  }
  return sum;
}

/// About how often assignments run: long loops are looked at in eight places.
double runs(const Node& node, Values values) {
  if (node.kind == Node::Kind::assignment) return 1;
  double sum = 0;
  if (node.kind != Node::Kind::loop) {
    for (const Node& child : node.children) sum += runs(child, values);
    return sum;
  }
  const std::int64_t count = trips(node, values), places = std::min<std::int64_t>(count, 8);
  const std::int64_t first = count > 0 ? value_of(node.first, values) : 0;
  for (std::int64_t p = 0; p < places; ++p) {
    values[node.iterator] = first + (2 * p + 1) * count / (2 * places) * node.step;
    for (const Node& child : node.children)
      sum += runs(child, values) * static_cast<double>(count) / static_cast<double>(places);
  }
  return sum;
}

struct Launch {
  const Kernel* kernel = nullptr;
  double threads = 0, but_last_blocks = 0, iterations = 0;
};

/// Some of the launches of a program: the host's loops at their first, second, middle and last iterations.
class Launches {
 public:
  Launches(const GpuProgram& program, Values sizes) : program_(program) {
    visit(program.host, std::move(sizes));
  }
  std::vector<Launch> all;

 private:
  void visit(const Node& node, Values values) {
    if (node.kind == Node::Kind::launch) return launch(program_.kernels.at(node.statement), values);
    if (node.kind == Node::Kind::branch) {
      if (value_of(node.condition, values)) visit(node.children[0], values);
      return;
    }
    if (node.kind != Node::Kind::loop) {
      for (const Node& child : node.children) visit(child, values);
      return;
    }
    const std::int64_t count = trips(node, values), first = count > 0 ? value_of(node.first, values) : 0;
    for (const std::int64_t k : std::set<std::int64_t>{0, 1, count / 2, count - 1}) {
      if (k < 0 || k >= count) continue;
      values[node.iterator] = first + k * node.step;
      for (const Node& child : node.children) visit(child, values);
    }
  }

  void launch(const Kernel& kernel, const Values& values) {
    if (kernel.tree.kind != Node::Kind::loop || kernel.pattern == "serial") return;
    Launch launch{&kernel, 1, 1, 0};
    for (int d = 0; d < 3; ++d) {
      const double blocks = static_cast<double>(std::max<std::int64_t>(0, value_of(kernel.grid[d], values))),
                   threads = static_cast<double>(value_of(kernel.block[d], values));
      launch.threads *= blocks * threads;
      launch.but_last_blocks *= blocks > 1 ? (blocks - 1) * threads : 1;
    }
    Values inside = values;
    const bool one_each = kernel.pattern == "pointwise" || kernel.pattern == "transposing";
    launch.iterations =
        one_each ? tuples(parallel_chain(kernel.tree).loops, 0, inside) : runs(kernel.tree, values);
    if (launch.threads > 0) all.push_back(launch);
  }

  const GpuProgram& program_;
};

GpuProgram program_after(const Nest& nest, const std::vector<Step>& steps) {
  return map_to_gpu(nest, steps.empty() ? parallelise(nest) : parallelise(transform(nest, steps)), {});
}

Values all_sizes(const Nest& nest, std::int64_t value) {
  Values sizes;
  for (const std::string& size : nest.region().sizes) sizes[size] = value;
  return sizes;
}

/// Never more threads than twice the iterations, rounded up to whole blocks.
void expect_few_threads(const Nest& nest, const std::vector<Step>& steps) {
  const GpuProgram program = program_after(nest, steps);
  for (const std::int64_t size : {300})
    for (const Launch& launch : Launches(program, all_sizes(nest, size)).all)
      EXPECT_LE(launch.but_last_blocks, 2 * launch.iterations)
          << nest.region().function << (steps.empty() ? "" : ", " + to_text(steps.front())) << ", size "
          << size << ": " << launch.kernel->name << " (" << launch.kernel->pattern << ") has "
          << launch.threads << " threads for " << launch.iterations << " iterations\n"
          << to_text(launch.kernel->tree);
}

/// Strips of each loop, and tiles of each chain of loops, as far as they are legal. Of nests that take long
/// only with WARPLOOM_ALL_STEPS.
std::vector<std::vector<Step>> steps_of(const Nest& nest) {
  std::vector<std::vector<Step>> all{{}};
  constexpr std::size_t kFewStatements = 3;
  if (nest.statements().size() > kFewStatements && !std::getenv("WARPLOOM_ALL_STEPS")) return all;
  std::set<std::string> seen;
  for (const Statement& statement : nest.statements()) {
    Tile tile;
    for (const std::string& loop : statement.loops) {
      if (seen.insert(loop).second) all.push_back({StripMine{loop, 32, {}}});
      tile.sizes.emplace_back(loop, 16);
    }
    if (tile.sizes.size() > 1) all.push_back({tile});
    if (tile.sizes.size() > 2) {
      tile.sizes.resize(2);
      all.push_back({tile});
    }
  }
  std::erase_if(all, [&](const std::vector<Step>& steps) {
    try {
      transform(nest, steps);
      return false;
    } catch (const BadInput&) {
      return true;
    }
  });
  return all;
}

/// "polybench/gemm"
std::vector<std::string> examples() {
  std::vector<std::string> names;
  for (const char* folder : {"polybench", "lecture"})
    for (const auto& entry : std::filesystem::directory_iterator(test::example_folder() / folder))
      names.push_back(std::string(folder) + "/" + entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

class ExampleLaunches : public testing::TestWithParam<std::string> {};
TEST_P(ExampleLaunches, HaveFewThreadsWithoutWork) {
  const Nest nest = test::example(GetParam());
  for (const std::vector<Step>& steps : steps_of(nest)) expect_few_threads(nest, steps);
}
INSTANTIATE_TEST_SUITE_P(Nests, ExampleLaunches, testing::ValuesIn(examples()), [](const auto& one) {
  std::string name = one.param;
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(LaunchGeometry, AStripBecomesABlock) {
  const Nest nest =
      test::analyse("void scale(int n, float a[n]) { for (int i = 0; i < n; i++) a[i] *= 2.0f; }");
  const GpuProgram program = program_after(nest, {StripMine{"i", 32, {}}});
  const Launch launch = Launches(program, {{"n", 1000000}}).all.at(0);
  EXPECT_EQ(launch.threads, 1000000);
  EXPECT_EQ(launch.kernel->block[0], Expression::integer(32));
}

TEST(LaunchGeometry, ATileBecomesABlock) {
  const Nest nest = test::analyse(R"(
void add(int n, float a[n][n], float b[n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) a[i][j] += b[i][j];
})");
  const GpuProgram program = program_after(nest, {Tile{{{"i", 32}, {"j", 32}}, {}}});
  const Kernel& kernel = program.kernels.at(0);
  EXPECT_EQ(kernel.block[0], Expression::integer(32));
  EXPECT_EQ(kernel.block[1], Expression::integer(8));  // each with four rows
  EXPECT_THAT(kernel.reasons, testing::Contains(HasSubstr("32 i x 32 j, the tile that was asked for")));
  EXPECT_EQ(Launches(program, {{"n", 4096}}).all.at(0).threads, 4096. * 4096 / 4);
}

TEST(LaunchGeometry, ATileThatIsNoBlockIsSaid) {
  const Nest nest =
      test::analyse("void scale(int n, float a[n]) { for (int i = 0; i < n; i++) a[i] *= 2.0f; }");
  const Kernel kernel = program_after(nest, {StripMine{"i", 5000, {}}}).kernels.at(0);
  EXPECT_THAT(kernel.reasons, testing::Contains(HasSubstr("32 to 1024 fit")));
  EXPECT_EQ(kernel.block[0], Expression::integer(256));
}

TEST(LaunchGeometry, StepsKeepTheShapesThatPatternsKnow) {
  const auto pattern = [](const Nest& nest, const std::vector<Step>& steps) {
    return program_after(nest, steps).kernels.back().pattern;
  };
  const Nest product = test::analyse(test::gemm_text);
  EXPECT_EQ(pattern(product, {Tile{{{"i", 64}, {"j", 64}, {"k", 16}}, {1}}}), "contraction");
  EXPECT_EQ(pattern(product, {Tile{{{"i", 64}, {"j", 64}}, {1}}}), "contraction");
  EXPECT_EQ(pattern(product, {StripMine{"k", 32, {1}}}), "contraction");
  const Nest transpose = test::analyse(R"(
void transpose(int n, float a[n][n], float b[n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) a[i][j] = b[j][i];
})");
  EXPECT_EQ(pattern(transpose, {Tile{{{"i", 32}, {"j", 32}}, {}}}), "transposing");
  const Nest vector = test::analyse(R"(
void vector(int n, float y[n], float a[n][n], float x[n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) y[i] += a[i][j] * x[j];
})");
  EXPECT_EQ(pattern(vector, {Tile{{{"i", 64}, {"j", 64}}, {}}}), pattern(vector, {}));
}

TEST(LaunchGeometry, AContractionHasTheTileThatWasAskedForIfItIsAShape) {
  const Nest product = test::analyse(test::gemm_text);
  const auto reasons = [&](std::int64_t rows, std::int64_t columns) {
    return program_after(product, {Tile{{{"i", rows}, {"j", columns}}, {1}}}).kernels.back().reasons;
  };
  EXPECT_THAT(reasons(64, 64), testing::Contains(HasSubstr("a block computes 64 i x 64 j")));
  EXPECT_THAT(reasons(32, 32), testing::Contains(HasSubstr("none of the shapes")));
}

TEST(LaunchGeometry, ThePredictedTimeFollows) {
  const Nest nest =
      test::analyse("void scale(int n, float a[n]) { for (int i = 0; i < n; i++) a[i] *= 2.0f; }");
  const Values sizes{{"n", 1000000}};
  GpuProgram program = program_after(nest, {StripMine{"i", 32, {}}});
  const double before = cost(nest, program, {}, sizes).at(0).milliseconds;
  program.kernels[0].grid[1] = Expression::integer(7813);  // blocks that find nothing to do
  const Cost after = cost(nest, program, {}, sizes).at(0);
  EXPECT_GT(after.milliseconds, 10 * before);
  EXPECT_EQ(after.bound, "threads that are started");
}

TEST(LaunchGeometry, AStripWhoseLoopIsSequentialStays) {
  // Distance 40 in i: strips of 32 run one after the other or not, the iterations of one are parallel.
  const Nest nest = test::analyse(R"(
void shift(int n, float a[n]) {
  for (int i = 40; i < n; i++) a[i] = a[i - 40] + 1.0f;
})");
  const ParallelNest parallel = parallelise(transform(nest, {StripMine{"i", 32, {}}}));
  EXPECT_THAT(to_text(parallel.code), HasSubstr("ii += 32"));
  EXPECT_TRUE(parallel.tiles.empty());
  const GpuProgram program = map_to_gpu(nest, parallel, {});
  EXPECT_EQ(Launches(program, {{"n", 1000}}).all.at(0).threads, 256);
}

/// A GPU is slower than a core at these, which is said beforehand.
TEST(LaunchGeometry, ChainsOfShortLaunchesAreNamed) {
  const auto chains = [](const char* name) {
    std::string all;
    for (const std::string& reason :
         program_after(test::example(std::string("polybench/") + name), {}).reasons)
      if (reason.find("is a chain of launches") != reason.npos)
        all += reason.substr(0, reason.find(' ')) + ";";
    return all;
  };
  EXPECT_EQ(chains("durbin"), "k;");
  EXPECT_EQ(chains("trisolv"), "j;");
  for (const char* name : {"gemm", "cholesky", "jacobi-1d", "lu", "gramschmidt"})
    EXPECT_EQ(chains(name), "") << name;
}

}  // namespace
}  // namespace warploom::tile
