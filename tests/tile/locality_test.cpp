#include "warploom/tile/locality.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "access_walk.hpp"
#include "example_nests.hpp"
#include "tile_cases.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

using test::analyse;
using test::example;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

std::string described(const Nest& nest, const Reuse& reuse) {
  const auto element = [&](int s, int r) {
    const Reference& reference = nest.statements()[s].references[r];
    return to_text(reference.element) + (reference.is_write ? " written" : "");
  };
  std::string said = std::string(name(reuse.kind)) + " " + element(reuse.statement, reuse.reference);
  if (reuse.other_statement >= 0) said += " with " + element(reuse.other_statement, reuse.other_reference);
  return said + (reuse.loop.empty() ? "" : " in " + reuse.loop) + ": " + std::to_string(reuse.distance);
}

std::vector<std::string> reuse_texts(const Nest& nest, bool groups, int line_bytes = 128) {
  std::vector<std::string> all;
  for (const Reuse& one : reuse(nest, line_bytes))
    if ((one.other_statement >= 0) == groups) all.push_back(described(nest, one));
  return all;
}

TEST(Reuse, OfTheLecturesSweepAsItsSlidesSay) {
  // "A[j] has self-temporal reuse in loop i", "self-spatial reuse in loop j".
  const Nest nest = example("lecture/reuse");
  EXPECT_THAT(
      reuse_texts(nest, false),
      UnorderedElementsAre("self-temporal A[j] in i: 1", "self-spatial A[j] in j: 1",
                           "self-temporal A[j + 1] in i: 1", "self-spatial A[j + 1] in j: 1",
                           "self-temporal A[j - 1] in i: 1", "self-spatial A[j - 1] in j: 1",
                           "self-temporal A[j] written in i: 1", "self-spatial A[j] written in j: 1"));
  // "A[j], A[j+1] and A[j-1] have group reuse (spatial and temporal) in loop j".
  EXPECT_THAT(
      reuse_texts(nest, true),
      UnorderedElementsAre(
          "group-temporal A[j] with A[j + 1] in j: -1", "group-spatial A[j] with A[j + 1] in j: 1",
          "group-temporal A[j] with A[j - 1] in j: 1", "group-spatial A[j] with A[j - 1] in j: 1",
          "group-temporal A[j + 1] with A[j - 1] in j: 2", "group-spatial A[j + 1] with A[j - 1] in j: 2",
          "group-temporal A[j] with A[j] written: 0",  // in one iteration
          "group-temporal A[j + 1] with A[j] written in j: 1",
          "group-spatial A[j + 1] with A[j] written in j: 1",
          "group-temporal A[j - 1] with A[j] written in j: -1",
          "group-spatial A[j - 1] with A[j] written in j: 1"));
}

TEST(Reuse, OfAMatrixProduct) {
  const std::vector<std::string> all = reuse_texts(example("lecture/matmul"), false);
  EXPECT_THAT(all, UnorderedElementsAre("self-spatial P[i][j] written in j: 1",  // S0
                                        "self-temporal M[i][k] in j: 1", "self-spatial M[i][k] in k: 1",
                                        "self-temporal N[k][j] in i: 1", "self-spatial N[k][j] in j: 1",
                                        "self-temporal P[i][j] in k: 1", "self-spatial P[i][j] in j: 1",
                                        "self-temporal P[i][j] written in k: 1",
                                        "self-spatial P[i][j] written in j: 1"));
}

TEST(Reuse, OfATransposeIsSpatialInDifferentLoops) {
  EXPECT_THAT(
      reuse_texts(example("lecture/transpose"), false),
      UnorderedElementsAre("self-spatial in[y][x] in x: 1", "self-spatial out[x][y] written in y: 1"));
}

TEST(Reuse, OfAStencilJoinsRowsAlongTheOuterLoop) {
  const std::vector<std::string> groups = reuse_texts(example("polybench/jacobi-2d"), true);
  EXPECT_THAT(groups, Contains("group-temporal A[i + 1][j] with A[i - 1][j] in i: 2"));
  EXPECT_THAT(groups, Contains("group-temporal A[i][j - 1] with A[i][j + 1] in j: -2"));
  EXPECT_THAT(groups, Not(Contains("group-temporal A[i][j] with A[i + 1][j] in j: 0")));
}

TEST(Reuse, IsSpatialWhileNeighboursShareALine) {
  const Nest nest =
      analyse("void f(int n, float A[64 * n]) { for (int i = 0; i < n; i++) A[16 * i] = 1.0f; }");
  EXPECT_THAT(reuse_texts(nest, false), UnorderedElementsAre("self-spatial A[16 * i] written in i: 16"));
  EXPECT_THAT(reuse_texts(nest, false, 64), IsEmpty());
}

TEST(Reuse, OfADecreasingLoopIsTheSame) {
  const Nest nest =
      analyse("void f(int n, float A[n], float B[n]) { for (int i = n - 1; i >= 0; i--) A[i] = B[0]; }");
  EXPECT_THAT(reuse_texts(nest, false),
              UnorderedElementsAre("self-temporal B[0] in i: 1", "self-spatial A[i] written in i: 1"));
}

