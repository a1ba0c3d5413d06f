#include "reuse/analysis/privacy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reuse/analysed_kernel.hpp"

namespace warploom::reuse {
namespace {

struct Proved {
  std::unique_ptr<AnalysedKernel> a;
  std::vector<DeadPoint> points;
  std::vector<NotPrivate> failures;

  bool is_private(std::string_view object, std::string_view header) const {
    const std::uint32_t o = a->object(object), at = a->kernel.cfg.blocks[a->block(header)].first;
    return std::any_of(points.begin(), points.end(),
                       [&](const DeadPoint& d) { return d.object == o && d.instruction == at; });
  }
  bool is_private(std::string_view object) const {
    const std::uint32_t o = a->object(object);
    return std::any_of(points.begin(), points.end(), [&](const DeadPoint& d) { return d.object == o; });
  }
  /// The first reason given against the object.
  std::string why_not(std::string_view object) const {
    const std::uint32_t o = a->object(object);
    for (const NotPrivate& f : failures)
      if (f.object == o) return f.reason.text;
    return "";
  }
};

Proved prove(std::string_view body, bool strict = false) {
  Proved p;
  p.a = analysed(
      kernel_around("\t.shared .align 4 .b8 a[256];\n\t.shared .align 4 .b8 b[256];\n" + std::string(body)),
      "k", strict);
  p.points = find_iteration_private(p.a->kernel, p.failures);
  return p;
}

/// A loop over %r1 < %n, tested at its end, around `body`; %r2 = a + 4 * t, %r3 = a + 4 * (t ^ 1).
std::string do_loop(std::string_view body, std::string_view before = "", std::string_view after = "") {
  return "mov.u32 %r2, a;\nxor.b32 %r4, %t, 1;\nmad.lo.u32 %r3, %r4, 4, %r2;\nadd.u32 %r2, %r2, %o;\n" +
         std::string(before) + "mov.u32 %r1, 0;\nLOOP:\n" + std::string(body) +
         "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p9, %r1, %n;\n@%p9 bra LOOP;\n" + std::string(after);
}
constexpr std::string_view kStore = "st.shared.u32 [%r2], %r1;\nbar.sync 0;\n";
constexpr std::string_view kLoad = "ld.shared.u32 %r5, [%r3];\nbar.sync 0;\n";
std::string both() { return std::string(kStore) + std::string(kLoad); }

TEST(Privacy, AnArrayStoredThenLoadedInEachIterationIsPrivate) {
  const Proved p = prove(do_loop(both()));
  EXPECT_TRUE(p.is_private("a"));
  EXPECT_THAT(p.failures, testing::IsEmpty());
}

TEST(Privacy, ALoopTestedAtItsHeadIsTheSame) {
  const Proved p = prove(
      "mov.u32 %r2, a;\nadd.u32 %r2, %r2, %o;\nmov.u32 %r1, 0;\nLOOP:\nsetp.ge.u32 %p1, %r1, %n;\n@%p1 bra END;\n" +
      std::string(kStore) + "ld.shared.u32 %r5, [%r2];\nadd.u32 %r1, %r1, 1;\nbra.uni LOOP;\nEND:\n");
  EXPECT_TRUE(p.is_private("a", "setp.ge"));
}

TEST(Privacy, StrictProvesNothing) { EXPECT_THAT(prove(do_loop(both()), true).points, testing::IsEmpty()); }

TEST(Privacy, CarriedByALoadBeforeTheStoreIsNot) {
  const Proved p = prove(
      do_loop("setp.eq.u32 %p1, %r1, 0;\n@%p1 bra FIRST;\nld.shared.u32 %r5, [%r3];\nFIRST:\nbar.sync 0;\n" +
              std::string(kStore)));
  EXPECT_FALSE(p.is_private("a"));
  EXPECT_EQ(p.why_not("a"), "a branch over its accesses depends on the iteration");
}

TEST(Privacy, CarriedByAPredicatedLoadIsNot) {
  const Proved p = prove(do_loop("setp.ne.u32 %p1, %r1, 0;\n@%p1 ld.shared.u32 %r5, [%r3];\nbar.sync 0;\n" +
                                 std::string(kStore)));
  EXPECT_EQ(p.why_not("a"), "the predicate of this access depends on the iteration");
}

TEST(Privacy, StoredOnlyInTheFirstIterationIsNot) {
  const Proved p = prove(
      do_loop("setp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.u32 [%r2], %t;\nbar.sync 0;\n" + std::string(kLoad)));
  EXPECT_FALSE(p.is_private("a"));
}

TEST(Privacy, ReadAfterTheLoopIsNot) {
  EXPECT_EQ(prove(do_loop(both(), "", "ld.shared.u32 %r6, [%r2];\n")).why_not("a"),
            "it is read after the loop");
}

TEST(Privacy, StoredAfterTheLoopIsPrivateAllTheSame) {
  EXPECT_TRUE(prove(do_loop(both(), "", "st.shared.u32 [%r2], 0;\n")).is_private("a"));
}

TEST(Privacy, StoredBeforeTheLoopIsNot) {
  EXPECT_EQ(prove(do_loop(both(), "st.shared.u32 [%r2], 0;\nbar.sync 0;\n")).why_not("a"),
            "it is stored before the loop");
}

TEST(Privacy, APeeledFirstIterationCountsAsAStoreBefore) {
  EXPECT_FALSE(prove(do_loop(both(), both())).is_private("a"));
}

TEST(Privacy, AnUnrolledLoopIsPrivate) { EXPECT_TRUE(prove(do_loop(both() + both())).is_private("a")); }

TEST(Privacy, AnAddressThatMovesWithTheIterationIsNot) {
  const Proved p =
      prove(do_loop("add.u32 %r6, %r2, %r1;\nst.shared.u32 [%r6], %t;\nbar.sync 0;\n" + std::string(kLoad)));
  EXPECT_EQ(p.why_not("a"), "this access depends on the iteration");
}

TEST(Privacy, APointerThatTheIterationAdvancesIsNot) {
  EXPECT_FALSE(prove(do_loop(both() + "add.u32 %r3, %r3, 4;\n")).is_private("a"));
}

TEST(Privacy, PointersThatSwapEachIterationAreNot) {
  const Proved p = prove(
      "mov.u32 %r2, a;\nmov.u32 %r3, b;\nmov.u32 %r1, 0;\nLOOP:\nst.shared.u32 [%r2], %t;\nbar.sync 0;\nld.shared.u32 %r5, [%r2];\n"
      "mov.u32 %r6, %r2;\nmov.u32 %r2, %r3;\nmov.u32 %r3, %r6;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, %n;\n@%p1 bra LOOP;\n");
  EXPECT_FALSE(p.is_private("a"));
  EXPECT_FALSE(p.is_private("b"));
}

TEST(Privacy, AnAddressReadFromMemoryIsNot) {
  EXPECT_FALSE(
      prove(
          do_loop(
              "ld.global.u32 %r6, [%data];\nadd.u32 %r7, %r2, %r6;\nst.shared.u32 [%r7], %t;\nbar.sync 0;\n" +
              std::string(kLoad)))
          .is_private("a"));
}

TEST(Privacy, AnAddressMadeWithTheCarryFlagIsNot) {
  const Proved p = prove(do_loop(
      "add.cc.u32 %r6, %r1, 4294967295;\naddc.u32 %r7, %r2, 0;\nst.shared.u32 [%r7], %t;\nbar.sync 0;\n" +
      std::string(kLoad)));
  EXPECT_FALSE(p.is_private("a"));
}

TEST(Privacy, AnAddressThatOnlyAnInnerLoopMovesIsPrivate) {
  const Proved p = prove(do_loop(
      "mov.u32 %r6, 0;\nINNER:\nadd.u32 %r7, %r2, %r6;\nst.shared.u32 [%r7], %t;\nadd.u32 %r6, %r6, 4;\n"
      "setp.lt.u32 %p2, %r6, 16;\n@%p2 bra INNER;\nbar.sync 0;\n" +
      std::string(kLoad)));
  EXPECT_TRUE(p.is_private("a", "LOOP") || p.is_private("a", "mov.u32 %r6, 0"));
}

TEST(Privacy, AnInnerLoopWhoseBoundIsTheOuterCounterIsNot) {
  const Proved p = prove(do_loop(
      "mov.u32 %r6, 0;\nINNER:\nadd.u32 %r7, %r2, %r6;\nst.shared.u32 [%r7], %t;\nadd.u32 %r6, %r6, 4;\n"
      "setp.lt.u32 %p2, %r6, %r1;\n@%p2 bra INNER;\nbar.sync 0;\n" +
      std::string(kLoad)));
  EXPECT_FALSE(p.is_private("a", "mov.u32 %r6, 0"));
}

TEST(Privacy, AValueLeftByAnInnerLoopOfChangingLengthIsNot) {
  const Proved p = prove(
      do_loop("mov.u32 %r6, 0;\nINNER:\nadd.u32 %r6, %r6, 4;\nsetp.lt.u32 %p2, %r6, %r1;\n@%p2 bra INNER;\n"
              "add.u32 %r7, %r2, %r6;\nst.shared.u32 [%r7], %t;\nbar.sync 0;\n" +
              std::string(kLoad)));
  EXPECT_FALSE(p.is_private("a"));
}

TEST(Privacy, ABranchOnAParameterOverItsAccessesIsPrivate) {
  const Proved p = prove(do_loop("setp.eq.u32 %p1, %n, 3;\n@%p1 bra SKIP;\n" + both() + "SKIP:\n"));
  EXPECT_TRUE(p.is_private("a"));
}

TEST(Privacy, AnEarlyEndOfAnIterationThatDependsOnItIsNot) {
  const Proved p = prove(do_loop("setp.eq.u32 %p1, %r1, 1;\n@%p1 bra NEXT;\n" + std::string(kStore) +
                                 "NEXT:\nbar.sync 0;\n" + std::string(kLoad)));
  EXPECT_FALSE(p.is_private("a"));
}

TEST(Privacy, AUniformBreakIsPrivate) {
  const Proved p = prove(do_loop(
      std::string(kStore) + "setp.eq.u32 %p1, %r1, 3;\n@%p1 bra END;\n" + std::string(kLoad), "", "END:\n"));
  EXPECT_TRUE(p.is_private("a"));
}

TEST(Privacy, ABreakByThreadIsNot) {
  const Proved p = prove(do_loop(
      "st.shared.u32 [%r2], %r1;\nld.shared.u32 %r5, [%r2];\nsetp.eq.u32 %p1, %t, %r1;\n@%p1 bra END;\n", "",
      "END:\n"));
  EXPECT_EQ(p.why_not("a"), "threads may leave the loop at different times");
}

TEST(Privacy, AReturnByThreadInTheLoopIsNot) {
  const Proved p =
      prove(do_loop(std::string(kStore) + "setp.eq.u32 %p1, %t, %r1;\n@%p1 ret;\n" + std::string(kLoad)));
  EXPECT_FALSE(p.is_private("a"));
}

TEST(Privacy, AUniformWayOutThatOnlySomeThreadsComeToIsNot) {
  // Threads 0 to 15 are gone from iteration 3 on; what they stored last is still read.
  const Proved p = prove(do_loop(
      std::string(kStore) +
          "setp.gt.u32 %p1, %t, 15;\n@%p1 bra STAY;\nsetp.eq.u32 %p2, %r1, 3;\n@%p2 bra END;\nSTAY:\n" +
          std::string(kLoad),
      "", "END:\n"));
  EXPECT_EQ(p.why_not("a"), "threads may leave the loop at different times");
}

TEST(Privacy, ABreakOnDataThatABarrierProvesUniformIsPrivate) {
  const Proved p = prove(
      do_loop(std::string(kStore) + "ld.global.u32 %r6, [%data];\nsetp.eq.u32 %p1, %r6, 3;\n@%p1 bra END;\n" +
                  std::string(kLoad),
              "", "END:\nbar.sync 0;\nst.shared.u32 [b], 0;\n"));
  EXPECT_TRUE(p.is_private("a"));
}

TEST(Privacy, ABreakOnDataToWhereNoBarrierFollowsIsNot) {
  const Proved p = prove(
      do_loop(std::string(kStore) + "ld.global.u32 %r6, [%data];\nsetp.eq.u32 %p1, %r6, 3;\n@%p1 bra END;\n" +
                  std::string(kLoad),
              "", "END:\n"));
  EXPECT_EQ(p.why_not("a"), "threads may leave the loop at different times");
}

TEST(Privacy, ALoopThatOnlySomeThreadsEnterIsNot) {
  const Proved p = prove(
      "setp.gt.u32 %p1, %t, 15;\n@%p1 bra END;\n" +
      do_loop("st.shared.u32 [%r2], %r1;\nld.shared.u32 %r5, [%r2];\n", "", "END:\nst.shared.u32 [b], 0;\n"));
  EXPECT_EQ(p.why_not("a"), "not all threads enter the loop together");
}

TEST(Privacy, ALoopThatTheOthersHaveLeftTheKernelBeforeIsPrivate) {
  const Proved p = prove("setp.gt.u32 %p1, %t, 15;\n@%p1 bra END;\n" + do_loop(both(), "", "END:\n"));
  EXPECT_TRUE(p.is_private("a"));
}

TEST(Privacy, OfNestedLoopsTheOuterHeadCounts) {
  const std::string inner = "mov.u32 %r20, 0;\nINNER:\n" + both() +
                            "add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p2, %r20, 4;\n@%p2 bra INNER;\n";
  const Proved p = prove(do_loop(inner));
  EXPECT_TRUE(p.is_private("a", "mov.u32 %r20, 0"));
  EXPECT_TRUE(p.is_private("a", "st.shared.u32 [%r2]"));
}

TEST(Privacy, AnAddressThatTheOuterLoopMovesIsPrivateToNeither) {
  // In the second round of the outer loop the inner one may read what the first round left.
  const std::string inner =
      "mad.lo.u32 %r21, %r1, 4, %r2;\nmov.u32 %r20, 0;\nINNER:\nst.shared.u32 [%r21], %t;\nbar.sync 0;\n" +
      std::string(kLoad) + "add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p2, %r20, 4;\n@%p2 bra INNER;\n";
  EXPECT_THAT(prove(do_loop(inner)).points, testing::IsEmpty());
}

TEST(Privacy, SpeculatedLoadOfACarriedScalarIsNot) {
  // nvcc 13 for `x = k > 0 ? s : 1.0f`, s carried: the load has lost its condition.
  const Proved p = prove(
      do_loop("ld.shared.u32 %r5, [a];\nsetp.eq.u32 %p1, %r1, 0;\nselp.b32 %r6, 1, %r5, %p1;\nbar.sync 0;\n"
              "setp.ne.u32 %p2, %t, 0;\n@%p2 bra SKIP;\nst.shared.u32 [a], %r6;\nSKIP:\nbar.sync 0;\n"));
  EXPECT_EQ(p.why_not("a"), "no store need come before this load in the first iteration");
}

TEST(Privacy, SpeculatedLoadOfAnElementThatIsNotTheOneStoredIsNot) {
  const Proved p =
      prove(do_loop("st.shared.u32 [a+4], %r1;\nbar.sync 0;\nld.shared.u32 %r5, [a];\nld.shared.u32 %r6, "
                    "[a+4];\nbar.sync 0;\nst.shared.u32 [a], %r5;\nbar.sync 0;\n"));
  EXPECT_FALSE(p.is_private("a"));
}

TEST(Privacy, SpeculatedLoadAfterAStoreOnOneUniformArmIsNot) {
  const Proved p = prove(do_loop(
      "setp.eq.u32 %p1, %n, 4;\n@%p1 bra SKIP;\nst.shared.u32 [a], %r1;\nSKIP:\nbar.sync 0;\nld.shared.u32 %r5, [a];\n"
      "bar.sync 0;\n@!%p1 bra OVER;\nst.shared.u32 [a], 7;\nOVER:\nbar.sync 0;\n"));
  EXPECT_FALSE(p.is_private("a"));
}

TEST(Privacy, SpeculatedLoadAfterAStoreUnderAUniformGuardIsNot) {
  const Proved p = prove(
      do_loop("setp.gt.u32 %p1, %n, 7;\n@%p1 st.shared.u32 [a], %r1;\nbar.sync 0;\nld.shared.u32 %r5, [a];\n"
              "bar.sync 0;\nst.shared.u32 [a], %r1;\nbar.sync 0;\n"));
  EXPECT_FALSE(p.is_private("a"));
}

TEST(Privacy, SpeculatedLoadAfterAStoreOnAUniformArmInsideADivergentOneIsNot) {
  const Proved p =
      prove(do_loop("setp.ne.u32 %p2, %t, 0;\n@%p2 bra SKIP;\nsetp.gt.u32 %p1, %n, 7;\n@%p1 bra SKIP;\n"
                    "st.shared.u32 [a], %r1;\nSKIP:\nbar.sync 0;\nld.shared.u32 %r5, [a];\nbar.sync 0;\n"
                    "@%p2 bra OVER;\nst.shared.u32 [a], 7;\nOVER:\nbar.sync 0;\n"));
  EXPECT_FALSE(p.is_private("a"));
}

TEST(Privacy, SpeculatedLoadThroughARegisterIsNot) {
  const Proved p =
      prove(do_loop("mov.u32 %r10, a;\nmov.u32 %r11, b;\nsetp.eq.u32 %p3, %n, 4;\nselp.b32 %r12, %r10, %r11, "
                    "%p3;\nld.shared.u32 %r5, [%r12+4];\nbar.sync 0;\n"
                    "st.shared.u32 [a+4], %t;\nst.shared.u32 [b+4], %t;\nbar.sync 0;\n"));
  EXPECT_FALSE(p.is_private("a"));
  EXPECT_FALSE(p.is_private("b"));
}

TEST(Privacy, SpeculatedLoadAtAnAddressThatArithmeticOnNumbersGivesIsNot) {
  const Proved p = prove(do_loop(
      "setp.gt.u32 %p1, %n, 7;\n@%p1 st.shared.u32 [a+8], %r1;\nbar.sync 0;\nmov.u32 %r11, 2;\nmov.u32 %r12, "
      "a;\nmad.lo.u32 %r12, %r11, 4, %r12;\nld.shared.u32 %r5, [%r12];\nbar.sync 0;\nst.shared.u32 [%r12], %r1;\nbar.sync 0;\n"));
  EXPECT_FALSE(p.is_private("a"));
}

TEST(Privacy, SpeculatedLoadBesideAStoreWhoseAddressIsMadeWithOrIsNot) {
  const Proved p =
      prove(do_loop("mov.u32 %r12, a;\nor.b32 %r12, %r12, 4;\nst.shared.u32 [%r12], %r1;\nbar.sync "
                    "0;\nld.shared.u32 %r5, [a];\nbar.sync 0;\nst.shared.u32 [a], %r1;\nbar.sync 0;\n"));
  EXPECT_FALSE(p.is_private("a"));
}

TEST(Privacy, AScalarThatOneThreadStoresFirstIsPrivate) {
  const Proved p = prove(do_loop(
      "setp.ne.u32 %p2, %t, 0;\n@%p2 bra SKIP;\nst.shared.u32 [a], %r1;\nSKIP:\nbar.sync 0;\nld.shared.u32 %r5, [a];\nbar.sync 0;\n"));
  EXPECT_TRUE(p.is_private("a"));
}

TEST(Privacy, AVectorLoadOfElementsStoredOneByOneIsPrivate) {
  const Proved p = prove(do_loop(
      "st.shared.u32 [a], %r1;\nst.shared.u32 [a+4], %r1;\nbar.sync 0;\nld.shared.v2.u32 {%r5, %r6}, [a];\nbar.sync 0;\n"));
  EXPECT_TRUE(p.is_private("a"));
}

TEST(Privacy, AVectorLoadWithOneElementCarriedIsNot) {
  const Proved p = prove(do_loop(
      "st.shared.u32 [a], %r1;\nbar.sync 0;\nld.shared.v2.u32 {%r5, %r6}, [a];\nbar.sync 0;\nst.shared.u32 [a+4], %r1;\n"));
  EXPECT_FALSE(p.is_private("a"));
}

TEST(Privacy, APinnedObjectIsNotAsked) {
  const Proved p = prove("mov.u64 %rd1, a;\nst.global.u64 [%out], %rd1;\n" + do_loop(both()));
  EXPECT_FALSE(p.is_private("a"));
}

TEST(Privacy, AGraphThatIsNotReducibleProvesNothing) {
  const Proved p = prove(
      "mov.u32 %r2, a;\nsetp.eq.u32 %p1, %n, 0;\n@%p1 bra SECOND;\nFIRST:\nst.shared.u32 [%r2], %t;\nbar.sync 0;\n"
      "SECOND:\nld.shared.u32 %r5, [%r2];\nbar.sync 0;\nsetp.eq.u32 %p2, %n, 7;\n@%p2 bra FIRST;\n");
  EXPECT_FALSE(p.a->kernel.cfg.reducible);
  EXPECT_THAT(p.points, testing::IsEmpty());
}

TEST(Privacy, AClockInTheAddressIsNot) {
  EXPECT_FALSE(
      prove(
          do_loop(
              "mov.u32 %r6, %clock;\nand.b32 %r6, %r6, 4;\nadd.u32 %r7, %r2, %r6;\nst.shared.u32 [%r7], %t;\nbar.sync 0;\n" +
              std::string(kLoad)))
          .is_private("a"));
}

TEST(Privacy, AnObjectReachedThroughAPointerThatPicksByIterationIsNot) {
  const Proved p = prove(do_loop(
      "mov.u32 %r10, b;\nsetp.eq.u32 %p3, %r1, 0;\nselp.b32 %r11, %r2, %r10, %p3;\nst.shared.u32 [%r11], %t;\nbar.sync 0;\n" +
      std::string(kLoad)));
  EXPECT_FALSE(p.is_private("a"));
}

}  // namespace
}  // namespace warploom::reuse
