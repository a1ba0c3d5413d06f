#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "reuse/check_case.hpp"
#include "warploom/core/error.hpp"

namespace warploom::reuse {
namespace {

using namespace check_case;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Check, AcceptsStraightLineReuseWithBarrier) {
  const CheckResult result = run(kStraight);
  EXPECT_THAT(result, Accepted());
  EXPECT_THAT(result.certificate, Contains(HasSubstr("arrA / arrB")));
  EXPECT_THAT(result.certificate, Contains(HasSubstr("(added)")));
}

TEST(Check, ThrowsOnMalformedText) {
  const std::string good = Module{}.text(kStraight, false);
  EXPECT_THROW(check("nonsense", good), ParseError);
  EXPECT_THROW(check(good, good.substr(0, good.size() - 3)), ParseError);
}

TEST(Check, RejectsMissingBarrier) {
  EXPECT_THAT(run(kUseA + kUseB + kUseOut), RejectedFor("no barrier lies"));
}

// --- lives ------------------------------------------------------------------------------------------------

TEST(Check, AcceptsNeighboursWithoutBarriers) {
  EXPECT_THAT(run(kUseA + kUseB,
                  {.pool = ".shared .align 16 .b8 pool[2048];", .offsets = {{"arrA", 0}, {"arrB", 1024}}}),
              Accepted());
}

TEST(Check, RejectsOverlapWithALiveNeighbour) {
  EXPECT_THAT(run(kUseA + "ADD\n" + kUseB + "ADD\nld.shared.f32 %f5, [%r20];\n",
                  {.pool = ".shared .align 16 .b8 pool[2048];", .offsets = {{"arrA", 0}, {"arrB", 1008}}}),
              RejectedFor("the load from 'arrA' may find data of 'arrB'"));
}

TEST(Check, AcceptsAFillThatIsReadAfterAnother) {  // B first, then A: nothing of A was stored before
  EXPECT_THAT(run(kUseB + "ADD\n" + kUseA), Accepted());
}

TEST(Check, GuardedStoreDoesNotKill) {
  EXPECT_THAT(run(kUseA + "ADD\n" + kUseB +
                      "ADD\n@%p1 st.shared.f32 [%r20], %f1;\nbar.sync 0;\nld.shared.f32 %f2, [%r20];\n",
                  {.directives = ".reqntid 256, 1, 1"}),
              RejectedFor("the load from 'arrA'"));
}

TEST(Check, RefillOfEveryByteKillsForAKnownBlock) {
  const std::string body =
      kUseA + "ADD\n" + kUseB + "ADD\nst.shared.f32 [%r20], %f1;\nbar.sync 0;\nld.shared.f32 %f2, [%r20];\n";
  const CheckResult result = run(body, {.directives = ".reqntid 256, 1, 1"});
  EXPECT_THAT(result, Accepted());
  EXPECT_THAT(result.certificate, Contains(HasSubstr("256 x 1 x 1 threads")));
  EXPECT_THAT(run(body), RejectedFor("the load from 'arrA'"));  // block size not known
}

TEST(Check, RefillByAStridedLoopKills) {
  const std::string fill =
      "mov.u32 %r30, %r2;\nFILL:\nshl.b32 %r31, %r30, 2;\nadd.s32 %r32, %r10, %r31;\nst.shared.f32 [%r32], %f1;\n"
      "add.s32 %r30, %r30, %ntid.x;\nsetp.lt.u32 %p5, %r30, LIMIT;\n@%p5 bra FILL;\nbar.sync 0;\n"
      "sub.s32 %r33, 255, %r2;\nshl.b32 %r34, %r33, 2;\nadd.s32 %r35, %r10, %r34;\nld.shared.f32 %f2, [%r35];\n";
  const std::string head = kUseA + "ADD\n" + kUseB + "ADD\n";
  const Module m{.directives = ".reqntid 64, 1, 1"};
  EXPECT_THAT(run(head + std::regex_replace(fill, std::regex("LIMIT"), "256"), m), Accepted());
  EXPECT_THAT(run(head + std::regex_replace(fill, std::regex("LIMIT"), "192"), m),
              RejectedFor("the load from 'arrA'"));
}

TEST(Check, UnderStrictWhatWasThereBeforeTheKernelIsUndefinedToo) {
  CheckOptions strict;
  strict.strict = true;
  EXPECT_THAT(run(kStraight, {}, strict), Accepted());  // loads a byte that no store may have written
  const std::string own =
      "st.shared.f32 [%r20], %f1;\nld.shared.f32 %f2, [%r20];\nADD\n"
      "st.shared.f32 [%r21], %f2;\nld.shared.f32 %f3, [%r21];\n";
  EXPECT_THAT(run(own, {.directives = ".reqntid 128, 1, 1"}, strict), Accepted());
}

TEST(Check, AStatedDeadPointEndsALife) {
  const std::string marker = "{\n.reg .b32 warploom_dead;\nmov.b32 warploom_dead, %r10;\n}\n";
  const std::string rest =
      "ADD\n" + kUseB + "ADD\nst.shared.f32 [%r20], %f1;\nbar.sync 0;\nld.shared.f32 %f2, [%r20];\n";
  EXPECT_THAT(run(kUseA + rest), Not(Accepted()));
  const CheckResult result = run(kUseA + marker + rest);
  EXPECT_THAT(result, Accepted());
  EXPECT_THAT(result.certificate, Contains(HasSubstr("stated to be dead at line")));
}

// --- loops ------------------------------------------------------------------------------------------------

/// for (i = 0; i < n; ++i) { body }
std::string loop(const std::string& body) {
  return "mov.u32 %r4, 0;\nTOP:\n" + body +
         "add.s32 %r4, %r4, 1;\nsetp.lt.u32 %p3, %r4, %r3;\n@%p3 bra TOP;\n";
}

TEST(Check, AcceptsArraysPrivateToAnIteration) {
  const CheckResult result = run(loop(kUseA + "ADD\n" + kUseB + "ADD\n"));
  EXPECT_THAT(result, Accepted());
  EXPECT_THAT(result.certificate, Contains(HasSubstr("private to each iteration")));
  EXPECT_THAT(result.certificate, Contains(HasSubstr("no uninitialised shared memory")));
}

TEST(Check, RejectsWriteAfterReadRoundTheBackEdge) {  // the next iteration stores A while others still load B
  EXPECT_THAT(run(loop(kUseA + "ADD\n" + kUseB)), RejectedFor("no barrier lies"));
}

TEST(Check, RejectsArrayCarriedRoundALoop) {
  EXPECT_THAT(run("st.shared.f32 [%r20], %f1;\nbar.sync 0;\n" +
                  loop("ld.shared.f32 %f2, [%r20];\nADD\n" + kUseB + "ADD\n")),
              RejectedFor("the load from 'arrA'"));
}

TEST(Check, RejectsAddressThatDependsOnTheIteration) {
  EXPECT_THAT(
      run(loop("shl.b32 %r40, %r4, 2;\nadd.s32 %r41, %r20, %r40;\nst.shared.f32 [%r41], %f1;\nbar.sync 0;\n"
               "ld.shared.f32 %f2, [%r20];\nADD\n" +
               kUseB + "ADD\n")),
      RejectedFor("the load from 'arrA'"));
}

TEST(Check, RejectsGuardThatDependsOnTheIteration) {
  EXPECT_THAT(
      run(loop(
          "setp.eq.u32 %p6, %r4, 0;\n@%p6 st.shared.f32 [%r20], %f1;\nbar.sync 0;\nld.shared.f32 %f2, [%r20];\nADD\n" +
          kUseB + "ADD\n")),
      RejectedFor("the load from 'arrA'"));
}

TEST(Check,
     RejectsThreadsLeavingFromInsideTheLoop) {  // who stays may read what the gone left an iteration before
  EXPECT_THAT(run(loop("add.s32 %r40, %r4, %r2;\nsetp.gt.u32 %p6, %r40, %r3;\n@%p6 bra OUT;\n" + kUseA +
                       "ADD\n" + kUseB + "ADD\n") +
                  "OUT:\n"),
              Not(Accepted()));
}

TEST(Check, RejectsThreadsLeavingTheLoopByAGuardedReturn) {
  EXPECT_THAT(run(loop("add.s32 %r40, %r4, %r2;\nsetp.gt.u32 %p6, %r40, %r3;\n@%p6 ret;\n" + kUseA + "ADD\n" +
                       kUseB + "ADD\n")),
              RejectedFor("the load from"));
}

TEST(Check, ThreadsThatMayHaveLeftCoverNothing) {
  const std::string body =
      kUseA + "ADD\n" + kUseB +
      "ADD\nLEAVE\nst.shared.f32 [%r20], %f1;\nbar.sync 0;\nld.shared.f32 %f2, [%r10];\n";
  const Module m{.directives = ".reqntid 256, 1, 1"};
  EXPECT_THAT(run(std::regex_replace(body, std::regex("LEAVE"), ""), m), Accepted());
  EXPECT_THAT(run(std::regex_replace(body, std::regex("LEAVE"), "setp.ge.u32 %p5, %r2, %r3;\n@%p5 ret;"), m),
              RejectedFor("the load from 'arrA'"));
}

TEST(Check, AcceptsInnerLoopOverThePrivateArray) {
  EXPECT_THAT(
      run(loop(
          "st.shared.f32 [%r20], %f1;\nbar.sync 0;\nmov.u32 %r30, 0;\nmov.u32 %r31, %r10;\nIN:\nld.shared.f32 %f2, [%r31];\n"
          "add.s32 %r31, %r31, 4;\nadd.s32 %r30, %r30, 1;\nsetp.lt.u32 %p5, %r30, 16;\n@%p5 bra IN;\nADD\n" +
          kUseB + "ADD\n")),
      Accepted());
}

TEST(Check, RejectsInnerLoopWhoseLengthDependsOnTheIteration) {
  EXPECT_THAT(
      run(loop(
          "st.shared.f32 [%r20], %f1;\nbar.sync 0;\nmov.u32 %r30, 0;\nmov.u32 %r31, %r10;\nIN:\nld.shared.f32 %f2, [%r31];\n"
          "add.s32 %r31, %r31, 4;\nadd.s32 %r30, %r30, 1;\nsetp.le.u32 %p5, %r30, %r4;\n@%p5 bra IN;\nADD\n" +
          kUseB + "ADD\n")),
      RejectedFor("the load from 'arrA'"));
}

TEST(Check, RejectsPrivacyToAnInnerLoopThatAnOuterLoopBreaks) {
  const std::string inner =
      "mov.u32 %r50, 0;\nINNER:\nshl.b32 %r40, %r4, 2;\nadd.s32 %r41, %r20, %r40;\nst.shared.f32 [%r41], %f1;\nbar.sync 0;\n"
      "ld.shared.f32 %f2, [%r20];\nADD\n" +
      kUseB + "ADD\nadd.s32 %r50, %r50, 1;\nsetp.lt.u32 %p7, %r50, %r3;\n@%p7 bra INNER;\n";
  EXPECT_THAT(run(loop(inner)), RejectedFor("the load from 'arrA'"));
}

TEST(Check,
     CoversAnIterationForAKnownBlock) {  // the guard n - i > tid varies, the store before it covers all
  const std::string body = loop(
      "add.s32 %r40, %r4, %r2;\nand.b32 %r42, %r40, 255;\nshl.b32 %r41, %r42, 2;\nadd.s32 %r43, %r10, %r41;\n"
      "st.shared.f32 [%r20], %f1;\nbar.sync 0;\nld.shared.f32 %f2, [%r43];\nADD\n" +
      kUseB + "ADD\n");
  EXPECT_THAT(run(body, {.directives = ".reqntid 256, 1, 1"}), Accepted());
  EXPECT_THAT(run(body, {.directives = ".reqntid 255, 1, 1"}), RejectedFor("the load from 'arrA'"));
}

TEST(Check, RejectsBarrierInASpinLoop) {
  EXPECT_THAT(
      run(kUseA + "ADD\n" + kUseB +
          "SPIN:\nld.volatile.global.u32 %r30, [%rd1];\nADD\nsetp.eq.u32 %p5, %r30, 0;\nbar.sync 0;\n@%p5 bra SPIN;\n"),
      RejectedFor("waits for another thread"));
}

// --- divergence -------------------------------------------------------------------------------------------

TEST(Check, RejectsBarrierInADivergentBranch) {
  EXPECT_THAT(run(kUseA + "@%p1 bra SKIP;\nADD\nSKIP:\nADD\n" + kUseB),
              RejectedFor("threads may have parted"));
}

TEST(Check, RejectsBarrierUnderALoadedBranch) {
  EXPECT_THAT(
      run(kUseA +
          "ld.global.u32 %r30, [%rd1];\nsetp.eq.u32 %p5, %r30, 0;\n@%p5 bra SKIP;\nADD\nSKIP:\nADD\n" +
          kUseB),
      RejectedFor("threads may have parted"));
}

TEST(Check, RejectsBarrierUnderAValueMergedAtADivergentJoin) {
  EXPECT_THAT(
      run(kUseA +
          "mov.u32 %r30, 0;\n@%p1 bra ELSE;\nmov.u32 %r30, 1;\nELSE:\nsetp.eq.u32 %p5, %r30, 0;\n@%p5 bra SKIP;\nADD\nSKIP:\nADD\n" +
          kUseB),
      RejectedFor("threads may have parted"));
}

TEST(Check, AcceptsBarrierUnderAUniformBranch) {
  EXPECT_THAT(run(kUseA + "@%p2 bra SKIP;\nADD\n" + kUseB + "SKIP:\n"), Accepted());
}

TEST(Check, RejectsArmsOfADivergentBranch) {
  EXPECT_THAT(
      run("@%p1 bra ELSE;\nst.shared.f32 [%r20], %f1;\nld.shared.f32 %f2, [%r20];\nbra END;\nELSE:\nst.shared.f32 [%r21], %f1;\n"
          "ld.shared.f32 %f2, [%r21];\nEND:\n"),
      RejectedFor("threads may part"));
}

TEST(Check, AcceptsArmsOfAUniformBranch) {
  EXPECT_THAT(run("@%p2 bra ELSE;\n" + kUseA + "bra END;\nELSE:\n" + kUseB + "END:\n"), Accepted());
}

TEST(Check, RejectsABranchOnTheThreadIndexOverABarrierOfTheInput) {
  EXPECT_THAT(run("@%p1 bra SKIP;\nbar.sync 0;\nSKIP:\n" + kStraight), RejectedFor("decides over a barrier"));
}

TEST(Check, AssumesThatALoadedBranchOverABarrierIsUniform) {
  const CheckResult result = run("ld.global.u32 %r30, [%rd1];\nsetp.eq.u32 %p5, %r30, 0;\n@%p5 bra SKIP;\n" +
                                 kStraight + "SKIP:\nbar.sync 0;\n");
  EXPECT_THAT(result, Accepted());
  EXPECT_THAT(result.certificate, Contains(HasSubstr("all threads take it alike")));
}

TEST(Check, RejectsAStoreByThreadsThatThenLeave) {
  EXPECT_THAT(
      run("ld.global.u32 %r30, [%rd1];\nsetp.eq.u32 %p5, %r30, 0;\n@%p5 bra GO;\nst.shared.f32 [%r20], %f1;\nret;\nGO:\nbar.sync 0;\n" +
          kUseB + "bar.sync 0;\nld.shared.f32 %f2, [%r20];\n"),
      RejectedFor("threads may part"));
}

TEST(Check, EarlyExitIsHarmlessFromSm70On) {
  const std::string body = "setp.ge.u32 %p5, %r2, %r3;\n@%p5 bra OUT;\n" + kStraight + "OUT:\n";
  EXPECT_THAT(run(body), Accepted());
  EXPECT_THAT(run(body, {.target = "sm_60"}), RejectedFor("before sm_70"));
}

TEST(Check, GuardedReturnIsAnEarlyExitToo) {
  const std::string body = "setp.ge.u32 %p5, %r2, %r3;\n@%p5 ret;\n" + kStraight;
  EXPECT_THAT(run(body), Accepted());
  EXPECT_THAT(run(body, {.target = "sm_60"}), RejectedFor("before sm_70"));
}

TEST(Check, RejectsBarriersAddedBesideNamedOnes) {
  EXPECT_THAT(run(kStraight + "bar.sync 1, 64;\n"), RejectedFor("not for the whole block"));
}

TEST(Check, WarpBarrierSeparatesNothing) {
  EXPECT_THAT(run("st.shared.f32 [%r20], %f1;\nld.shared.f32 %f2, [%r20];\nbar.warp.sync -1;\n" + kUseB),
              RejectedFor("no barrier lies"));
}

TEST(Check, BarrierWithReductionSeparates) {
  EXPECT_THAT(
      run("st.shared.f32 [%r20], %f1;\nld.shared.f32 %f2, [%r20];\nbar.red.popc.u32 %r30, 0, %p1;\n" + kUseB),
      Accepted());
}

TEST(Check, RejectsBarrierBesideAnUnknownCall) {
  EXPECT_THAT(run(kStraight + "call f;\n", {.scope = ".extern .func f;\n"}),
              RejectedFor("may execute barriers"));
}

// --- provenance -------------------------------------------------------------------------------------------

TEST(Check, RejectsEscapeByStore) {
  EXPECT_THAT(run(kStraight + "st.global.u32 [%rd1], %r20;\n"),
              RejectedFor("'arrA' overlaps other objects, but escapes"));
}

TEST(Check, RejectsEscapeByCall) {
  EXPECT_THAT(run(kStraight + "{\n.param .b32 p0;\nst.param.b32 [p0], %r21;\ncall f, (p0);\n}\n",
                  {.scope = ".extern .func f(.param .b32 a);\n"}),
              RejectedFor("'arrB' overlaps other objects, but escapes"));
}

TEST(Check, RejectsEscapeByUnknownInstruction) {
  EXPECT_THAT(run(kStraight + "frobnicate.b32 %r30, %r20;\n"), RejectedFor("escapes"));
  EXPECT_THAT(run(kStraight + "fly.away %r2;\n"), RejectedFor("'fly.away' is not modelled"));
}

TEST(Check, RejectsComparisonOfAddresses) {
  EXPECT_THAT(run(kStraight + "setp.lt.u32 %p5, %r20, %r21;\n"), RejectedFor("meet in one value"));
  EXPECT_THAT(run(kStraight + "sub.s32 %r30, %r20, %r21;\n"), RejectedFor("meet in one value"));
}

TEST(Check, AcceptsComparisonOfAddressesInOneObject) {
  EXPECT_THAT(run(kStraight + "setp.lt.u32 %p5, %r20, %r10;\n"), Accepted());
}

TEST(Check, FollowsASelectionOfTwoArrays) {  // the pointer is A or B; so its store meets both
  EXPECT_THAT(
      run(kUseA + "ADD\n" + kUseB + "ADD\nselp.b32 %r30, %r20, %r22, %p2;\nld.shared.f32 %f4, [%r30];\n"),
      RejectedFor("the load from 'arrA'"));
  EXPECT_THAT(run("selp.b32 %r30, %r20, %r21, %p2;\nst.shared.f32 [%r30], %f1;\n"),
              RejectedFor("no barrier lies"));
}

TEST(Check, FollowsARegisterMergedFromTwoArrays) {
  EXPECT_THAT(
      run(kUseA + "ADD\n" + kUseB +
          "ADD\nmov.u32 %r30, %r22;\n@%p2 bra L;\nmov.u32 %r30, %r20;\nL:\nld.shared.f32 %f4, [%r30];\n"),
      RejectedFor("the load from 'arrA'"));
}

TEST(Check, TellsUsesOfOneRegisterApart) {  // %r30 points into A first, later into C
  EXPECT_THAT(run("mov.u32 %r30, %r20;\nst.shared.f32 [%r30], %f1;\nld.shared.f32 %f2, [%r30];\nADD\n" +
                  kUseB + "mov.u32 %r30, %r22;\nld.shared.f32 %f4, [%r30];\n"),
              Accepted());
}

TEST(Check, FollowsGenericAddresses) {
  EXPECT_THAT(run(kUseA + "ADD\n" + kUseB +
                  "ADD\ncvt.u64.u32 %rd2, %r20;\ncvta.shared.u64 %rd3, %rd2;\nld.f32 %f4, [%rd3];\n"),
              RejectedFor("the load from 'arrA'"));
  EXPECT_THAT(run(kStraight + "ld.f32 %f4, [%rd1];\n"), Accepted());  // neither object escapes
}

TEST(Check, RejectsSharedAccessOfUnknownOrigin) {
  EXPECT_THAT(run(kStraight + "ld.shared.f32 %f4, [%r3];\n"), RejectedFor("no object is known"));
}

TEST(Check, AtomicsCountAsStores) {
  EXPECT_THAT(run(kUseA + "ADD\nred.shared.add.u32 [%r21], 1;\nADD\nld.shared.f32 %f4, [%r20];\n"),
              RejectedFor("the load from 'arrA'"));
}

TEST(Check, ACopyMayLandUntilItsWait) {
  const std::string copy = "cp.async.ca.shared.global [%r20], [%rd1], 4;\ncp.async.commit_group;\n";
  const std::string wait = "cp.async.wait_group 0;\n",
                    use = "bar.sync 0;\nld.shared.f32 %f2, [%r20+4];\nADD\n";
  EXPECT_THAT(run(copy + wait + use + kUseB + kUseOut), Accepted());
  // The other object comes into use too early, in another thread's time, or after the wrong wait.
  EXPECT_THAT(run(copy + kUseB + "ADD\n" + wait + use), RejectedFor("no wait ends it"));
  EXPECT_THAT(run(copy + wait + kUseB), RejectedFor("no barrier lies on a path"));
  EXPECT_THAT(run(copy + "cp.async.wait_group 1;\n" + use + kUseB + wait), RejectedFor("no wait ends it"));
  EXPECT_THAT(run(copy + "@%p2 cp.async.wait_group 0;\n" + use + kUseB + wait),
              RejectedFor("no wait ends it"));
  EXPECT_THAT(run(copy + "cp.async.bulk.wait_group 0;\n" + use + kUseB + wait),
              RejectedFor("no wait ends it"));
  EXPECT_THAT(run(copy + "@%p2 bra L;\n" + wait + "L:\nbar.sync 0;\n" + kUseB),
              RejectedFor("no wait ends it"));
  // A group that another followed.
  EXPECT_THAT(run(copy + "cp.async.commit_group;\ncp.async.wait_group 1;\n" + use + kUseB), Accepted());
  EXPECT_THAT(run(copy + "@%p2 cp.async.commit_group;\ncp.async.wait_group 1;\n" + use + kUseB),
              RejectedFor("no wait ends it"));
  // What is not committed only wait_all waits for.
  const std::string open = "cp.async.ca.shared.global [%r20], [%rd1], 4;\n";
  EXPECT_THAT(run(open + wait + use + kUseB), RejectedFor("no wait ends it"));
  EXPECT_THAT(run(open + "cp.async.wait_all;\n" + use + kUseB), Accepted());
}

TEST(Check, AThreadThatLeavesDoesNotWait) {
  const std::string copy = "cp.async.ca.shared.global [%r20], [%rd1], 4;\n";
  EXPECT_THAT(run(kUseB + "ADD\n" + copy), RejectedFor("a thread may leave"));
  EXPECT_THAT(run(copy + "@%p1 ret;\ncp.async.wait_all;\nbar.sync 0;\n" + kUseB),
              RejectedFor("a thread may leave"));
  EXPECT_THAT(run(kUseB + "ADD\n" + copy + "cp.async.wait_all;\n"), Accepted());
}

TEST(Check, ABulkCopyReadsUntilItsWait) {
  const std::string copy =
      "st.shared.f32 [%r20], %f1;\nbar.sync 0;\ncp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r10], 64;\n"
      "cp.async.bulk.commit_group;\n";
  const Module aligned;
  EXPECT_THAT(run(copy + "cp.async.bulk.wait_group.read 0;\nbar.sync 0;\n" + kUseB + kUseOut, aligned),
              Accepted());
  EXPECT_THAT(run(copy + "bar.sync 0;\n" + kUseB + "cp.async.bulk.wait_group.read 0;\n", aligned),
              RejectedFor("no wait ends it"));
}

TEST(Check, AProductReadsItsTilesUntilItsWait) {
  const std::string product =
      "st.shared.f32 [%r20], %f1;\nbar.sync 0;\ncvt.u64.u32 %rd5, %r10;\nshr.u64 %rd5, %rd5, 4;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f4,%f5,%f6,%f7}, %rd5, %rd5, 1, 1, 1, 0, 0;\n"
      "wgmma.commit_group.sync.aligned;\n";
  const Module aligned{.target = "sm_90a", .pool = ".shared .align 1024 .b8 pool[1024];"};
  EXPECT_THAT(run(product + "wgmma.wait_group.sync.aligned 0;\nbar.sync 0;\n" + kUseB, aligned), Accepted());
  EXPECT_THAT(run(product + "wgmma.wait_group.sync.aligned 1;\nbar.sync 0;\n" + kUseB, aligned),
              RejectedFor("no wait ends it"));
  EXPECT_THAT(run(product + "wgmma.wait_group.sync.aligned 0;\nbar.sync 0;\n" + kUseB, {.target = "sm_90a"}),
              RejectedFor("not to 1024"));
}

TEST(Check, BulkCopiesWithoutAnMbarrierOfTheirOwnKeepTheirPlace) {
  const std::string copy = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes ";
  EXPECT_THAT(run(kStraight + copy + "[%r10], [%rd1], 64, [arrA+64];\n"), RejectedFor("escapes"));
  EXPECT_THAT(run(kStraight + copy + "[arrC], [%rd1], 64, [arrB];\n"), RejectedFor("escapes"));
  EXPECT_THAT(run(kStraight + copy + "[arrC], [%rd1], 64, [arrC+64];\n"), Accepted());
  EXPECT_THAT(run(kStraight + copy + "[arrC], [%rd1], 64, [%r3];\n"), RejectedFor("no object is known"));
}

TEST(Check, ABulkLoadIsOverWhenItsMbarrierSaysSo) {
  const Module m{.scope = ".shared .align 8 .b8 mb[8];\n", .pool = ".shared .align 16 .b8 pool[1024];"};
  const std::string init = "setp.eq.u32 %p9, %r2, 0;\n@%p9 mbarrier.init.shared.b64 [mb], 1;\nbar.sync 0;\n";
  const std::string load =
      "@%p9 mbarrier.arrive.expect_tx.shared.b64 _, [mb], 1024;\n"
      "@%p9 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd1], 1024, [mb];\n";
  const auto wait = [](int parity, const std::string& label) {
    return label + ":\nmbarrier.try_wait.parity.shared.b64 %p8, [mb], " + std::to_string(parity) +
           ";\n@!%p8 bra " + label + ";\n";
  };
  const std::string use = "bar.sync 0;\nld.shared.f32 %f2, [%r20+4];\nADD\n";
  EXPECT_THAT(run(init + load + wait(0, "W") + use + kUseB + kUseOut, m), Accepted());
  EXPECT_THAT(run(init + load + use + kUseB + wait(0, "W"), m), RejectedFor("no wait ends it"));
  EXPECT_THAT(run(init + load + wait(1, "W") + use + kUseB, m), RejectedFor("no wait ends it"));
  EXPECT_THAT(run(init + load + wait(0, "W") + use + load + wait(0, "V") + use + kUseB, m),
              RejectedFor("no wait ends it"));
  EXPECT_THAT(run(init + load + wait(0, "W") + use + load + wait(1, "V") + use + kUseB, m), Accepted());
  EXPECT_THAT(run(init + load + "mbarrier.test_wait.parity.shared.b64 %p8, [mb], 0;\n" + use + kUseB, m),
              RejectedFor("no wait ends it"));
  // The other's bytes need a fence before them, and a barrier of the input behind it.
  EXPECT_THAT(run(kUseB + "ADD\n" + init + load + wait(0, "W") + use, m),
              RejectedFor("no fence.proxy.async"));
  EXPECT_THAT(run(kUseB + "fence.proxy.async;\n" + init + load + wait(0, "W") + use, m), Accepted());
  EXPECT_THAT(run(kUseB + "ADD\n" + init + "fence.proxy.async;\n" + load + wait(0, "W") + use, m),
              RejectedFor("no fence.proxy.async"));
  // A loop counts the phases.
  const auto counted = [&](const std::string& first, const std::string& next) {
    return init + "mov.u32 %r12, " + first + ";\nmov.u32 %r13, 0;\nL:\n" + load +
           "W:\nmbarrier.try_wait.parity.shared.b64 %p8, [mb], %r12;\n@!%p8 bra W;\n" + use + next +
           "add.u32 %r13, %r13, 1;\nsetp.lt.u32 %p7, %r13, 5;\n@%p7 bra L;\n" + kUseB + kUseOut;
  };
  EXPECT_THAT(run(counted("0", "xor.b32 %r12, %r12, 1;\n"), m), Accepted());
  EXPECT_THAT(run(counted("0", "xor.b32 %r14, %r12, 1;\nmov.b32 %r12, %r14;\n"), m), Accepted());
  EXPECT_THAT(run(counted("1", "xor.b32 %r12, %r12, 1;\n"), m), RejectedFor("no wait ends it"));
  for (const char* const next :
       {"", "add.u32 %r12, %r12, 2;\n", "@%p1 xor.b32 %r12, %r12, 1;\n",
        "xor.b32 %r12, %r12, 1;\nnot.b32 %r12, %r12;\n", "mov.u32 %r12, 1;\n", "and.b32 %r12, %r12, 2;\n"})
    EXPECT_THAT(run(counted("0", next), m), RejectedFor("no wait ends it")) << next;
}

TEST(Check, AnMbarriersBytesAreFreeAfterInval) {
  const std::string init =
      "setp.eq.u32 %p9, %r2, 0;\n@%p9 mbarrier.init.shared.b64 [arrA], 1;\nbar.sync 0;\n";
  const std::string inval = "@%p9 mbarrier.inval.shared.b64 [arrA];\nADD\n";
  EXPECT_THAT(run(init + inval + kUseB), Accepted());
  EXPECT_THAT(run(init + "ADD\n" + kUseB), RejectedFor("may hold an mbarrier"));
  EXPECT_THAT(run(init + kUseB + "ADD\n" + inval), RejectedFor("may hold an mbarrier"));
  EXPECT_THAT(run(init + "@%p1 mbarrier.inval.shared.b64 [arrA];\nADD\n" + kUseB),
              RejectedFor("may hold an mbarrier"));
  EXPECT_THAT(run(init + "@!%p9 mbarrier.inval.shared.b64 [arrA];\nADD\n" + kUseB),
              RejectedFor("may hold an mbarrier"));
  EXPECT_THAT(run(kUseB + "ADD\nmbarrier.arrive.shared.b64 %rd5, [arrA];\n"), RejectedFor("not made here"));
}

TEST(Check, OnlyTheTargetOfACopyMayMove) {
  const Module m;
  const std::string body = kStraight + "cp.async.ca.shared.global [%r22], [%rd1], 4;\ncp.async.wait_all;\n";
  const std::string input = m.text(body, false);
  std::string output = with_names(m.text(body, true), m);
  EXPECT_THAT(check(input, output, {}, {}), Accepted());
  output.replace(output.find("[%rd1], 4"), 9, "[%rd1+16], 4");
  EXPECT_FALSE(check(input, output, {}, {}).ok);
}

TEST(Check, MatricesNeed32Bytes) {
  const std::string body =
      kUseA +
      "ADD\nwmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r11], {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, %r3;\n";
  EXPECT_THAT(
      run(body, {.pool = ".shared .align 32 .b8 pool[2048];", .offsets = {{"arrA", 0}, {"arrB", 32}}}),
      Accepted());
  EXPECT_THAT(
      run(body, {.pool = ".shared .align 32 .b8 pool[2048];", .offsets = {{"arrA", 0}, {"arrB", 16}}}),
      RejectedFor("not aligned to 32"));
}

TEST(Check, RejectsClusters) {
  EXPECT_THAT(run(kStraight + "mapa.shared::cluster.u32 %r30, %r22, 0;\n"), RejectedFor("not modelled"));
}

// --- mutations of what is accepted ------------------------------------------------------------------------

TEST(Check, RejectsEveryDroppedBarrierAndShiftedOffset) {
  const std::vector<std::string> bodies = {kStraight, kUseB + "ADD\n" + kUseA,
                                           loop(kUseA + "ADD\n" + kUseB + "ADD\n"),
                                           kUseA + "@%p2 bra SKIP;\nADD\n" + kUseB + "SKIP:\n"};
  for (const std::string& body : bodies) {
    const Module m;
    const std::string in = m.text(body, false), out = with_names(m.text(body, true), m);
    ASSERT_THAT(check(in, out), Accepted());
    for (std::size_t at = out.find("bar.sync 0;"); at != out.npos; at = out.find("bar.sync 0;", at + 1))
      EXPECT_THAT(check(in, std::string(out).replace(at, 11, "")), Not(Accepted()))
          << "barrier at byte " << at;
    for (std::size_t at = out.find("pool+0"); at != out.npos; at = out.find("pool+0", at + 1))
      for (const char* to : {"pool+4", "pool+16", "pool+1024"})
        EXPECT_THAT(check(in, std::string(out).replace(at, 6, to)), Not(Accepted()))
            << to << " at byte " << at;
  }
}

}  // namespace
}  // namespace warploom::reuse