const Footprint& of(const std::vector<Footprint>& all, const std::string& array) {
  return *std::find_if(all.begin(), all.end(), [&](const Footprint& f) { return f.array == array; });
}

TEST(Footprint, OfAStencilIsItsHull) {
  const std::vector<Footprint> all = footprint(example("polybench/jacobi-2d"), {{"i", 8}, {"j", 16}});
  EXPECT_EQ(of(all, "A").formula, "(Ti + 2) * (Tj + 2)");
  EXPECT_EQ(of(all, "A").elements, 10 * 18);
  EXPECT_EQ(of(all, "A").bytes, 10 * 18 * 4);
  EXPECT_FALSE(of(all, "A").exact);  // four corners are not touched
}

TEST(Footprint, OfLoopsThatAreNotNamedIsOneIteration) {
  const std::vector<Footprint> all = footprint(example("lecture/matmul"), {{"k", 32}});
  EXPECT_EQ(of(all, "P").formula, "1");
  EXPECT_EQ(of(all, "M").formula, "Tk");
  EXPECT_EQ(of(all, "N").elements, 32);
}

TEST(Footprint, OfOneSubscriptWithTwoLoopsAddsThem) {
  const Nest nest = analyse(R"(
void f(int n, int m, double A[n + 2 * m], double B[n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) B[i] += A[i + 2 * j];
})");
  const std::vector<Footprint> all = footprint(nest, {{"i", 4}, {"j", 8}});
  EXPECT_EQ(of(all, "A").formula, "Ti + 2 * Tj - 2");
  EXPECT_EQ(of(all, "A").bytes, 18 * 8);
  EXPECT_TRUE(of(all, "A").exact);
}

TEST(Footprint, RefusesAnEmptyTile) {
  EXPECT_THROW(footprint(example("lecture/matmul"), {{"i", 0}}), BadInput);
}

/// Elements that the iterations of one tile touch, whatever the bounds: one by one.
std::map<std::string, std::set<std::vector<std::int64_t>>> touched(
    const Nest& nest, const std::map<std::string, std::int64_t>& tile) {
  std::map<std::string, std::set<std::vector<std::int64_t>>> elements;
  for (const Statement& statement : nest.statements()) {
    Node node = statement.assignment;
    for (auto loop = statement.loops.rbegin(); loop != statement.loops.rend(); ++loop) {
      Node around;
      around.kind = Node::Kind::loop;
      around.iterator = *loop;
      around.first = Expression::integer(100);
      around.comparison = "<";
      around.limit = Expression::integer(100 + (tile.contains(*loop) ? tile.at(*loop) : 1));
      around.children = {node};
      node = around;
    }
    test::Values values;
    for (const std::string& size : nest.region().sizes) values[size] = 1000;
    test::walk_accesses(
        node, values, [&](const auto& array, const auto& subscripts) { elements[array].insert(subscripts); });
  }
  return elements;
}

TEST(Footprint, OfAQuotientIsAtMostAnElementAnIteration) {
  const Nest nest =
      analyse("void f(float A[10], float B[20]) { for (int i = 0; i < 20; i++) A[i / 2] = B[i]; }");
  EXPECT_THAT(reuse_texts(nest, false), UnorderedElementsAre("self-spatial B[i] in i: 1"));
  const std::vector<Footprint> all = footprint(nest, {{"i", 8}});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].array, "A");
  EXPECT_EQ(all[0].elements, 8);
  EXPECT_FALSE(all[0].exact);
}

TEST(Footprint, OfEveryExampleIsWhatATileTouches) {
  int exact = 0, bounds = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::example_folder())) {
    if (entry.path().extension() != ".c") continue;
    for (const Region& region : read_source(test::file_text(entry.path()), entry.path().filename(), {})) {
      if (!region.refusals.empty()) continue;
      const Nest nest = Nest::analyse(region);
      for (int trial = 0; trial < 3; ++trial) {
        std::map<std::string, std::int64_t> tile;
        for (const Statement& statement : nest.statements())
          for (const std::string& loop : statement.loops)
            tile.try_emplace(loop, 1 + (trial * 3 + static_cast<std::int64_t>(tile.size()) * 2) % 5);
        if (trial == 2) tile.erase(tile.begin());
        auto elements = touched(nest, tile);
        const std::vector<Footprint> all = footprint(nest, tile);
        EXPECT_EQ(all.size(), elements.size()) << entry.path();
        for (const Footprint& f : all) {
          const auto count = static_cast<std::int64_t>(elements[f.array].size());
          EXPECT_GE(f.elements, count) << entry.path() << ": " << f.array << ", " << f.formula;
          if (f.exact) {
            EXPECT_EQ(f.elements, count) << entry.path() << ": " << f.array << ", " << f.formula;
          }
          EXPECT_EQ(f.bytes, f.elements * size_of(find_variable(region, f.array)->type));
          ++(f.exact ? exact : bounds);
        }
      }
    }
  }
  EXPECT_GT(exact, bounds);  // most references of most nests fill boxes
}

}  // namespace
}  // namespace warploom::tile
