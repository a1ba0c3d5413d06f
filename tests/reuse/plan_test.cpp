#include "reuse/rewrite/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reuse/analysed_kernel.hpp"

namespace warploom::reuse {
namespace {

std::unique_ptr<AnalysedKernel> smaller_arrays(std::string_view body) {
  return analysed(kernel_around(
      "\t.shared .align 4 .b8 a[256];\n\t.shared .align 4 .b8 b[128];\n\t.shared .align 4 .b8 c[64];\n" +
      std::string(body)));
}
Planner planner_for(const AnalysedKernel& a) {
  return Planner(a.kernel, find_interference(a.kernel, find_liveness(a.kernel, {})), {});
}
std::string write_and_read(std::string_view array) {
  return "st.shared.u32 [" + std::string(array) + "], %t;\nbar.sync 0;\nld.shared.u32 %r1, [" +
         std::string(array) + "];\n";
}

TEST(Plan, ObjectsThatShareStartAtTheSamePlace) {
  const auto a = smaller_arrays(write_and_read("a") + "bar.sync 0;\n" + write_and_read("b") +
                                "bar.sync 0;\n" + write_and_read("c"));
  const Plan plan = planner_for(*a).smallest(true);
  EXPECT_THAT(plan.pooled, testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(plan.offsets, testing::Each(0));
  EXPECT_EQ(plan.pool_bytes, 256u);
  EXPECT_EQ(plan.total_bytes, 256u);
  EXPECT_TRUE(plan.insertions.empty());
}

TEST(Plan, WithoutPermissionNoBarrierIsAdded) {
  const auto a = smaller_arrays(write_and_read("a") + write_and_read("b"));
  EXPECT_EQ(planner_for(*a).smallest(true).insertions.size(), 1u);
  const Plan plan = planner_for(*a).smallest(false);
  EXPECT_TRUE(plan.insertions.empty());
  EXPECT_FALSE(plan.overlap[a->object("a")][a->object("b")]);
}

TEST(Plan, WhoSharesWithNobodyStaysOutOfThePool) {
  const auto a = smaller_arrays("st.shared.u32 [c], %t;\nbar.sync 0;\n" + write_and_read("a") +
                                "bar.sync 0;\n" + write_and_read("b") + "ld.shared.u32 %r2, [c];\n");
  const Plan plan = planner_for(*a).smallest(true);
  EXPECT_THAT(plan.pooled, testing::ElementsAre(a->object("a"), a->object("b")));
  EXPECT_EQ(plan.pool_bytes, 256u);
  EXPECT_EQ(plan.total_bytes, 256u + 64u);
}

TEST(Plan, OfEqualPoolsTheOneWithFewerBarriersIsTaken) {
  // c shares with a or with b in 256 bytes either way; only beside a it needs a barrier.
  const auto a = smaller_arrays(
      "st.shared.u32 [a], %t;\nld.shared.u32 %r1, [a];\nst.shared.u32 [c], %t;\nld.shared.u32 %r1, [c];\nbar.sync 0;\nst.shared.u32 [b], %t;\n");
  const Plan plan = planner_for(*a).smallest(true);
  EXPECT_EQ(plan.total_bytes, 256u);
  EXPECT_LE(plan.insertions.size(), 1u);
}

TEST(Plan, FewestBarriersMayGiveUpBytes) {
  const auto a =
      smaller_arrays(write_and_read("a") + write_and_read("b") + "bar.sync 0;\n" + write_and_read("c"));
  Planner planner = planner_for(*a);
  const Plan best = planner.smallest(true);
  EXPECT_EQ(best.total_bytes, 256u);
  EXPECT_EQ(best.insertions.size(), 1u);
  const Plan fewer = planner.fewest_barriers(best, [](const Plan& p) { return p.total_bytes <= 384; });
  EXPECT_TRUE(fewer.insertions.empty());
  EXPECT_LE(fewer.total_bytes, 384u);
}

TEST(Plan, PairsThatNoBarrierCanPartInterfere) {
  const auto a = smaller_arrays(
      "setp.eq.u32 %p1, %n, 0;\n@%p1 bra SECOND;\nFIRST:\nst.shared.u32 [a], %t;\nld.shared.u32 %r1, [a];\nSECOND:\n"
      "st.shared.u32 [b], %t;\nld.shared.u32 %r1, [b];\nsetp.eq.u32 %p2, %n, 7;\n@%p2 bra FIRST;");
  Planner planner = planner_for(*a);
  EXPECT_TRUE(planner.interference().between(a->object("a"), a->object("b")));
  EXPECT_FALSE(planner.smallest(true).overlap[a->object("a")][a->object("b")]);
}

TEST(Plan, ThePoolHasTheLargestAlignment) {
  const auto a = analysed(kernel_around("\t.shared .align 128 .b8 a[256];\n\t.shared .align 4 .b8 b[128];\n" +
                                        write_and_read("a") + "bar.sync 0;\n" + write_and_read("b")));
  EXPECT_EQ(planner_for(*a).smallest(true).pool_alignment, 128u);
}

TEST(Plan, OverlapIsSymmetricAndOfBytes) {
  const auto a = smaller_arrays(write_and_read("a") + "bar.sync 0;\n" + write_and_read("b"));
  const Plan plan = planner_for(*a).smallest(true);
  EXPECT_TRUE(plan.overlap[a->object("a")][a->object("b")] && plan.overlap[a->object("b")][a->object("a")]);
  EXPECT_FALSE(plan.overlap[a->object("a")][a->object("a")]);
}

}  // namespace
}  // namespace warploom::reuse
