#include "reuse/analysis/flights.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "reuse/analysed_kernel.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {
namespace {

using testing::HasSubstr;

constexpr std::string_view kDeclared =
    "\t.shared .align 1024 .b8 a[1024];\n\t.shared .align 1024 .b8 b[1024];\n"
    "\tmov.u32 %r50, a;\n\tadd.s32 %r51, %r50, %o;\n\tmov.u32 %r52, b;\n\tadd.s32 %r53, %r52, %o;\n"
    "\tsetp.gt.u32 %p30, %n, 7;\n";
constexpr std::string_view kCopyA = "cp.async.ca.shared.global [%r51], [%data], 4;\ncp.async.commit_group;\n";
constexpr std::string_view kReadA =
    "bar.sync 0;\nld.shared.u32 %r1, [a];\nst.global.u32 [%out], %r1;\nbar.sync 0;\n";
constexpr std::string_view kUseB =
    "st.shared.u32 [%r53], %t;\nbar.sync 0;\nld.shared.u32 %r2, [b+4];\nst.global.u32 [%out], %r2;\nbar.sync 0;\n";
constexpr std::string_view kWait = "cp.async.wait_group 0;\n";

KernelReport report(std::initializer_list<std::string_view> body) {
  std::string text(kDeclared);
  for (const std::string_view piece : body) text += piece;
  Options o;
  o.when = When::always;
  o.assemble = false;
  const Result r = optimize(kernel_around(text, {.target = "sm_90a"}), o);
  const KernelReport& k = r.report.kernels.at(0);
  EXPECT_NE(k.verdict, Verdict::failed) << k.reason;
  return k;
}
bool share(std::initializer_list<std::string_view> body) {
  return report(body).verdict == Verdict::rewritten;
}

TEST(Flights, ACopyTargetSharesAfterItsWaitAndBeforeItsCopy) {
  EXPECT_TRUE(share({kCopyA, kWait, kReadA, kUseB}));
  EXPECT_TRUE(share({kUseB, kCopyA, kWait, kReadA}));
  const KernelReport k =
      report({kCopyA, kWait, "ld.shared.u32 %r1, [%r51];\nst.global.u32 [%out], %r1;\n", kUseB});
  EXPECT_EQ(k.verdict, Verdict::rewritten);
  EXPECT_EQ(std::ranges::count_if(k.barriers, &BarrierReport::inserted),
            1);  // the wait lies in the interval of `b`'s stores
  EXPECT_EQ(k.bytes_after, 1024u);
}

TEST(Flights, NobodyIsAccessedWhileACopyIsUnderWay) {
  const KernelReport k = report({kCopyA, kUseB, kWait, kReadA});
  EXPECT_NE(k.verdict, Verdict::rewritten);
  EXPECT_THAT(k.interference.at(0).reason, HasSubstr("under way"));
  // Loads, too: the copy may land before them.
  EXPECT_FALSE(share({"st.shared.u32 [%r53], %t;\nbar.sync 0;\n", kCopyA,
                      "ld.shared.u32 %r2, [b+4];\nbar.sync 0;\n", kWait, kReadA}));
}

TEST(Flights, AWaitEndsWhatIsOlderThanTheGroupsThatItLeaves) {
  EXPECT_FALSE(share({kCopyA, "cp.async.wait_group 1;\n", kReadA, kUseB, kWait}));
  EXPECT_TRUE(share({kCopyA, "cp.async.commit_group;\ncp.async.wait_group 1;\n", kReadA, kUseB}));
  EXPECT_FALSE(
      share({kCopyA, "@%p30 cp.async.commit_group;\ncp.async.wait_group 1;\n", kReadA, kUseB, kWait}));
  EXPECT_FALSE(share(
      {"cp.async.ca.shared.global [%r51], [%data], 4;\n", kWait, kReadA, kUseB, "cp.async.wait_all;\n"}));
  EXPECT_TRUE(
      share({"cp.async.ca.shared.global [%r51], [%data], 4;\n", "cp.async.wait_all;\n", kReadA, kUseB}));
  EXPECT_FALSE(share({kCopyA, "cp.async.bulk.wait_group 0;\n", kReadA, kUseB, kWait}));
}

TEST(Flights, AWaitOnSomePathsEndsNothing) {
  EXPECT_FALSE(share({kCopyA, "@%p30 cp.async.wait_group 0;\n", kReadA, kUseB, kWait}));
  EXPECT_FALSE(share({kCopyA, "@%p30 bra L;\n", kWait, "L:\n", kReadA, kUseB, kWait}));
  // In a loop the copy of the iteration before is under way at its head.
  EXPECT_FALSE(share({"mov.u32 %r9, 0;\nL:\nbar.sync 0;\n", kUseB, kCopyA,
                      "add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p1, %r9, %n;\n@%p1 bra L;\n", kWait, kReadA}));
}

TEST(Flights, SomeThreadsWaitForTheirOwnCopiesOnly) {
  // The others' copies are under way while these store to `b`.
  EXPECT_FALSE(share({kCopyA, "bar.sync 0;\nsetp.gt.u32 %p1, %t, 7;\n@%p1 bra L;\n", kWait,
                      "st.shared.u32 [%r53], %t;\nL:\nbar.sync 0;\n", kWait, kReadA}));
  EXPECT_FALSE(share({kCopyA, "setp.gt.u32 %p1, %t, 7;\n@%p1 bra L;\n", kWait, "bra.uni M;\nL:\n", kWait,
                      "st.shared.u32 [%r53], %t;\nM:\n", kReadA}));
}

TEST(Flights, AThreadThatLeavesDoesNotWait) {
  const KernelReport k = report({kUseB, kCopyA});
  EXPECT_NE(k.verdict, Verdict::rewritten);
  EXPECT_THAT(k.reason, HasSubstr("no wait ends"));
  EXPECT_FALSE(share({kCopyA, "setp.gt.u32 %p1, %t, 7;\n@%p1 ret;\n", kWait, kReadA, kUseB}));
  // Waiting in the arm that leaves is at a time of its own, too.
  EXPECT_FALSE(share(
      {kCopyA, "setp.gt.u32 %p1, %t, 7;\n@%p1 bra OUT;\n", kWait, kReadA, kUseB, "ret;\nOUT:\n", kWait}));
}

TEST(Flights, ABulkCopyReadsUntilItsWait) {
  const std::string_view copy =
      "st.shared.u32 [%r51], %t;\nfence.proxy.async;\nbar.sync 0;\nsetp.eq.u32 %p1, %t, 0;\n@!%p1 bra E;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%out], [%r50], 1024;\ncp.async.bulk.commit_group;\n";
  const std::string_view wait = "cp.async.bulk.wait_group.read 0;\n", end = "E:\nbar.sync 0;\n";
  EXPECT_TRUE(share({copy, wait, end, kUseB}));
  EXPECT_TRUE(share({kUseB, copy, wait, end}));
  EXPECT_FALSE(share({copy, end, kUseB}));
  EXPECT_FALSE(share({copy, "cp.async.bulk.wait_group.read 1;\n", end, kUseB}));
  // Loads beside a copy that loads do no harm, but the stores before them would.
  EXPECT_FALSE(
      share({"st.shared.u32 [%r53], %t;\nbar.sync 0;\n", copy, "ld.shared.u32 %r2, [b];\n", wait, end}));
}

TEST(Flights, AProductReadsItsTilesUntilItsWait) {
  const std::string_view product =
      "st.shared.u32 [%r51], %t;\nbar.sync 0;\ncvt.u64.u32 %rd5, %r50;\nshr.u64 %rd5, %rd5, 4;\nwgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f4,%f5,%f6,%f7}, %rd5, %rd5, 1, 1, 1, 0, 0;\n"
      "wgmma.commit_group.sync.aligned;\n";
  EXPECT_TRUE(share({product, "wgmma.wait_group.sync.aligned 0;\nbar.sync 0;\n", kUseB}));
  EXPECT_FALSE(share({product, "bar.sync 0;\n", kUseB, "wgmma.wait_group.sync.aligned 0;\n"}));
  EXPECT_FALSE(share({product, "wgmma.wait_group.sync.aligned 1;\nbar.sync 0;\n", kUseB,
                      "wgmma.wait_group.sync.aligned 0;\n"}));
}

constexpr std::string_view kMbarrier = "\t.shared .align 8 .b8 mb[8];\n\tsetp.eq.u32 %p20, %t, 0;\n";
constexpr std::string_view kInit = "@%p20 mbarrier.init.shared.b64 [mb], 1;\nbar.sync 0;\n";
constexpr std::string_view kLoadA =
    "@%p20 mbarrier.arrive.expect_tx.shared.b64 _, [mb], 1024;\n"
    "@%p20 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r50], [%data], 1024, [mb];\n";
std::string wait_for(int parity, std::string_view label = "W") {
  return fmt::format("{}:\nmbarrier.try_wait.parity.shared.b64 %p10, [mb], {};\n@!%p10 bra {};\n", label,
                     parity, label);
}

TEST(Flights, ABulkLoadIsOverWhenItsMbarrierSaysSo) {
  const std::string wait = wait_for(0);
  const KernelReport k = report({kMbarrier, kInit, kLoadA, wait, kReadA, kUseB});
  EXPECT_EQ(k.verdict, Verdict::rewritten);
  EXPECT_THAT(k.assumptions.at(0).text, HasSubstr("the copies to a belong to the phase"));
  EXPECT_FALSE(share({kMbarrier, kInit, kLoadA, kUseB, wait, kReadA}));
  EXPECT_FALSE(share({kMbarrier, kInit, kLoadA, kReadA, kUseB}));
  // Not its phase; not known which; a test that nobody acts on; and the second load, by the first wait.
  EXPECT_FALSE(share({kMbarrier, kInit, kLoadA, wait_for(1), kReadA, kUseB}));
  EXPECT_FALSE(
      share({kMbarrier, kInit, kLoadA,
             "W:\nmbarrier.try_wait.parity.shared.b64 %p10, [mb], %n;\n@!%p10 bra W;\n", kReadA, kUseB}));
  EXPECT_FALSE(share(
      {kMbarrier, kInit, kLoadA, "mbarrier.try_wait.parity.shared.b64 %p10, [mb], 0;\n", kReadA, kUseB}));
  EXPECT_FALSE(
      share({kMbarrier, kInit, kLoadA,
             "W:\nmbarrier.try_wait.parity.shared.b64 %p10, [mb], 0;\n@%p10 bra W;\n", kReadA, kUseB}));
  EXPECT_FALSE(share({kMbarrier, kInit, kLoadA, wait, kReadA, kLoadA, kUseB, wait_for(1, "V"), kReadA}));
  EXPECT_TRUE(share({kMbarrier, kInit, kLoadA, wait, kReadA, kLoadA, wait_for(1, "V"), kReadA, kUseB}));
  EXPECT_FALSE(share({kMbarrier, kInit, kLoadA, wait, kReadA, kLoadA, wait_for(0, "V"), kReadA, kUseB}));
}

/// A loop that loads and reads `a` each time round, and counts phases in %r40.
std::string counted(std::string_view wait, std::string_view next,
                    std::string_view before = "mov.u32 %r40, 0;\n") {
  return fmt::format(
      "{}mov.u32 %r41, 0;\nL:\n{}W:\nmbarrier.try_wait.parity.shared.b64 %p10, [mb], {};\n@!%p10 bra W;\n"
      "{}{}add.u32 %r41, %r41, 1;\nsetp.lt.u32 %p1, %r41, %n;\n@%p1 bra L;\n",
      before, kLoadA, wait, kReadA, next);
}

TEST(Flights, ALoopMayCountThePhases) {
  EXPECT_TRUE(share({kMbarrier, kInit, counted("%r40", "xor.b32 %r40, %r40, 1;\n"), kUseB}));
  EXPECT_TRUE(share(
      {kMbarrier, "mov.u32 %r40, 0;\n", kInit, counted("%r40", "xor.b32 %r40, %r40, 1;\n", ""), kUseB}));
  // As compilers write it, and by the iteration's number.
  EXPECT_TRUE(
      share({kMbarrier, kInit, counted("%r40", "xor.b32 %r42, %r40, 1;\nmov.b32 %r40, %r42;\n"), kUseB}));
  EXPECT_TRUE(share({kMbarrier, kInit, "mov.u32 %r41, 0;\nL:\nand.b32 %r42, %r41, 1;\n", kLoadA,
                     "W:\nmbarrier.try_wait.parity.shared.b64 %p10, [mb], %r42;\n@!%p10 bra W;\n", kReadA,
                     "add.u32 %r41, %r41, 1;\nsetp.lt.u32 %p1, %r41, %n;\n@%p1 bra L;\n", kUseB}));
  // Begins with the other one, does not change, changes twice, or on some paths alone, or is one that another
  // loop left.
  EXPECT_FALSE(
      share({kMbarrier, kInit, counted("%r40", "xor.b32 %r40, %r40, 1;\n", "mov.u32 %r40, 1;\n"), kUseB}));
  EXPECT_FALSE(share({kMbarrier, kInit, counted("%r40", ""), kUseB}));
  EXPECT_FALSE(
      share({kMbarrier, kInit, counted("%r40", "xor.b32 %r40, %r40, 1;\nnot.b32 %r40, %r40;\n"), kUseB}));
  EXPECT_FALSE(share({kMbarrier, kInit, counted("%r40", "add.u32 %r40, %r40, 2;\n"), kUseB}));
  EXPECT_FALSE(share({kMbarrier, kInit, counted("%r40", "@%p30 xor.b32 %r40, %r40, 1;\n"), kUseB}));
  EXPECT_FALSE(
      share({kMbarrier, kInit, counted("%r40", "@%p30 bra N;\nxor.b32 %r40, %r40, 1;\nN:\n"), kUseB}));
  EXPECT_FALSE(share({kMbarrier, kInit, counted("%r40", "mov.u32 %r40, %n;\n"), kUseB}));
  // Another wait in it, or none on some path.
  EXPECT_FALSE(
      share({kMbarrier, kInit, counted("%r40", "xor.b32 %r40, %r40, 1;\n" + wait_for(0, "V")), kUseB}));
  EXPECT_TRUE(share({kMbarrier, kInit,
                     counted("%r40",
                             "xor.b32 %r40, %r40, 1;\nV:\nmbarrier.try_wait.parity.shared.b64 %p10, [mb], "
                             "%r40;\n@!%p10 bra V;\nxor.b32 %r40, %r40, 1;\n"),
                     kUseB}));
  EXPECT_FALSE(share(
      {kMbarrier, kInit, "mov.u32 %r40, 0;\nmov.u32 %r41, 0;\nL:\n@%p30 bra N;\n", kLoadA,
       "W:\nmbarrier.try_wait.parity.shared.b64 %p10, [mb], %r40;\n@!%p10 bra W;\nN:\n", kReadA,
       "xor.b32 %r40, %r40, 1;\nadd.u32 %r41, %r41, 1;\nsetp.lt.u32 %p1, %r41, %n;\n@%p1 bra L;\n", kUseB}));
  // The other array between two loads, which come to its bytes by the async proxy.
  const std::string use = "xor.b32 %r40, %r40, 1;\n" + std::string(kUseB);
  EXPECT_FALSE(share({kMbarrier, kInit, counted("%r40", use)}));
}

TEST(Flights, WhoDidNotMakeTheMbarrierCountsAsItsMaker) {
  const auto kernel = [](int of_others) {
    return fmt::format(
        "setp.eq.u32 %p20, %t, 0;\n@%p20 bra M;\nmov.u32 %r40, {};\nbra D;\nM:\nmov.u32 %r40, 0;\n"
        "mbarrier.init.shared.b64 [mb], 1;\nD:\nbar.sync 0;\n",
        of_others);
  };
  const std::string loop = counted("%r40", "xor.b32 %r40, %r40, 1;\n", "");
  EXPECT_TRUE(share({kMbarrier, kernel(0), loop, kUseB}));
  EXPECT_FALSE(share({kMbarrier, kernel(1), loop, kUseB}));
}

TEST(Flights, AWaitMayBeWrittenAsCompilersDo) {
  EXPECT_TRUE(share(
      {kMbarrier, kInit, kLoadA,
       "mov.u32 %r30, 0;\nW:\nmbarrier.try_wait.parity.shared.b64 %p10, [mb], %r30;\nselp.b32 %r31, 1, 0, %p10;\n"
       "setp.eq.s32 %p11, %r31, 0;\n@%p11 bra W;\n",
       kReadA, kUseB}));
  EXPECT_FALSE(share({kMbarrier, kInit, kLoadA,
                      "W:\nmbarrier.try_wait.parity.shared.b64 %p10, [mb], 0;\nselp.b32 %r31, 1, 0, %p10;\n"
                      "setp.ne.s32 %p11, %r31, 0;\n@%p11 bra W;\n",
                      kReadA, kUseB}));
  EXPECT_TRUE(share({kMbarrier, kInit, kLoadA,
                     "W:\nmbarrier.try_wait.parity.shared.b64 %p10, [mb], 0;\n@%p10 bra D;\nbra W;\nD:\n",
                     kReadA, kUseB}));
  // By the token of the arrival before it.
  EXPECT_TRUE(share(
      {kMbarrier, kInit, kLoadA,
       "mbarrier.arrive.shared.b64 %rd9, [mb];\nW:\nmbarrier.test_wait.shared.b64 %p10, [mb], %rd9;\n@!%p10 bra W;\n",
       kReadA, kUseB}));
  EXPECT_FALSE(share({kMbarrier, kInit, kLoadA,
                      "mbarrier.arrive.shared.b64 %rd9, [mb];\nmbarrier.arrive.shared.b64 %rd8, [mb];\nW:\n"
                      "mbarrier.test_wait.shared.b64 %p10, [mb], %rd9;\n@!%p10 bra W;\n",
                      kReadA, kUseB}));
}

TEST(Flights, ABulkLoadOverBytesOfOthersNeedsAFence) {
  const std::string wait = wait_for(0);
  EXPECT_FALSE(share({kUseB, kMbarrier, kInit, kLoadA, wait, kReadA}));
  EXPECT_TRUE(share({kUseB, kMbarrier, "fence.proxy.async;\n", kInit, kLoadA, wait, kReadA}));
  // By the thread that loads alone, or with no barrier behind it.
  EXPECT_FALSE(share({kUseB, kMbarrier, kInit, "fence.proxy.async;\n", kLoadA, wait, kReadA}));
  EXPECT_FALSE(share({kUseB, kMbarrier, "@%p20 fence.proxy.async;\n", kInit, kLoadA, wait, kReadA}));
}

TEST(Flights, CopiesMayArriveAtAnMbarrier) {
  const std::string_view arrive = "cp.async.mbarrier.arrive.noinc.shared.b64 [mb];\n";
  const std::string_view copy = "cp.async.ca.shared.global [%r51], [%data], 4;\n";
  const std::string wait = wait_for(0);
  EXPECT_TRUE(share({kMbarrier, kInit, copy, arrive, wait, kReadA, kUseB}));
  EXPECT_FALSE(share({kMbarrier, kInit, copy, wait, kReadA, kUseB}));
  EXPECT_FALSE(share({kMbarrier, kInit, arrive, copy, wait, kReadA, kUseB}));
  EXPECT_FALSE(share({kMbarrier, kInit, copy, "@%p30 bra N;\n", arrive, "N:\n", wait, kReadA, kUseB}));
}

TEST(Flights, AnMbarriersBytesAreFreeAfterInval) {
  const std::string_view in_a = "@%p20 mbarrier.init.shared.b64 [a], 1;\nbar.sync 0;\n";
  const std::string_view use = "@%p20 mbarrier.arrive.shared.b64 _, [a];\nbar.sync 0;\n";
  const std::string_view test = "setp.eq.u32 %p20, %t, 0;\n";
  EXPECT_TRUE(share({test, in_a, use, "@%p20 mbarrier.inval.shared.b64 [a];\nbar.sync 0;\n", kUseB}));
  EXPECT_FALSE(share({test, in_a, use, kUseB}));
  EXPECT_FALSE(share({test, in_a, use, kUseB, "@%p20 mbarrier.inval.shared.b64 [a];\nbar.sync 0;\n"}));
  // Another thread's guard, another mbarrier.
  EXPECT_FALSE(share({test, in_a, use, "@%p30 mbarrier.inval.shared.b64 [a];\nbar.sync 0;\n", kUseB}));
  EXPECT_FALSE(share({test, in_a, use, "@!%p20 mbarrier.inval.shared.b64 [a];\nbar.sync 0;\n", kUseB}));
  EXPECT_FALSE(
      share({test, in_a, use,
             "@%p20 mbarrier.init.shared.b64 [a+8], 1;\n@%p20 mbarrier.inval.shared.b64 [a];\nbar.sync 0;\n",
             kUseB}));
  // What it had to wait for is over, too.
  EXPECT_TRUE(
      share({kMbarrier, kInit,
             "cp.async.ca.shared.global [%r51], [%data], 4;\ncp.async.mbarrier.arrive.shared.b64 [mb];\n",
             "W:\nmbarrier.try_wait.parity.shared.b64 %p10, [mb], %n;\n@!%p10 bra W;\n", kReadA,
             "@%p20 mbarrier.inval.shared.b64 [mb];\nbar.sync 0;\n", kUseB}));
}

TEST(Flights, TilesKeepTheirAlignment) {
  const std::string_view product =
      "st.shared.u32 [%r51], %t;\nbar.sync 0;\ncvt.u64.u32 %rd5, %r50;\nshr.u64 %rd5, %rd5, 4;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f4,%f5,%f6,%f7}, %rd5, %rd5, 1, 1, 1, 0, 0;\n"
      "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nbar.sync 0;\n";
  Options o;
  o.when = When::always;
  o.assemble = false;
  const Result r = optimize(
      kernel_around(
          "\t.shared .align 16 .b8 a[1024];\n\t.shared .align 16 .b8 b[1024];\n"
          "\tmov.u32 %r50, a;\n\tadd.s32 %r51, %r50, %o;\n\tmov.u32 %r52, b;\n\tadd.s32 %r53, %r52, %o;\n" +
              std::string(product) + std::string(kUseB),
          {.target = "sm_90a"}),
      o);
  EXPECT_EQ(r.report.kernels.at(0).verdict, Verdict::rewritten) << r.report.kernels.at(0).reason;
  EXPECT_THAT(r.text, HasSubstr(".shared .align 1024 .b8 __warploom_pool_k[1024]"));
}

TEST(Flights, PartsOfADynamicArrayShareBesideCopies) {
  std::string text = kernel_around(
      "mov.u32 %r50, smem;\nadd.s32 %r51, %r50, %o;\n"
      "cp.async.ca.shared.global [%r51], [%data], 4;\ncp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\n"
      "ld.shared.u32 %r1, [%r51];\nbar.sync 0;\ncp.async.ca.shared.global [%r51+1024], [%data+16], 4;\n"
      "cp.async.wait_all;\nbar.sync 0;\nld.shared.u32 %r2, [%r51+1024];\nadd.u32 %r1, %r1, %r2;\nst.global.u32 [%out], %r1;\n",
      {.directives = ".reqntid 256, 1, 1", .module = ".extern .shared .align 16 .b8 smem[];\n"});
  Options o;
  o.when = When::always;
  o.assemble = false;
  const Result r = optimize(text, o);
  const KernelReport& k = r.report.kernels.at(0);
  EXPECT_EQ(k.verdict, Verdict::rewritten) << k.reason;
  EXPECT_EQ(k.dynamic_before, 2048u);
  EXPECT_EQ(k.dynamic_after, 1024u);
  EXPECT_THAT(r.text, HasSubstr("cp.async.ca.shared.global [%r51], [%data+16], 4;"));
}

}  // namespace
}  // namespace warploom::reuse
