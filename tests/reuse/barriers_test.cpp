#include "reuse/rewrite/barriers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "reuse/analysed_kernel.hpp"

namespace warploom::reuse {
namespace {

/// The plan for all of the kernel's objects sharing; the texts of the instructions before which barriers go.
std::optional<std::vector<std::string>> planned(const AnalysedKernel& a) {
  std::vector<ObjectSet> all(a.kernel.object_count());
  for (std::uint32_t x = 0; x < all.size(); ++x)
    for (std::uint32_t y = 0; y < all.size(); ++y) all[x][y] = x != y;
  Hazard stuck;
  const auto insertions = BarrierPlanner(a.kernel).plan(all, stuck);
  if (!insertions) return std::nullopt;
  EXPECT_TRUE(find_hazards(a.kernel, all, *insertions).empty());
  std::vector<std::string> texts;
  for (const std::uint32_t i : *insertions)
    texts.emplace_back(a.module.text_of(a.kernel.instruction(i).span));
  return texts;
}
bool any_legal(const AnalysedKernel& a) {
  const BarrierPlanner planner(a.kernel);
  for (std::uint32_t i = 0; i < a.kernel.function->instructions.size(); ++i)
    if (planner.legal(i)) return true;
  return false;
}
constexpr std::string_view kTwoStores = "st.shared.u32 [a], %t;\nst.shared.u32 [b], %t;\n";

TEST(Barriers, NoneWhereOneSeparatesAlready) {
  EXPECT_EQ(planned(*arrays("st.shared.u32 [a], %t;\nbar.sync 0;\nst.shared.u32 [b], %t;"))->size(), 0u);
}

TEST(Barriers, OneBetweenTwoStores) { EXPECT_EQ(planned(*arrays(kTwoStores))->size(), 1u); }

TEST(Barriers, OneForSeveralPathsThatCross) {
  const auto a = arrays(
      "setp.eq.u32 %p1, %n, 0;\n@%p1 bra ELSE;\nst.shared.u32 [a], %t;\nbra.uni JOIN;\nELSE:\nst.shared.u32 [b], %t;\nJOIN:\n"
      "mov.u32 %r1, 0;\nsetp.eq.u32 %p2, %n, 1;\n@%p2 bra LAST;\nst.shared.u32 [c], %t;\nLAST:");
  EXPECT_EQ(planned(*a)->size(), 1u);
}

TEST(Barriers, BeforeALoopRatherThanInIt) {
  const auto a = arrays(
      "st.shared.u32 [a], %t;\nmov.u32 %r1, 0;\nLOOP:\nst.shared.u32 [b], %t;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, %n;\n@%p1 bra LOOP;");
  const auto at = planned(*a);
  ASSERT_EQ(at->size(), 1u);
  EXPECT_EQ(a->kernel.cfg.depth(a->block((*at)[0])), 0u);
}

TEST(Barriers, TwoInALoopThatRunsThroughBoth) {
  const auto a = arrays("mov.u32 %r1, 0;\nLOOP:\n" + std::string(kTwoStores) +
                        "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, %n;\n@%p1 bra LOOP;");
  EXPECT_EQ(planned(*a)->size(), 2u);
}

TEST(Barriers, NoneUnderABranchByThread) {
  const auto a = arrays("setp.eq.u32 %p1, %t, 0;\n@%p1 bra OVER;\n" + std::string(kTwoStores) +
                        "OVER:\nld.shared.u32 %r1, [c];");
  EXPECT_FALSE(planned(*a).has_value());
  EXPECT_FALSE(BarrierPlanner(a->kernel).legal(a->find("[b]")));
}

TEST(Barriers, UnderAUniformBranchTheyMayStand) {
  const auto a = arrays("setp.eq.u32 %p1, %n, 0;\n@%p1 bra OVER;\n" + std::string(kTwoStores) + "OVER:");
  EXPECT_TRUE(planned(*a).has_value());
}

TEST(Barriers, BeforeAPredicatedInstructionTheyHoldAllThreads) {
  const auto a = arrays("setp.eq.u32 %p1, %t, 0;\n@%p1 st.shared.u32 [a], %t;\n@%p1 st.shared.u32 [b], %t;");
  EXPECT_EQ(planned(*a)->size(), 1u);
}

TEST(Barriers, AfterThreadsHaveLeftTheOthersMayMeet) {
  EXPECT_TRUE(planned(*arrays("setp.gt.u32 %p1, %t, 9;\n@%p1 ret;\n" + std::string(kTwoStores))).has_value());
  EXPECT_TRUE(planned(*arrays("setp.gt.u32 %p1, %t, 9;\n@%p1 bra END;\n" + std::string(kTwoStores) + "END:"))
                  .has_value());
}

TEST(Barriers, BeforeSm70ThreadsThatHaveLeftAreStillAwaited) {
  const Surroundings old{.target = "sm_60"};
  EXPECT_FALSE(
      planned(*arrays("setp.gt.u32 %p1, %t, 9;\n@%p1 ret;\n" + std::string(kTwoStores), old)).has_value());
  EXPECT_FALSE(
      planned(*arrays("setp.gt.u32 %p1, %t, 9;\n@%p1 bra END;\n" + std::string(kTwoStores) + "END:", old))
          .has_value());
}

TEST(Barriers, NoneInAKernelWithANamedOrPartialBarrier) {
  EXPECT_FALSE(any_legal(*arrays(std::string(kTwoStores) + "bar.sync 1;")));
  EXPECT_FALSE(any_legal(*arrays(std::string(kTwoStores) + "bar.sync 0, 64;")));
  EXPECT_FALSE(any_legal(*arrays(std::string(kTwoStores) + "bar.sync %r1;")));
}

TEST(Barriers, NoneInACallerOfUnknownCode) {
  EXPECT_FALSE(
      any_legal(*arrays(std::string(kTwoStores) + "call f, ();", {.module = ".extern .func f ();\n"})));
}

TEST(Barriers, NoneInAnIrreducibleGraph) {
  const auto a = arrays(
      "setp.eq.u32 %p1, %n, 0;\n@%p1 bra SECOND;\nFIRST:\nst.shared.u32 [a], %t;\nSECOND:\nst.shared.u32 "
      "[b], %t;\nsetp.eq.u32 %p2, %n, 7;\n@%p2 bra FIRST;");
  EXPECT_FALSE(any_legal(*a));
}

TEST(Barriers, NoneInALoopThatSpinsOnMemory) {
  for (const std::string_view load :
       {"ld.volatile.global.u32 %r1, [%data];", "ld.acquire.gpu.global.u32 %r1, [%data];",
        "ld.global.cv.u32 %r1, [%data];", "atom.global.cas.b32 %r1, [%data], 0, 1;"}) {
    const auto a = arrays("SPIN:\n" + std::string(kTwoStores) + std::string(load) +
                          "\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra SPIN;");
    EXPECT_FALSE(BarrierPlanner(a->kernel).legal(a->find("[b]"))) << load;
  }
}

TEST(Barriers, NoneInALoopThatAFlagSetUnderSuchABranchEnds) {
  const auto a = arrays("mov.u32 %r9, 0;\nSPIN:\n" + std::string(kTwoStores) +
                        "ld.volatile.global.u32 %r1, [%data];\nsetp.eq.u32 %p1, %r1, 0;\n@!%p1 mov.u32 %r9, "
                        "1;\nsetp.eq.u32 %p2, %r9, 0;\n@%p2 bra SPIN;");
  EXPECT_FALSE(BarrierPlanner(a->kernel).legal(a->find("[b]")));
  const auto branched = arrays("mov.u32 %r9, 0;\nSPIN:\n" + std::string(kTwoStores) +
                               "ld.volatile.global.u32 %r1, [%data];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra "
                               "NOT;\nmov.u32 %r9, 1;\nNOT:\nsetp.eq.u32 %p2, %r9, 0;\n@%p2 bra SPIN;");
  EXPECT_FALSE(BarrierPlanner(branched->kernel).legal(branched->find("[b]")));
}

TEST(Barriers, NoneAfterASpinUntilABarrierShowsThatItIsOver) {
  // Thread 0 waits for a flag that the others set after the stores: a barrier between would hold them all for
  // ever.
  const std::string spin =
      "setp.ne.u32 %p1, %t, 0;\n@%p1 bra GO;\nSPIN:\nld.volatile.global.u32 %r1, [%data];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra SPIN;\nGO:\n";
  const auto waits = arrays(spin + std::string(kTwoStores) + "st.volatile.global.u32 [%data], 1;");
  EXPECT_FALSE(BarrierPlanner(waits->kernel).legal(waits->find("[b]")));
  const auto over =
      arrays(spin + "bar.sync 0;\nmov.u32 %r2, 0;\nsetp.eq.u32 %p3, %n, 0;\n@%p3 bra NEXT;\nNEXT:\n" +
             std::string(kTwoStores));
  EXPECT_TRUE(BarrierPlanner(over->kernel).legal(over->find("[b]")));
}

TEST(Barriers, NoneBesideThreadsThatSpinAndThenLeave) {
  const auto a = arrays(
      "setp.ne.u32 %p1, %t, 0;\n@%p1 bra GO;\nSPIN:\nld.volatile.global.u32 %r1, [%data];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra SPIN;\nret;\n"
      "GO:\n" +
      std::string(kTwoStores) + "st.volatile.global.u32 [%data], 1;");
  EXPECT_FALSE(BarrierPlanner(a->kernel).legal(a->find("[b]")));
}

TEST(Barriers, NoneInALoopWithoutAnEnd) {
  const auto a = arrays("FOREVER:\n" + std::string(kTwoStores) + "bra.uni FOREVER;");
  EXPECT_FALSE(BarrierPlanner(a->kernel).legal(a->find("[b]")));
}

TEST(Barriers, OneInALoopThatOnlyCounts) {
  const auto a = arrays("mov.u32 %r1, 0;\nLOOP:\n" + std::string(kTwoStores) +
                        "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, %n;\n@%p1 bra LOOP;");
  EXPECT_TRUE(BarrierPlanner(a->kernel).legal(a->find("[b]")));
}

TEST(Barriers, TheStuckHazardIsNamed) {
  const auto a = arrays("setp.eq.u32 %p1, %t, 0;\n@%p1 bra OVER;\n" + std::string(kTwoStores) +
                        "OVER:\nld.shared.u32 %r1, [c];");
  std::vector<ObjectSet> overlap(3);
  overlap[a->object("a")].set(a->object("b"));
  overlap[a->object("b")].set(a->object("a"));
  Hazard stuck;
  EXPECT_FALSE(BarrierPlanner(a->kernel).plan(overlap, stuck).has_value());
  EXPECT_EQ(stuck.earlier, a->object("a"));
  EXPECT_EQ(stuck.later, a->object("b"));
  EXPECT_EQ(stuck.instruction, a->find("[b]"));
}

std::uint64_t least_by_brute_force(const std::vector<std::vector<std::uint32_t>>& constraints,
                                   const std::vector<std::uint64_t>& weight) {
  std::uint64_t least = ~std::uint64_t{0};
  for (std::uint32_t set = 0; set < 1u << weight.size(); ++set) {
    const bool meets = std::all_of(constraints.begin(), constraints.end(), [&](const auto& c) {
      return std::any_of(c.begin(), c.end(), [&](std::uint32_t e) { return (set >> e & 1) != 0; });
    });
    if (!meets) continue;
    std::uint64_t sum = 0;
    for (std::size_t e = 0; e < weight.size(); ++e) sum += (set >> e & 1) * weight[e];
    least = std::min(least, sum);
  }
  return least;
}

TEST(MinimumHittingSet, EqualsBruteForceOnRandomInstances) {
  std::mt19937 random(11);
  for (int instance = 0; instance < 500; ++instance) {
    const std::uint32_t elements = 1 + static_cast<std::uint32_t>(random() % 10);
    std::vector<std::uint64_t> weight(elements);
    for (auto& w : weight) w = std::uint64_t{1} << (3 * (random() % 3));
    std::vector<std::vector<std::uint32_t>> constraints(random() % 9);
    for (auto& c : constraints) {
      for (std::uint32_t e = 0; e < elements; ++e)
        if (random() % 3 == 0) c.push_back(e);
      if (c.empty()) c.push_back(static_cast<std::uint32_t>(random() % elements));
    }
    const auto chosen = minimum_hitting_set(constraints, weight);
    std::uint64_t sum = 0;
    for (const std::uint32_t e : chosen) sum += weight[e];
    for (const auto& c : constraints)
      EXPECT_TRUE(std::any_of(c.begin(), c.end(), [&](std::uint32_t e) {
        return std::find(chosen.begin(), chosen.end(), e) != chosen.end();
      }));
    EXPECT_EQ(sum, least_by_brute_force(constraints, weight));
  }
}

TEST(MinimumHittingSet, NothingToMeetNeedsNothing) { EXPECT_TRUE(minimum_hitting_set({}, {1, 2}).empty()); }

TEST(MinimumHittingSet, WithoutSearchItIsStillAHittingSet) {
  const auto chosen = minimum_hitting_set({{0, 1}, {1, 2}, {0, 2}}, {1, 1, 1}, 0);
  EXPECT_EQ(chosen.size(), 2u);
}

}  // namespace
}  // namespace warploom::reuse
