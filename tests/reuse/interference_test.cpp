#include "reuse/analysis/interference.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "reuse/analysed_kernel.hpp"

namespace warploom::reuse {
namespace {

Interference graph_of(const AnalysedKernel& a, const std::vector<DeadPoint>& dead = {}) {
  return find_interference(a.kernel, find_liveness(a.kernel, dead));
}
bool meet(const AnalysedKernel& a, std::string_view x, std::string_view y) {
  return graph_of(a).between(a.object(x), a.object(y));
}
std::string why(const AnalysedKernel& a) {
  const Interference graph = graph_of(a);
  return graph.edges().empty() ? "" : graph.edges().front().reason.text;
}
/// Pairs of objects with a hazard if all share.
std::set<std::pair<std::uint32_t, std::uint32_t>> hazard_pairs(const AnalysedKernel& a,
                                                               const Insertions& insertions = {}) {
  std::vector<ObjectSet> all(a.kernel.object_count());
  for (std::uint32_t x = 0; x < all.size(); ++x)
    for (std::uint32_t y = 0; y < all.size(); ++y) all[x][y] = x != y;
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const Hazard& h : find_hazards(a.kernel, all, insertions)) pairs.emplace(h.earlier, h.later);
  return pairs;
}

TEST(Interference, LivesThatFollowEachOtherDoNotMeet) {
  const auto a = arrays(
      "st.shared.u32 [a], %t;\nld.shared.u32 %r1, [a];\nst.shared.u32 [b], %t;\nld.shared.u32 %r1, [b];");
  EXPECT_FALSE(meet(*a, "a", "b"));
}

TEST(Interference, AStoreIntoALifeMeetsItEvenIfItIsNeverRead) {
  const auto a = arrays("st.shared.u32 [a], %t;\nst.shared.u32 [b], %t;\nld.shared.u32 %r1, [a];");
  EXPECT_TRUE(meet(*a, "a", "b"));
  EXPECT_EQ(why(*a), "this store falls into the other's life");
}

TEST(Interference, LoadsAloneDoNotMeet) {
  const auto a = arrays("ld.shared.u32 %r1, [a];\nld.shared.u32 %r2, [b];");
  EXPECT_TRUE(graph_of(*a).edges().empty());
}

TEST(Interference, APinnedObjectMeetsAll) {
  const auto a =
      arrays("mov.u64 %rd1, a;\nst.global.u64 [%out], %rd1;\nst.shared.u32 [b], %t;\nst.shared.u32 [c], %t;");
  EXPECT_TRUE(meet(*a, "a", "b"));
  EXPECT_TRUE(meet(*a, "c", "a"));
  EXPECT_FALSE(meet(*a, "b", "c"));
}

TEST(Interference, ArmsOfAUniformBranchDoNotMeet) {
  const auto a = arrays(
      "setp.eq.u32 %p1, %n, 0;\n@%p1 bra ELSE;\nst.shared.u32 [a], %t;\nbar.sync 0;\nld.shared.u32 %r1, [a];\nbra.uni JOIN;\n"
      "ELSE:\nst.shared.u32 [b], %t;\nbar.sync 0;\nld.shared.u32 %r1, [b];\nJOIN:");
  EXPECT_FALSE(meet(*a, "a", "b"));
}

TEST(Interference, ArmsOfABranchByThreadMeet) {
  const auto a = arrays(
      "setp.eq.u32 %p1, %t, 0;\n@%p1 bra ELSE;\nst.shared.u32 [a], %t;\nld.shared.u32 %r1, [a];\nbra.uni JOIN;\n"
      "ELSE:\nst.shared.u32 [b], %t;\nld.shared.u32 %r1, [b];\nJOIN:");
  EXPECT_TRUE(meet(*a, "a", "b"));
  EXPECT_EQ(why(*a), "both are accessed where this branch may have sent threads apart");
}

TEST(Interference, LoadsInTheArmsOfABranchByThreadDoNotMeet) {
  const auto a = arrays(
      "setp.eq.u32 %p1, %t, 0;\n@%p1 bra ELSE;\nld.shared.u32 %r1, [a];\nbra.uni JOIN;\nELSE:\nld.shared.u32 %r1, [b];\nJOIN:");
  EXPECT_FALSE(meet(*a, "a", "b"));
}

TEST(Interference, AccessesInALoopOfDifferentLengthMeet) {
  const auto a = arrays(
      "mov.u32 %r1, 0;\nLOOP:\nst.shared.u32 [a], %t;\nst.shared.u32 [b], %t;\nadd.u32 %r1, %r1, "
      "1;\nsetp.lt.u32 %p1, %r1, %t;\n@%p1 bra LOOP;\nst.shared.u32 [c], %t;");
  EXPECT_TRUE(meet(*a, "a", "b"));
}

TEST(Interference, ComparedObjectsMeet) {
  const auto a = arrays(
      "mov.u32 %r1, a;\nmov.u32 %r2, b;\nsetp.eq.u32 %p1, %r1, %r2;\nst.shared.u32 [%r1], %t;\nst.shared.u32 [%r2], %t;");
  EXPECT_TRUE(meet(*a, "a", "b"));
  EXPECT_EQ(why(*a), "their addresses are compared");
}

TEST(Interference, AStoreThatMayGoToEitherMakesThemMeet) {
  const auto a = arrays(
      "mov.u32 %r1, a;\nmov.u32 %r2, b;\nsetp.eq.u32 %p1, %n, 0;\nselp.b32 %r3, %r1, %r2, %p1;\nst.shared.u32 [%r3], %t;");
  EXPECT_TRUE(meet(*a, "a", "b"));
  EXPECT_EQ(why(*a), "one access may go to either");
}

TEST(Interference, TheFirstReasonOfAPairIsKept) {
  Interference graph(3);
  graph.add(2, 1, {"first", 7});
  graph.add(1, 2, {"second", 8});
  graph.add(1, 1, {"itself", 9});
  ASSERT_EQ(graph.edges().size(), 1u);
  EXPECT_EQ(graph.edges()[0].a, 1u);
  EXPECT_EQ(graph.edges()[0].b, 2u);
  EXPECT_EQ(graph.edges()[0].reason.text, "first");
  EXPECT_TRUE(graph.of(1)[2] && graph.of(2)[1]);
}

TEST(Hazards, OfEachKindButTwoLoads) {
  EXPECT_FALSE(hazard_pairs(*arrays("st.shared.u32 [a], %t;\nst.shared.u32 [b], %t;")).empty());
  EXPECT_FALSE(hazard_pairs(*arrays("st.shared.u32 [a], %t;\nld.shared.u32 %r1, [b];")).empty());
  EXPECT_FALSE(hazard_pairs(*arrays("ld.shared.u32 %r1, [a];\nst.shared.u32 [b], %t;")).empty());
  EXPECT_TRUE(hazard_pairs(*arrays("ld.shared.u32 %r1, [a];\nld.shared.u32 %r2, [b];")).empty());
}

TEST(Hazards, AnAtomicIsAStore) {
  EXPECT_FALSE(hazard_pairs(*arrays("ld.shared.u32 %r1, [a];\nred.shared.add.u32 [b], 1;")).empty());
}

TEST(Hazards, ABarrierBetweenEndsThem) {
  EXPECT_TRUE(hazard_pairs(*arrays("st.shared.u32 [a], %t;\nbar.sync 0;\nst.shared.u32 [b], %t;")).empty());
  EXPECT_TRUE(
      hazard_pairs(*arrays("st.shared.u32 [a], %t;\nbarrier.sync 0;\nst.shared.u32 [b], %t;")).empty());
  EXPECT_TRUE(
      hazard_pairs(*arrays("st.shared.u32 [a], %t;\nbar.red.popc.u32 %r1, 0, %p1;\nst.shared.u32 [b], %t;"))
          .empty());
}

TEST(Hazards, BarriersThatDoNotHoldAllThreadsEndNone) {
  EXPECT_FALSE(
      hazard_pairs(*arrays("st.shared.u32 [a], %t;\nbar.warp.sync -1;\nst.shared.u32 [b], %t;")).empty());
  EXPECT_FALSE(hazard_pairs(*arrays("st.shared.u32 [a], %t;\nbar.sync 1;\nst.shared.u32 [b], %t;")).empty());
  EXPECT_FALSE(
      hazard_pairs(*arrays("st.shared.u32 [a], %t;\nbar.sync 0, 32;\nst.shared.u32 [b], %t;")).empty());
  EXPECT_FALSE(
      hazard_pairs(*arrays("st.shared.u32 [a], %t;\nbar.arrive 0, 32;\nst.shared.u32 [b], %t;")).empty());
  EXPECT_FALSE(
      hazard_pairs(
          *arrays(
              "setp.eq.u32 %p1, %n, 0;\nst.shared.u32 [a], %t;\n@%p1 bar.sync 0;\nst.shared.u32 [b], %t;"))
          .empty());
}

TEST(Hazards, ABarrierInOneArmLeavesThePathThroughTheOther) {
  EXPECT_FALSE(
      hazard_pairs(
          *arrays(
              "setp.eq.u32 %p1, %n, 0;\nst.shared.u32 [a], %t;\n@%p1 bra OVER;\nbar.sync 0;\nOVER:\nst.shared.u32 [b], %t;"))
          .empty());
}

TEST(Hazards, TheyRunAroundABackEdge) {
  const auto a = arrays(
      "mov.u32 %r1, 0;\nLOOP:\nst.shared.u32 [a], %t;\nbar.sync 0;\nst.shared.u32 [b], %t;\nadd.u32 %r1, "
      "%r1, 1;\nsetp.lt.u32 %p1, %r1, %n;\n@%p1 bra LOOP;");
  EXPECT_THAT(hazard_pairs(*a), testing::ElementsAre(testing::Pair(a->object("b"), a->object("a"))));
}

TEST(Hazards, AnInsertedBarrierStandsBeforeItsInstruction) {
  const auto a = arrays("st.shared.u32 [a], %t;\nst.shared.u32 [b], %t;\nst.shared.u32 [c], %t;");
  EXPECT_FALSE(hazard_pairs(*a).empty());
  EXPECT_THAT(hazard_pairs(*a, {a->find("[b]")}),
              testing::ElementsAre(testing::Pair(a->object("b"), a->object("c"))));
}

/// By search over instructions: barrier-free paths from each access.
std::set<std::pair<std::uint32_t, std::uint32_t>> hazards_by_paths(const AnalysedKernel& a,
                                                                   const Insertions& insertions) {
  const ptx::Cfg& cfg = a.kernel.cfg;
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  const auto stops = [&](std::uint32_t i) {
    return std::find(insertions.begin(), insertions.end(), i) != insertions.end();
  };
  for (const Access& from : a.kernel.use.accesses) {
    if (!cfg.reachable[cfg.block_of[from.instruction]]) continue;
    std::set<std::uint32_t> seen;
    std::vector<std::uint32_t> work;
    const auto leave = [&](std::uint32_t i) {
      if (i + 1 < cfg.blocks[cfg.block_of[i]].last)
        work.push_back(i + 1);
      else
        for (const std::uint32_t s : cfg.graph.successors[cfg.block_of[i]])
          work.push_back(cfg.blocks[s].first);
    };
    leave(from.instruction);
    while (!work.empty()) {
      const std::uint32_t i = work.back();
      work.pop_back();
      if (!seen.insert(i).second || stops(i) ||
          a.module.text_of(a.kernel.instruction(i).span).starts_with("bar.sync"))
        continue;
      for (const Access& to : a.kernel.use.accesses)
        if (to.instruction == i && (from.write || to.write))
          for (std::uint32_t x = 0; x < a.kernel.object_count(); ++x)
            for (std::uint32_t y = 0; y < a.kernel.object_count(); ++y)
              if (x != y && from.objects[x] && to.objects[y]) pairs.emplace(x, y);
      leave(i);
    }
  }
  return pairs;
}

TEST(Hazards, EqualASearchOverAllPathsOfRandomGraphs) {
  std::mt19937 random(3);
  const auto pick = [&](std::uint32_t below) { return static_cast<std::uint32_t>(random() % below); };
  std::size_t found = 0, none = 0;
  for (int graph = 0; graph < 300; ++graph) {
    const std::uint32_t blocks = 3 + pick(6);
    std::string body;
    for (std::uint32_t b = 0; b < blocks; ++b) {
      body += "B" + std::to_string(b) + ":\n";
      for (std::uint32_t k = pick(3); k > 0; --k) {
        const std::string name(1, static_cast<char>('a' + pick(3)));
        body += pick(2)   ? "bar.sync 0;\n"
                : pick(2) ? "st.shared.u32 [" + name + "], %t;\n"
                          : "ld.shared.u32 %r1, [" + name + "];\n";
      }
      if (pick(3) != 0)
        body += "setp.eq.u32 %p1, %n, " + std::to_string(b) + ";\n@%p1 bra B" + std::to_string(pick(blocks)) +
                ";\n";
    }
    const auto a = arrays(body);
    Insertions insertions;
    for (std::uint32_t i = 0; i < a->kernel.function->instructions.size(); ++i)
      if (pick(12) == 0) insertions.push_back(i);
    const auto expected = hazards_by_paths(*a, insertions);
    EXPECT_EQ(hazard_pairs(*a, insertions), expected) << a->module.text;
    (expected.empty() ? none : found) += 1;
  }
  EXPECT_GT(found, 30u);
  EXPECT_GT(none, 30u);
}

}  // namespace
}  // namespace warploom::reuse
