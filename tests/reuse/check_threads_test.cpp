#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "reuse/check_case.hpp"

namespace warploom::reuse {
namespace {

using namespace check_case;
using ::testing::Not;

/// for (i = 0; i < n; ++i) { body }
std::string thread_loop(const std::string& body) {
  return "mov.u32 %r4, 0;\nTOP:\n" + body +
         "add.s32 %r4, %r4, 1;\nsetp.lt.u32 %p3, %r4, %r3;\n@%p3 bra TOP;\n";
}

const Module kBlock256{.directives = ".reqntid 256, 1, 1"};

// --- private to an iteration
// --------------------------------------------------------------------------------

TEST(CheckThreads, RejectsAScalarLoadedEarlyThatIsCarriedRoundTheLoop) {  // if (i > 0) x = a[0];
  const std::string early =
      "setp.gt.u32 %p6, %r4, 0;\nld.shared.f32 %f4, [%r10];\nselp.f32 %f5, %f4, 0f00000000, %p6;\nbar.sync 0;\n";
  const std::string store = "setp.eq.u32 %p7, %r2, 0;\n@%p7 st.shared.f32 [%r10], %f5;\n";
  EXPECT_THAT(run(thread_loop(early + store + "ADD\n" + kUseB + "ADD\n")),
              RejectedFor("the load from 'arrA'"));
  EXPECT_THAT(run(thread_loop(store + "bar.sync 0;\n" + early + kUseB + "ADD\n")), Accepted());
}

TEST(CheckThreads, AScalarIsFilledOnlyByAStoreOnEveryPath) {
  const std::string load = "bar.sync 0;\nld.shared.f32 %f4, [%r10];\nADD\n" + kUseB + "ADD\n";
  const std::string store = "st.shared.f32 [%r10], %f1;\n";
  EXPECT_THAT(run(thread_loop("@%p2 bra OVER;\n" + store + "OVER:\n" + load)),
              RejectedFor("the load from 'arrA'"));
  EXPECT_THAT(run(thread_loop("@%p2 " + store + load)), RejectedFor("the load from 'arrA'"));
  EXPECT_THAT(run(thread_loop("@%p1 bra OVER;\n" + store + "OVER:\n" + load)),
              Accepted());  // by some threads
  EXPECT_THAT(run(thread_loop("@%p2 bra ELSE;\n" + store + "bra OVER;\nELSE:\n" + store + "OVER:\n" + load)),
              Accepted());
}

TEST(CheckThreads, AScalarIsFilledOnlyByAStoreToItsBytes) {
  const auto body = [](const char* offset) {
    return thread_loop(std::string("setp.eq.u32 %p7, %r2, 0;\n@%p7 st.shared.f32 [%r10+") + offset +
                       "], %f1;\nbar.sync 0;\nld.shared.f32 %f4, [%r10+8];\nADD\n" + kUseB + "ADD\n");
  };
  EXPECT_THAT(run(body("8")), Accepted());
  EXPECT_THAT(run(body("12")), RejectedFor("the load from 'arrA'"));
}

TEST(CheckThreads, AStoreAfterTheLoopLeavesItsDataPrivate) {
  const std::string body = thread_loop(kUseA + "ADD\n" + kUseB + "ADD\n");
  EXPECT_THAT(run(body + "st.shared.f32 [%r20], %f1;\n"), Accepted());
  EXPECT_THAT(run(body + "ld.shared.f32 %f4, [%r20];\n"), RejectedFor("the load from"));
  EXPECT_THAT(run("st.shared.f32 [%r20], %f1;\nbar.sync 0;\n" + body), RejectedFor("the load from"));
}

TEST(CheckThreads, AWayOutBehindAVaryingBranchLeavesItsDataPrivate) {
  EXPECT_THAT(
      run(thread_loop(
              "setp.eq.u32 %p6, %r4, 2;\n@!%p6 bra ELSE;\n@%p2 bra OUT;\nbra GO;\nELSE:\nadd.s32 %r40, %r4, 1;\nGO:\n" +
              kUseA + "ADD\n" + kUseB + "ADD\n") +
          "OUT:\n"),
      Accepted());
}

TEST(CheckThreads, RejectsAWayOutOfALoopInsideAnArmOfSomeThreads) {
  EXPECT_THAT(run(thread_loop("@!%p1 bra GO;\nsetp.eq.u32 %p6, %r4, 3;\n@%p6 bra OUT;\nGO:\n" + kUseA +
                              "ADD\n" + kUseB + "ADD\n") +
                  "OUT:\n"),
              Not(Accepted()));
}

// --- covered
// ------------------------------------------------------------------------------------------------

TEST(CheckThreads, ThreadsThatLeaveInAnArmCoverNothing) {  // if (tid < 32 && n > 7) return;
  const std::string before = kUseA + "ADD\n" + kUseB + "ADD\n";
  const std::string leave = "@!%p1 bra STAY;\n@%p2 bra OUT;\nSTAY:\n";
  const std::string fill = "st.shared.f32 [%r20], %f1;\nbar.sync 0;\nld.shared.f32 %f2, [%r10];\nOUT:\n";
  EXPECT_THAT(run(before + leave + fill, kBlock256), RejectedFor("the load from 'arrA'"));
  EXPECT_THAT(run(before + leave + "bar.sync 0;\n" + fill, kBlock256), RejectedFor("the load from 'arrA'"));
  EXPECT_THAT(run(before + "@%p2 bra OUT;\n" + fill, kBlock256), Accepted());  // all leave
}

TEST(CheckThreads, WhoStaysFindsWhatItStoredItself) {
  EXPECT_THAT(
      run(kUseA + "ADD\n" + kUseB +
              "ADD\n@!%p1 bra STAY;\n@%p2 bra OUT;\nSTAY:\nst.shared.f32 [%r20], %f1;\nbar.sync 0;\nld.shared.f32 %f2, [%r20];\nOUT:\n",
          kBlock256),
      Accepted());
}

TEST(CheckThreads, TriesABranchThatAllTakeAlikeBothWays) {
  const std::string before = kUseA + "ADD\n" + kUseB + "ADD\n@%p2 bra OVER;\n";
  const std::string load = "bar.sync 0;\nld.shared.f32 %f2, [%r10];\n";
  const std::string store = "st.shared.f32 [%r20], %f1;\n";
  EXPECT_THAT(run(before + store + load + "OVER:\n", kBlock256), Accepted());
  EXPECT_THAT(run(before + store + "OVER:\n" + load, kBlock256), RejectedFor("the load from 'arrA'"));
}

// --- who waits and who varies
// -------------------------------------------------------------------------------

TEST(CheckThreads, ThreadsThatWaitBehindTheLastAccessHaveNotLeft) {
  const auto body = [](const std::string& tail) {
    return "@%p1 bra TAIL;\n" + kStraight + "ret;\nTAIL:\n" + tail;
  };
  EXPECT_THAT(run(body("add.s32 %r30, %r2, 1;\n")), Accepted());
  for (const char* access :
       {"ld.volatile.global.u32 %r30, [%rd1];\n", "ld.acquire.gpu.global.u32 %r30, [%rd1];\n",
        "atom.global.add.u32 %r30, [%rd1], 0;\n"})
    EXPECT_THAT(run(body(std::string("SPIN:\n") + access + "setp.eq.u32 %p5, %r30, 0;\n@%p5 bra SPIN;\n")),
                RejectedFor("threads may have parted"))
        << access;
  EXPECT_THAT(run(body("bar.warp.sync -1;\n")), RejectedFor("threads may have parted"));
  EXPECT_THAT(run(body("frobnicate;\n")), RejectedFor("threads may have parted"));
}

TEST(CheckThreads, RejectsAnAddedBarrierBehindALoopThatWaits) {
  const std::string wait =
      "setp.ne.u32 %p5, %r2, 0;\n@%p5 bra GO;\nSPIN:\nld.volatile.global.u32 %r30, [%rd1];\nsetp.eq.u32 %p6, %r30, 0;\n@%p6 bra SPIN;\nGO:\n";
  const std::string set =
      "setp.ne.u32 %p7, %r2, 32;\n@%p7 bra END;\nst.volatile.global.u32 [%rd1], 1;\nEND:\n";
  EXPECT_THAT(run(kUseA + wait + "ADD\n" + set + kUseB), RejectedFor("waits for"));
  EXPECT_THAT(run(kUseA + wait + set + "bar.sync 0;\nADD\n" + kUseB), Accepted());
}

TEST(CheckThreads,
     FollowsAWaitThroughTheBranchesInsideTheLoop) {  // do { if (*flag) done = 1; } while (!done);
  EXPECT_THAT(
      run(kUseA +
          "mov.u32 %r31, 0;\nSPIN:\nld.volatile.global.u32 %r30, [%rd1];\nsetp.eq.u32 %p6, %r30, 0;\n@%p6 bra "
          "NOT;\nmov.u32 %r31, 1;\nNOT:\nbar.warp.sync -1;\nsetp.eq.u32 %p7, %r31, 0;\n@%p7 bra SPIN;\nADD\n" +
          kUseB),
      RejectedFor("waits for"));
}

/// A barrier of the input under a branch on %r30.
std::string branch_on(const std::string& definition) {
  return definition + "setp.eq.u32 %p5, %r30, 0;\n@%p5 bra SKIP;\n" + kStraight + "SKIP:\nbar.sync 0;\n";
}

TEST(CheckThreads, ResultsThatVaryByThreadDecideOverNoBarrier) {
  for (
      const char* definition :
      {"add.cc.u32 %r31, %r2, -1;\naddc.u32 %r30, 0, 0;\n",
       "sub.cc.u32 %r31, %r2, 1;\nsubc.u32 %r30, 0, 0;\n",
       "add.cc.u32 %r31, %r2, -1;\nmadc.lo.u32 %r30, 0, 0, 0;\n",
       "movmatrix.sync.aligned.m8n8.trans.b16 %r30, %r3;\n", "stacksave.u32 %r30;\n",
       "atom.global.add.u32 %r30, [%rd1], 1;\n",
       "shl.b32 %r32, %r2, 2;\ncvt.u64.u32 %rd5, %r32;\nadd.u64 %rd6, %rd1, %rd5;\nld.global.u32 %r30, [%rd6];\n"})
    EXPECT_THAT(run(branch_on(definition)), RejectedFor("decides over a barrier")) << definition;
  for (const char* alike : {"ld.global.u32 %r30, [%rd1];\n", "mov.u32 %r30, %smid;\n"}) {
    const CheckResult result = run(branch_on(alike));
    EXPECT_THAT(result, Accepted()) << alike;
    EXPECT_NE(all(result.certificate).find("all threads take it alike"), std::string::npos) << alike;
  }
}

TEST(CheckThreads, RejectsInstructionsOutsideTheContract) {
  EXPECT_THAT(run(kStraight + "multimem.ld_reduce.global.add.u32 %r30, [%rd1];\n"),
              RejectedFor("not modelled"));
  EXPECT_THAT(run(kStraight + "tcgen05.fence::before_thread_sync;\n"), RejectedFor("not modelled"));
}

TEST(CheckThreads, ALoadedBranchIsUniformOnlyIfOneWayAlwaysLeadsToTheBarrier) {
  const std::string load = "ld.global.u32 %r30, [%rd1];\nsetp.eq.u32 %p5, %r30, 0;\n";
  // if (loaded) { A; if (n > 7) barrier; B }
  const std::string arm =
      "st.shared.f32 [%r20], %f1;\n@%p2 bra OVER;\nbar.sync 0;\nOVER:\nADD\nst.shared.f32 [%r21], %f2;\n";
  EXPECT_THAT(run(load + "@%p5 bra SKIP;\n" + arm + "SKIP:\nbar.sync 0;\n"),
              RejectedFor("threads may have parted"));
  EXPECT_THAT(run(load + "@%p5 bra SKIP;\nbar.sync 0;\n" + arm + "SKIP:\nbar.sync 0;\n"), Accepted());
}

}  // namespace
}  // namespace warploom::reuse
