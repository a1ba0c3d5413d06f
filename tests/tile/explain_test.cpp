#include "warploom/tile/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "example_nests.hpp"
#include "tile_cases.hpp"

namespace warploom::tile {
namespace {

using nlohmann::json;
using test::analyse;
using test::example;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> texts(const std::vector<Step>& steps) {
  std::vector<std::string> all;
  for (const Step& step : steps) all.push_back(to_text(step));
  return all;
}

std::vector<std::string> texts(const std::vector<Skew>& skews) {
  return texts(std::vector<Step>(skews.begin(), skews.end()));
}

const Judged& of(const std::vector<Judged>& all, const std::string& step) {
  for (const Judged& judged : all)
    if (to_text(judged.steps.at(0)) == step) return judged;
  throw std::logic_error("nobody judged " + step);
}

TEST(Explain, TilesOfLoopsWhoseLengthNeedsMoreThan64Bits) {
  const Nest nest = test::analyse(
      "void f(int n, float a[n]) { for (int i = 0; i < n; i++)\n"
      "  for (int j = 0; j <= 9223372036854775807; j++) a[i] = 1; }");
  EXPECT_EQ(explain(nest).tile.at("j"), 32);
}

TEST(Explain, RefusesTheLecturesDistanceWithItsWitnessAndFindsTheSkew) {
  const Explanation e = explain(example("lecture/not_permutable"));
  for (const Judged& judged :
       {of(e.permutations, "permute j, i (S0)"), of(e.tilings, "tile i=2, j=3 (S0)")}) {
    ASSERT_FALSE(judged.verdict.legal);
    ASSERT_TRUE(judged.verdict.violated);
    const Witness& witness = judged.verdict.violated->witness;
    EXPECT_EQ(witness.sink[0] - witness.source[0], 1);
    EXPECT_EQ(witness.sink[1] - witness.source[1], -1);
    EXPECT_THAT(texts(judged.cure), ElementsAre("skew j=1*i"));
  }
}

TEST(Explain, OffersNoSkewWhereTheOrderIsLegal) {
  const Explanation e = explain(example("lecture/permutable"));
  const Judged& judged = of(e.permutations, "permute j, i (S0)");
  EXPECT_TRUE(judged.verdict.legal);
  EXPECT_TRUE(judged.cure.empty());
}

TEST(Explain, TilesShortLoopsByHalf) {
  EXPECT_THAT(explain(example("lecture/not_permutable")).tile,
              ElementsAre(std::pair("i", 2), std::pair("j", 3)));
  EXPECT_THAT(explain(example("lecture/transpose")).tile,
              ElementsAre(std::pair("x", 32), std::pair("y", 32)));
  EXPECT_THAT(explain(example("lecture/transpose", {{"width", 10, 20}})).tile,
              ElementsAre(std::pair("x", 10), std::pair("y", 32)));
  ExplainOptions options;
  options.tile["j"] = 5;
  EXPECT_EQ(explain(example("lecture/not_permutable"), options).tile.at("j"), 5);
}

GpuPlan plan_with(Placement placement) {
  GpuPlan plan;
  Kernel kernel;
  kernel.name = "matmul_0";
  kernel.pattern = "contraction";
  kernel.statements = {0, 1};
  kernel.grid = {Expression::name("ni"), Expression::name("nj"), Expression::integer(1)};
  kernel.block = {Expression::integer(64), Expression::integer(1), Expression::integer(1)};
  kernel.placements = {std::move(placement)};
  kernel.reasons = {"k goes in steps"};
  plan.program.reasons = {"nothing is copied"};
  plan.program.kernels = {kernel};
  return plan;
}

TEST(ExplainGpu, NumbersStandWhereTheySaySomething) {
  const Nest nest = example("lecture/matmul", {{"ni", 5, 5}, {"nj", 5, 6}});
  const auto text = [&](Placement placement) { return to_text(nest, plan_with(std::move(placement))); };
  EXPECT_EQ(
      text({"M", Space::shared, "read by all", 8192, 16, 4, 128, 8, 2}),
      "\nOn a GPU (sm_90)\n"
      "  nothing is copied\n"
      "  matmul_0: contraction of S0, S1, ni x nj blocks of 64 threads\n"
      "    k goes in steps\n"
      "    M in shared; bytes: 8,192 a block; sectors a warp: 16, at best 4; threads on one bank: 2; used 128 "
      "times in the block, 8 in registers\n"
      "      read by all\n"
      "  What that takes is estimated where all sizes are known: --size nj=... --size nk=...\n");
  EXPECT_THAT(text({"M", Space::registers, "kept", 256}),
              HasSubstr("\n    M in registers; bytes: 256 a thread\n"));
  EXPECT_THAT(text({"M", Space::local, "too many", 512}),
              HasSubstr("\n    M in local; bytes: 512 a thread\n"));
  EXPECT_THAT(text({"M", Space::constant, "one for all", 64}), HasSubstr("\n    M in constant; bytes: 64\n"));
  EXPECT_THAT(text({"M", Space::global, "scattered", 0, 32, 4}),
              HasSubstr("\n    M in global; sectors a warp: 32, at best 4\n"));
}

TEST(ExplainGpu, CostsAreFactsAndTheSameNumbersInJson) {
  const Nest nest = example("lecture/matmul", {{"ni", 5, 5}, {"nj", 6, 6}, {"nk", 7, 7}});
  GpuPlan plan = plan_with({"M", Space::global, "scattered", 0, 32, 4});
  Cost cost;
  cost.operations = 420;
  cost.global_bytes = 1200;
  cost.shared_bytes = 64;
  cost.registers = 3;
  cost.shared = 16;
  cost.blocks_per_sm = 8;
  cost.milliseconds = 1.25;
  cost.bound = "launches";
  plan.costs = {cost};
  EXPECT_THAT(
      to_text(nest, plan),
      HasSubstr("\n    Estimated time: 1.25 ms (bound by launches); Operations: 420 (floating-point); Global "
                "memory: 1,200 (bytes); Shared memory: 64 (bytes moved; 16 a block); Occupancy: at most 25 % "
                "(8 blocks, 512 of 2048 threads a multiprocessor, each with 3 registers of values)\n"));
  const json kernel = json::parse(to_json(nest, plan))["kernels"][0];
  EXPECT_EQ(kernel["grid"], (json{"ni", "nj", 1}));
  EXPECT_EQ(kernel["block"], (json{64, 1, 1}));
  EXPECT_EQ(kernel["cost"], (json{{"milliseconds", 1.25},
                                  {"bound", "launches"},
                                  {"operations", 420.0},
                                  {"global_bytes", 1200.0},
                                  {"shared_bytes", 64.0},
                                  {"shared_per_block", 16},
                                  {"registers_of_values", 3},
                                  {"blocks_per_sm", 8}}));
  EXPECT_EQ(kernel["placements"][0]["sectors"], 32);
}

TEST(Explain, TilesBelowTheDistanceAreLegal) {
  const Nest nest = analyse(R"(
void f(int n, int m, float A[n + 4][m + 1]) {
  for (int i = 0; i < n; i++)
    for (int j = 1; j < m; j++) A[i + 4][j - 1] = A[i][j];
})");
  ExplainOptions options;
  options.tile["i"] = 4;
  EXPECT_TRUE(explain(nest, options).tilings.at(0).verdict.legal);
  options.tile["i"] = 5;
  EXPECT_FALSE(explain(nest, options).tilings.at(0).verdict.legal);
}

TEST(Explain, JudgesEveryOrderOfAChain) {
  const Explanation e = explain(example("lecture/matmul"));
  EXPECT_EQ(e.permutations.size(), 1U + 5U);  // of (i, j) and of (i, j, k)
  for (const Judged& judged : e.permutations) EXPECT_TRUE(judged.verdict.legal) << to_text(judged.steps[0]);
}

TEST(Explain, OrdersOfInnerLoopsLeaveTheOthersTogether) {
  // The update of LU: its inner loops may be exchanged, but none may leave the loop over i.
  const Explanation e = explain(example("polybench/lu"));
  EXPECT_TRUE(of(e.permutations, "permute k, j (S2)").verdict.legal);
  EXPECT_FALSE(of(e.permutations, "permute j, i, k (S2)").verdict.legal);
  EXPECT_TRUE(of(e.tilings, "tile j=32, k=32 (S2)").verdict.legal);
  EXPECT_FALSE(of(e.tilings, "tile i=32, j=32, k=32 (S2)").verdict.legal);
}

TEST(Explain, JudgesWhatIsAskedFor) {
  ExplainOptions options;
  options.steps = {Skew{"j", 1, "i"}, Permute{{"j", "i"}}};
  EXPECT_TRUE(explain(example("lecture/not_permutable"), options).asked.at(0).verdict.legal);
  options.steps = {Tile{{{"i", 2}, {"j", 2}}}};
  const Judged judged = explain(example("lecture/not_permutable"), options).asked.at(0);
  EXPECT_FALSE(judged.verdict.legal);
  EXPECT_THAT(texts(judged.cure), ElementsAre("skew j=1*i"));
}

TEST(ExplainText, OfASweepInPlace) {
  const Nest nest = example("lecture/reuse");
  EXPECT_EQ(to_text(nest, explain(nest)), R"(reuse.c:2: reuse(n)
  S0  line 5     (i, j)  A[j] = A[j] + A[j + 1] + A[j - 1]   reduction by +

Reuse                     i          j
  S0  A[j]        update  temporal   spatial
  S0  A[j + 1]    read    temporal   spatial
  S0  A[j - 1]    read    temporal   spatial
  group-temporal and group-spatial in j: A[j + 1], 1 later A[j], 2 later A[j - 1]

Footprint of a tile with Ti = 32, Tj = 32
  A         Tj + 2           34 elements        136 bytes

Dependences
  S0 -> S0 on A: flow, anti, output  (+, 0)   carried by i, reduction  as (1, 1) -> (2, 1)
  S0 -> S0 on A: flow, anti          (+, 1)   carried by i             as (1, 1) -> (2, 2)
  S0 -> S0 on A: flow, anti          (0, 1)   carried by j             as (1, 1) -> (1, 2)
  S0 -> S0 on A: flow, anti          (+, -1)  carried by i             as (1, 2) -> (2, 1)

Fully permutable bands
  (i) around S0
  (j) around S0

Orders of loops
  illegal  (j, i)
           would run (2, 1) before (1, 2), which reads A[1] that it overwrites (n = 3): anti dependence S0 -> S0, distance (1, -1)
           legal after skew j=1*i

Tilings
  illegal  tile i=32, j=32
           would run (2, 32) before (1, 33), which reads A[32] that it overwrites (n = 34): anti dependence S0 -> S0, distance (1, -1)
           legal after skew j=1*i
)");
}

TEST(ExplainText, OfAMatrixProduct) {
  const Nest nest = example("lecture/matmul");
  EXPECT_EQ(to_text(nest, explain(nest)), R"(matmul.c:2: matmul(ni, nj, nk)
  S0  line 5     (i, j)     P[i][j] = 0.0f
  S1  line 7     (i, j, k)  P[i][j] += M[i][k] * N[k][j]   reduction by +
  P, M, N are assumed not to overlap

Reuse                     i          j          k
  S0  P[i][j]     write   -          spatial
  S1  M[i][k]     read    -          temporal   spatial
  S1  N[k][j]     read    temporal   spatial    -
  S1  P[i][j]     update  -          spatial    temporal

Footprint of a tile with Ti = 32, Tj = 32, Tk = 32
  P         Ti * Tj        1024 elements       4096 bytes
  M         Ti * Tk        1024 elements       4096 bytes
  N         Tk * Tj        1024 elements       4096 bytes
  together                                    12288 bytes

Dependences
  S0 -> S1 on P: flow, output        (0, 0)     carried by no loop       as (0, 0) -> (0, 0, 0)
  S1 -> S1 on P: flow, anti, output  (0, 0, +)  carried by k, reduction  as (0, 0, 0) -> (0, 0, 1)

Fully permutable bands
  (i, j) around S0, S1
  (k) around S1

Orders of loops
  S0          legal    (j, i)
  S1          legal    every other order than (i, j, k)

Tilings
  S0          legal    tile i=32, j=32
  S1          legal    tile i=32, j=32, k=32
)");
}

TEST(ExplainText, SaysOnceWhatManyOrdersBreak) {
  const Nest nest = example("polybench/lu");
  const std::string text = to_text(nest, explain(nest));
  EXPECT_THAT(text, HasSubstr("S2          illegal  (j, i, k); (j, k, i); (k, i, j); (k, j, i)\n"));
  EXPECT_THAT(text, HasSubstr("S2          legal    (i, k, j)\n"));
}

TEST(ExplainJson, HoldsEverything) {
  const Nest nest = example("lecture/reuse");
  ExplainOptions options;
  options.steps = {Permute{{"j", "i"}}};
  const Explanation e = explain(nest, options);
  const json all = json::parse(to_json(nest, e));
  EXPECT_EQ(all.at("function"), "reuse");
  EXPECT_EQ(all.at("line"), 2);
  EXPECT_EQ(all.at("sizes"), json({"n"}));
  EXPECT_EQ(all.at("tile"), json({{"i", 32}, {"j", 32}}));
  EXPECT_EQ(all.at("remarks").size(), e.remarks.size());

  const json& statement = all.at("statements").at(0);
  EXPECT_EQ(statement.at("label"), "S0");
  EXPECT_EQ(statement.at("line"), 5);
  EXPECT_EQ(statement.at("loops"), json({"i", "j"}));
  EXPECT_EQ(statement.at("reduction"), "+");
  EXPECT_EQ(statement.at("references").at(3), json({{"element", "A[j]"}, {"access", "write"}}));

  EXPECT_EQ(all.at("reuse").size(), e.reuse.size());
  EXPECT_EQ(all.at("reuse").at(0), json({{"kind", "self-temporal"},
                                         {"statement", "S0"},
                                         {"reference", "A[j]"},
                                         {"loop", "i"},
                                         {"distance", 1}}));
  EXPECT_EQ(
      all.at("footprint"),
      json::array(
          {{{"array", "A"}, {"formula", "Tj + 2"}, {"elements", 34}, {"bytes", 136}, {"exact", true}}}));
  EXPECT_EQ(all.at("bands"), json::array({{{"loops", {"i"}}, {"statements", {"S0"}}},
                                          {{"loops", {"j"}}, {"statements", {"S0"}}}}));

  EXPECT_EQ(all.at("dependences").size(), e.dependences.size());
  const json& dependence = all.at("dependences").at(0);
  for (const char* key : {"kind", "source", "source_reference", "sink", "sink_reference", "distance",
                          "carried_by", "reduction"})
    EXPECT_TRUE(dependence.contains(key)) << key;
  EXPECT_EQ(dependence.at("distance").at(0), json({{"least", 1}, {"most", nullptr}}));
  EXPECT_EQ(dependence.at("witness"), json({{"source", {1, 1}}, {"sink", {2, 1}}, {"sizes", {{"n", 3}}}}));

  for (const char* list : {"permutations", "tilings", "asked"}) {
    const json& judged = all.at(list).at(0);
    EXPECT_EQ(judged.at("legal"), false) << list;
    EXPECT_THAT(judged.at("reason").get<std::string>(), HasSubstr("would run")) << list;
    EXPECT_TRUE(judged.at("violated").contains("witness")) << list;
    EXPECT_EQ(judged.at("legal_after"), json({"skew j=1*i"})) << list;
    EXPECT_EQ(judged.at("steps").size(), 1U) << list;
  }
}

}  // namespace
}  // namespace warploom::tile
