// mbarrier, cp.async.mbarrier.arrive and bulk copies: what waits for what, and that a missing wait, a wrong
// phase and a missing arrival are found and named.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "warploom/sim/sim.hpp"

namespace warploom::sim {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// Threads with tile (1,024 bytes), full and empty (an mbarrier each); %r1 is the thread, %r4 its word of
/// tile, %r5 that of thread + 32, %rd3 its word of out, %rd6 that of in.
std::string mbarrier_kernel(const std::string& body) {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n"
         ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<30>;\n"
         ".shared .align 128 .b8 tile[1024];\n.shared .align 8 .b64 full;\n.shared .align 8 .b64 empty;\n"
         "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd4, %r1, 4;\n"
         "add.u64 %rd3, %rd2, %rd4;\nadd.u64 %rd6, %rd1, %rd4;\nmov.u32 %r2, tile;\nshl.b32 %r3, %r1, 2;\n"
         "add.u32 %r4, %r2, %r3;\nxor.b32 %r5, %r3, 128;\nadd.u32 %r5, %r2, %r5;\nsetp.eq.u32 %p1, %r1, 0;\n" +
         body + "ret;\n}\n";
}

const std::string kInit = "@%p1 mbarrier.init.shared.b64 [full], %ntid;\nbar.sync 0;\n";
/// Arrives and waits for the phase.
const std::string kArriveAndWait =
    "mbarrier.arrive.shared.b64 %rd9, [full];\nWAIT:\nmbarrier.try_wait.shared.b64 %p2, [full], %rd9;\n@!%p2 bra WAIT;\n";

std::string with_count(std::string text, unsigned threads) {
  for (std::size_t at; (at = text.find("%ntid;")) != text.npos;)
    text.replace(at, 6, std::to_string(threads) + ";");
  return text;
}

struct Result {
  Outcome outcome;
  std::vector<std::uint32_t> out;
  std::string findings() const {
    std::string text;
    for (const Finding& f : outcome.findings) text += f.text() + "\n";
    return text;
  }
};

Result run_mbarriers(const std::string& body, Schedule schedule = Schedule::in_order, unsigned threads = 64,
                     unsigned cluster = 1) {
  std::vector<std::uint32_t> in(512);
  std::iota(in.begin(), in.end(), 100u);
  Result result{{}, std::vector<std::uint32_t>(512)};
  Machine machine(ptx::parse(with_count(mbarrier_kernel(body), threads), "k.ptx"));
  const Address out = machine.upload(std::span(result.out), "out");
  LaunchOptions options{.grid = {cluster}, .block = {threads}, .cluster = {cluster}};
  options.schedule = schedule;
  options.races = true;
  options.max_instructions = 10'000'000;
  result.outcome =
      machine.launch("k", Arguments().add(machine.upload(std::span(in), "in")).add(out), options);
  machine.download(out, std::span(result.out));
  return result;
}

/// The line of the PTX that holds `text`.
std::uint32_t line_of(const std::string& body, const std::string& text) {
  const std::string all = mbarrier_kernel(body);
  return 1 + static_cast<std::uint32_t>(
                 std::count(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.find(text)), '\n'));
}

constexpr Schedule kSchedules[] = {Schedule::in_order, Schedule::random, Schedule::adversarial};

/// Finds one at these two lines, whichever is first.
void expect_race(const Result& r, const std::string& body, const std::string& one, const std::string& other) {
  const auto sorted = [](std::uint32_t a, std::uint32_t b) {
    return std::pair{std::min(a, b), std::max(a, b)};
  };
  const auto lines = sorted(line_of(body, one), line_of(body, other));
  bool found = false;
  for (const Finding& f : r.outcome.findings)
    if (f.kind == FindingKind::race && f.other) found |= sorted(f.site.ptx_line, f.other->ptx_line) == lines;
  EXPECT_TRUE(found) << lines.first << " and " << lines.second << ":\n" << r.findings();
}

TEST(Mbarrier, OrdersWhatCameBeforeTheArrivals) {
  const std::string body = kInit + "st.shared.u32 [%r4], %r1;\n" + kArriveAndWait +
                           "ld.shared.u32 %r6, [%r5];\nst.global.u32 [%rd3], %r6;\n";
  for (const Schedule schedule : kSchedules) {
    const Result r = run_mbarriers(body, schedule);
    EXPECT_TRUE(r.outcome.clean()) << r.findings();
    for (unsigned t = 0; t < 64; ++t) ASSERT_EQ(r.out[t], t ^ 32);
  }
}

TEST(Mbarrier, AMissingWaitIsARace) {
  const std::string body = kInit +
                           "st.shared.u32 [%r4], %r1;\nmbarrier.arrive.shared.b64 %rd9, [full];\n"
                           "ld.shared.u32 %r6, [%r5];\nst.global.u32 [%rd3], %r6;\n";
  for (const Schedule schedule : kSchedules)
    expect_race(run_mbarriers(body, schedule), body, "st.shared.u32 [%r4]", "ld.shared.u32 %r6");
}

TEST(Mbarrier, ArrivalsOfALaterPhaseOrderNothingInAnEarlierOne) {
  // Warp 1 writes after phase 0, whose end alone warp 0 waits for.
  const std::string body =
      kInit + kArriveAndWait +
      "setp.ge.u32 %p3, %r1, 32;\n@%p3 st.shared.u32 [%r4], %r1;\n"
      "@%p3 mbarrier.arrive.shared.b64 %rd10, [full];\n@!%p3 ld.shared.u32 %r6, [%r5];\n";
  for (const Schedule schedule : kSchedules)
    expect_race(run_mbarriers(body, schedule), body, "st.shared.u32 [%r4]", "ld.shared.u32 %r6");
}

/// Two stages handed over and back, by parity, as pipelines of producers and consumers do.
std::string handed_over(const std::string& consumer_parity) {
  return "@%p1 mbarrier.init.shared.b64 [full], 32;\n@%p1 mbarrier.init.shared.b64 [empty], 32;\nbar.sync 0;\n"
         "setp.ge.u32 %p3, %r1, 32;\nmov.u32 %r10, 0;\nmov.u32 %r11, 0;\n@%p3 bra CONSUMER;\n"
         "PRODUCER:\nand.b32 %r12, %r10, 1;\nxor.b32 %r13, %r12, 1;\n"
         "FREE:\nmbarrier.try_wait.parity.shared.b64 %p2, [empty], %r13;\n@!%p2 bra FREE;\n"
         "mad.lo.u32 %r14, %r10, 1000, %r1;\nst.shared.u32 [%r4], %r14;\nmbarrier.arrive.shared.b64 _, [full];\n"
         "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p4, %r10, 5;\n@%p4 bra PRODUCER;\nret;\n"
         "CONSUMER:\nand.b32 %r12, %r10, 1;\n" +
         consumer_parity +
         "FULL:\nmbarrier.try_wait.parity.shared.b64 %p2, [full], %r12;\n@!%p2 bra FULL;\n"
         "ld.shared.u32 %r6, [%r5];\nadd.u32 %r11, %r11, %r6;\nmbarrier.arrive.shared.b64 _, [empty];\n"
         "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p4, %r10, 5;\n@%p4 bra CONSUMER;\nst.global.u32 [%rd3], %r11;\n";
}

TEST(Mbarrier, PhasesHandABufferOverAndBack) {
  for (const Schedule schedule : kSchedules) {
    const Result r = run_mbarriers(handed_over(""), schedule);
    EXPECT_TRUE(r.outcome.clean()) << r.findings();
    for (unsigned t = 0; t < 32; ++t) ASSERT_EQ(r.out[32 + t], 10000 + 5 * t);
  }
}

TEST(Mbarrier, AWrongPhaseIsFound) {
  // The consumer reads before the producer has written; or, if that was first, both wait for ever.
  const std::string body = handed_over("xor.b32 %r12, %r12, 1;\n");
  const std::uint32_t store = line_of(body, "st.shared.u32 [%r4]"), load = line_of(body, "ld.shared.u32 %r6"),
                      wait = line_of(body, "mbarrier.try_wait.parity.shared.b64 %p2, [full]"),
                      free = line_of(body, "mbarrier.try_wait.parity.shared.b64 %p2, [empty]");
  std::set<FindingKind> kinds;
  for (const Schedule schedule : kSchedules) {
    const Result r = run_mbarriers(body, schedule);
    ASSERT_FALSE(r.outcome.clean());
    for (const Finding& f : r.outcome.findings) {
      kinds.insert(f.kind);
      ASSERT_TRUE(f.other || f.kind == FindingKind::uninitialised) << f.text();
      if (f.kind == FindingKind::race) {
        EXPECT_THAT((std::set{f.site.ptx_line, f.other->ptx_line}),
                    testing::UnorderedElementsAre(store, load));
      } else if (f.kind == FindingKind::deadlock) {
        EXPECT_THAT((std::set{f.site.ptx_line, f.other->ptx_line}),
                    testing::UnorderedElementsAre(wait, free));
      }
    }
  }
  EXPECT_TRUE(kinds.contains(FindingKind::race));
}

TEST(Mbarrier, AMissingArrivalIsADeadlockWithItsCounts) {
  const std::string body = "@%p1 mbarrier.init.shared.b64 [full], 65;\nbar.sync 0;\n" + kArriveAndWait;
  for (const Schedule schedule : kSchedules) {
    const Result r = run_mbarriers(body, schedule);
    ASSERT_EQ(r.outcome.findings.size(), 1u);
    EXPECT_EQ(r.outcome.findings[0].kind, FindingKind::deadlock);
    EXPECT_EQ(r.outcome.findings[0].site.ptx_line, line_of(body, "mbarrier.try_wait"));
    EXPECT_THAT(r.findings(), HasSubstr("phase 0 lacks 1 of 65 arrivals and 0 bytes"));
  }
}

TEST(Mbarrier, TryWaitMayFailWhereNobodyElseCanGoOn) {
  // The thread tries once, then arrives itself.
  const Result r = run_mbarriers(
      "mbarrier.init.shared.b64 [full], 1;\nmov.u32 %r6, 0;\nmbarrier.try_wait.parity.shared.b64 %p2, [full], %r6;\n"
      "selp.u32 %r7, 10, 20, %p2;\nmbarrier.arrive.shared.b64 _, [full];\n"
      "mbarrier.test_wait.parity.shared.b64 %p3, [full], %r6;\nselp.u32 %r8, 1, 2, %p3;\nadd.u32 %r7, %r7, %r8;\n"
      "st.global.u32 [%rd3], %r7;\n",
      Schedule::in_order, 1);
  EXPECT_TRUE(r.outcome.clean()) << r.findings();
  EXPECT_EQ(r.out[0], 21u);
}

TEST(Mbarrier, CountsDropsAndTellsWhatIsPending) {
  const Result r = run_mbarriers(
      "mbarrier.init.shared.b64 [full], 5;\nmbarrier.arrive.shared.b64 %rd9, [full], 2;\n"
      "mbarrier.pending_count.b64 %r6, %rd9;\n"
      "mbarrier.arrive.noComplete.release.cta.shared.b64 %rd10, [full], 2;\nmbarrier.pending_count.b64 %r7, %rd10;\n"
      "mbarrier.arrive_drop.shared.b64 _, [full];\n"  // phase 0 is complete; 4 are left for phase 1
      "mbarrier.arrive.shared.b64 %rd9, [full], 4;\nmbarrier.pending_count.b64 %r8, %rd9;\n"
      "mbarrier.test_wait.shared.b64 %p2, [full], %rd9;\nselp.u32 %r9, 1000, 2000, %p2;\n"
      "mad.lo.u32 %r9, %r6, 100, %r9;\nmad.lo.u32 %r9, %r7, 10, %r9;\nadd.u32 %r9, %r9, %r8;\n"
      "mbarrier.inval.shared.b64 [full];\nmov.u32 %r10, 3;\nst.shared.u32 [full], %r10;\nst.global.u32 [%rd3], %r9;\n",
      Schedule::in_order, 1);
  EXPECT_TRUE(r.outcome.clean()) << r.findings();
  EXPECT_EQ(r.out[0], 1000 + 500 + 30 + 4);
}

TEST(Mbarrier, WhatMayNotBeIsNamed) {
  const std::string one = "mbarrier.init.shared.b64 [full], 2;\n";
  for (const auto& [body, what] : std::vector<std::pair<std::string, std::string>>{
           {"mbarrier.arrive.shared.b64 _, [full];\n", "no mbarrier is there"},
           {one + "mbarrier.inval.shared.b64 [full];\nmbarrier.arrive.shared.b64 _, [full];\n",
            "no mbarrier is there"},
           {one + one, "init of an mbarrier that is in use"},
           {"mbarrier.init.shared.b64 [full], 0;\n", "0 arrivals"},
           {one + "mbarrier.arrive.shared.b64 _, [full], 3;\n", "3 arrivals where phase 0 lacks 2 of 2"},
           {one + "mbarrier.arrive.noComplete.release.cta.shared.b64 %rd9, [full], 2;\n",
            "completes phase 0"},
           {one + "mbarrier.arrive.shared.b64 %rd9, [full], 2;\nmbarrier.arrive.shared.b64 _, [full], 2;\n"
                  "mbarrier.test_wait.shared.b64 %p2, [full], %rd9;\n",
            "a state of phase 0 where phase 2 is under way"},
           {one + "mbarrier.expect_tx.relaxed.cta.shared.b64 [full], 2000000;\n", "2000000 bytes expected"},
           {one + "st.shared.u32 [full+4], %r1;\n", "an mbarrier in use"},
           {one + "ld.shared.u64 %rd9, [full];\n", "an mbarrier in use"}}) {
    const Result r = run_mbarriers(body, Schedule::in_order, 1);
    ASSERT_EQ(r.outcome.findings.size(), 1u) << body;
    EXPECT_EQ(r.outcome.findings[0].kind, FindingKind::illegal) << body;
    EXPECT_THAT(r.findings(), HasSubstr(what)) << body;
  }
}

TEST(Mbarrier, InitThatNothingOrdersIsARace) {
  // Warp 1 arrives without a barrier after thread 0's init; in order it happens to come later.
  const std::string body =
      "@%p1 mbarrier.init.shared.b64 [full], %ntid;\nmbarrier.arrive.shared.b64 _, [full];\n";
  expect_race(run_mbarriers(body), body, "mbarrier.init", "mbarrier.arrive");
}

const std::string kCopy = "cp.async.ca.shared.global [%r4], [%rd6], 4;\n";

TEST(TrackedCopies, AreThereAfterTheWait) {
  for (const std::string noinc : {"", ".noinc"}) {
    // Without .noinc the copies' arrival is one more than those the mbarrier expects.
    const std::string body =
        kInit + kCopy + "cp.async.mbarrier.arrive" + noinc + ".shared.b64 [full];\n" +
        (noinc.empty()
             ? kArriveAndWait
             : "mov.u32 %r6, 0;\nWAIT:\nmbarrier.try_wait.parity.shared.b64 %p2, [full], %r6;\n@!%p2 bra WAIT;\n") +
        "ld.shared.u32 %r6, [%r5];\nst.global.u32 [%rd3], %r6;\n";
    for (const Schedule schedule : kSchedules) {
      const Result r = run_mbarriers(body, schedule);
      EXPECT_TRUE(r.outcome.clean()) << r.findings();
      for (unsigned t = 0; t < 64; ++t) ASSERT_EQ(r.out[t], 100 + (t ^ 32));
    }
  }
}

TEST(TrackedCopies, ABarrierIsNoWaitForThem) {
  const std::string body =
      kInit + kCopy +
      "cp.async.mbarrier.arrive.noinc.shared.b64 [full];\nbar.sync 0;\nld.shared.u32 %r6, [%r5];\n"
      "st.global.u32 [%rd3], %r6;\n";
  for (const Schedule schedule : kSchedules) {
    const Result r = run_mbarriers(body, schedule);
    EXPECT_THAT(r.outcome.findings, Contains(testing::Field(&Finding::kind, FindingKind::uninitialised)));
    EXPECT_THAT(r.findings(), HasSubstr("load of shared memory that nobody wrote"));
  }
}

TEST(TrackedCopies, AWaitOfOneThreadIsNoneOfAnother) {
  // Warp 0 waits; warp 1 reads without. Both orders are found: before the copy landed, and after.
  const std::string body =
      kInit + kCopy +
      "cp.async.mbarrier.arrive.noinc.shared.b64 [full];\nsetp.ge.u32 %p3, %r1, 32;\n@%p3 bra READ;\n"
      "mov.u32 %r6, 0;\nWAIT:\nmbarrier.try_wait.parity.shared.b64 %p2, [full], %r6;\n@!%p2 bra WAIT;\n"
      "READ:\nld.shared.u32 %r6, [%r5];\n@!%p3 st.global.u32 [%rd3], %r6;\n";
  for (const Schedule schedule : kSchedules)
    expect_race(run_mbarriers(body, schedule), body, "cp.async.ca", "ld.shared.u32 %r6");
}

/// 256 bytes of `in` by thread 0's bulk copy, all threads wait.
std::string bulk(unsigned expected, bool wait) {
  return "@%p1 mbarrier.init.shared.b64 [full], 1;\n@%p1 fence.mbarrier_init.release.cluster;\nbar.sync 0;\n"
         "mov.u32 %r6, 0;\n@!%p1 bra WAIT;\n" +
         fmt::format("mbarrier.arrive.expect_tx.shared.b64 _, [full], {};\n", expected) +
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 256, [full];\nWAIT:\n" +
         (wait ? "mbarrier.try_wait.parity.shared.b64 %p2, [full], %r6;\n@!%p2 bra WAIT;\n"
               : "bar.sync 0;\n") +
         "ld.shared.u32 %r7, [%r5];\nst.global.u32 [%rd3], %r7;\n";
}

TEST(BulkCopy, IsThereAfterTheWait) {
  for (const Schedule schedule : kSchedules) {
    const Result r = run_mbarriers(bulk(256, true), schedule);
    EXPECT_TRUE(r.outcome.clean()) << r.findings();
    for (unsigned t = 0; t < 64; ++t) ASSERT_EQ(r.out[t], 100 + (t ^ 32));
  }
}

TEST(BulkCopy, WithoutAWaitItIsNotThere) {
  for (const Schedule schedule : kSchedules)
    EXPECT_THAT(run_mbarriers(bulk(256, false), schedule).outcome.findings,
                Contains(testing::Field(&Finding::kind, FindingKind::uninitialised)));
}

TEST(BulkCopy, TooManyBytesExpectedIsADeadlockWithTheirNumber) {
  const Result r = run_mbarriers(bulk(272, true));
  ASSERT_EQ(r.outcome.findings.size(), 1u);
  EXPECT_EQ(r.outcome.findings[0].kind, FindingKind::deadlock);
  EXPECT_THAT(r.findings(), HasSubstr("lacks 0 of 1 arrivals and 16 bytes"));
}

TEST(BulkCopy, OverItsTargetIsARace) {
  const std::string body = bulk(256, true) + "";
  std::string early = body;
  early.insert(early.find("mov.u32 %r6, 0;"), "st.shared.u32 [%r4], %r1;\n");  // no barrier after it
  for (const Schedule schedule : kSchedules)
    expect_race(run_mbarriers(early, schedule), early, "st.shared.u32 [%r4]", "cp.async.bulk");
}

/// Threads write tile, thread 0 copies it to out; then, `waiting` for the copy or not, all write tile again.
std::string stored(const std::string& waiting) {
  return "st.shared.u32 [%r4], %r1;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n@!%p1 bra AGAIN;\n"
         "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [tile], 256;\ncp.async.bulk.commit_group;\n" +
         waiting + "AGAIN:\nbar.sync 0;\nst.shared.u32 [%r4], 77;\n@%p1 cp.async.bulk.wait_group 0;\n";
}

TEST(BulkCopy, ToGlobalMemoryReadsItsSourceUntilTheWait) {
  for (const Schedule schedule : kSchedules) {
    const Result r = run_mbarriers(stored("cp.async.bulk.wait_group.read 0;\n"), schedule);
    EXPECT_TRUE(r.outcome.clean()) << r.findings();
    for (unsigned t = 0; t < 64; ++t) ASSERT_EQ(r.out[t], t);
    expect_race(run_mbarriers(stored(""), schedule), stored(""), "st.shared.u32 [%r4], 77",
                "cp.async.bulk.global");
  }
}

/// Who copies comes after all writes by a barrier; its copy may still read after them.
TEST(BulkCopy, AWriteBeforeItsWaitIsARaceWhateverBarriersLieBetween) {
  const auto body = [](const std::string& waiting) {
    return "st.shared.u32 [%r4], %r1;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n@!%p1 bra AGAIN;\n"
           "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [tile], 256;\ncp.async.bulk.commit_group;\n" +
           waiting +
           "AGAIN:\nbar.sync 0;\nst.shared.u32 [%r4], 77;\nbar.sync 0;\n@%p1 cp.async.bulk.wait_group 0;\n";
  };
  for (const Schedule schedule : kSchedules) {
    const Result good = run_mbarriers(body("cp.async.bulk.wait_group.read 0;\n"), schedule);
    EXPECT_TRUE(good.outcome.clean()) << good.findings();
    expect_race(run_mbarriers(body(""), schedule), body(""), "st.shared.u32 [%r4], 77",
                "cp.async.bulk.global");
  }
}

TEST(BulkCopy, OfWhatNobodyWroteOrBeyondItsArrayIsFound) {
  const std::string copy = "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [tile+{}], {};\n";
  const auto one = [&](unsigned at, unsigned bytes) {
    return run_mbarriers("@%p1 " + fmt::format(fmt::runtime(copy), at, bytes));
  };
  EXPECT_THAT(one(0, 256).findings(), HasSubstr("bulk copy of shared memory that nobody wrote"));
  EXPECT_THAT(one(896, 256).findings(), HasSubstr("out of bounds"));
  EXPECT_THAT(one(8, 256).findings(), HasSubstr("misaligned"));
  EXPECT_THAT(one(0, 20).findings(), HasSubstr("20 bytes, no multiple of 16"));
}

/// Threads write tile, thread 0 changes `out` by it.
TEST(BulkReduction, ChangesElementsOfGlobalMemory) {
  for (const auto& [type, wanted] :
       {std::pair{"add.u32", 164u}, {"min.s32", 64u}, {"or.b32", 100u}, {"xor.b32", 36u}}) {
    const std::string body =
        "mov.u32 %r6, 64;\nst.shared.u32 [%r4], %r6;\nmov.u32 %r6, 100;\nst.global.u32 [%rd3], %r6;\n"
        "fence.proxy.async;\nbar.sync 0;\n@!%p1 bra DONE;\n"
        "cp.reduce.async.bulk.global.shared::cta.bulk_group." +
        std::string(type) +
        " [%rd2], [tile], 256;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nDONE:\n";
    for (const Schedule schedule : kSchedules) {
      const Result r = run_mbarriers(body, schedule);
      EXPECT_TRUE(r.outcome.clean()) << r.findings();
      for (unsigned t = 0; t < 64; ++t) ASSERT_EQ(r.out[t], wanted) << type;
    }
  }
}

/// Two threads of a cluster's first block change tile + 512 by tile; all wait for both, or (`wait` false)
/// nobody does.
std::string reduced(bool wait) {
  return "mov.u32 %r20, %cluster_ctarank;\nsetp.ne.u32 %p4, %r20, 0;\n@%p4 ret;\n@%p1 mbarrier.init.shared.b64 [full], 1;\n@%p1 fence.mbarrier_init.release.cluster;\nst.shared.u32 [%r4], %r1;\n"
         "st.shared.u32 [%r4+512], 1000;\nfence.proxy.async.shared::cta;\nbar.sync 0;\nmov.u32 %r6, 0;\n"
         "setp.gt.u32 %p3, %r1, 1;\n@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [full], 512;\n"
         "@!%p3 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [tile+512], [tile], "
         "256, [full];\n" +
         std::string(wait ? "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p2, [full], %r6;\n@!%p2 bra WAIT;\n"
                          : "bar.sync 0;\n") +
         "ld.shared.u32 %r7, [%r4+512];\nst.global.u32 [%rd3], %r7;\n";
}

TEST(BulkReduction, ChangesElementsOfSharedMemoryUntilTheWait) {
  for (const Schedule schedule : kSchedules) {
    const Result r = run_mbarriers(reduced(true), schedule, 64, 2);
    EXPECT_TRUE(r.outcome.clean()) << r.findings();
    for (unsigned t = 0; t < 64; ++t) ASSERT_EQ(r.out[t], 1000 + 2 * t);
    EXPECT_THAT(run_mbarriers(reduced(false), schedule, 64, 2).outcome.findings,
                Contains(testing::Field(&Finding::kind, FindingKind::uninitialised)));
  }
}

TEST(BulkCopy, FromSharedToSharedMemoryNeedsClusters) {
  const Result r = run_mbarriers(reduced(true));
  ASSERT_EQ(r.outcome.findings.size(), 1u) << r.findings();
  EXPECT_EQ(r.outcome.findings[0].kind, FindingKind::illegal);
  EXPECT_THAT(r.findings(), HasSubstr("the launch has no clusters"));
}

const std::string kBulkStore =
    "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [tile], 256;\n@%p1 cp.async.bulk.commit_group;\n"
    "@%p1 cp.async.bulk.wait_group 0;\n";

TEST(ProxyFence, OfTheWritersOrBehindTheBarrierWillDo) {
  const std::string fence = "fence.proxy.async.shared::cta;\n", barrier = "bar.sync 0;\n";
  for (const std::string& between : {fence + barrier, barrier + fence, barrier + "@%p1 fence.proxy.async;\n"})
    for (const Schedule schedule : kSchedules) {
      const Result r = run_mbarriers("st.shared.u32 [%r4], %r1;\n" + between + kBulkStore, schedule);
      EXPECT_TRUE(r.outcome.clean()) << between << r.findings();
      for (unsigned t = 0; t < 64; ++t) ASSERT_EQ(r.out[t], t);
    }
}

/// Finds a missing fence at `one`, which `other` wrote, and nothing else.
void expect_missing_fence(const std::string& body, const std::string& one, const std::string& other) {
  for (const Schedule schedule : kSchedules) {
    const Result r = run_mbarriers(body, schedule);
    ASSERT_EQ(r.outcome.findings.size(), 1u) << body << r.findings();
    const Finding& f = r.outcome.findings[0];
    EXPECT_EQ(f.kind, FindingKind::proxy) << r.findings();
    EXPECT_EQ(f.site.ptx_line, line_of(body, one)) << r.findings();
    ASSERT_TRUE(f.other);
    EXPECT_EQ(f.other->ptx_line, line_of(body, other)) << r.findings();
    EXPECT_THAT(f.text(), HasSubstr("no fence.proxy.async after: write of 4 bytes"));
  }
}

TEST(ProxyFence, ThatIsMissingIsFoundWhereACopyReads) {
  const std::string store = "st.shared.u32 [%r4], %r1;\n", fence = "fence.proxy.async.shared::cta;\n";
  for (const std::string& body :
       {store + "bar.sync 0;\n" + kBulkStore, fence + store + "bar.sync 0;\n" + kBulkStore,
        store + "bar.sync 0;\nfence.proxy.async.global;\n" + kBulkStore,
        // By threads that do not come before the copy; by one that the writers do not come before.
        store + "bar.sync 0;\n@!%p1 " + fence + kBulkStore,
        store + "setp.lt.u32 %p3, %r1, 32;\n@%p3 " + fence + "bar.sync 0;\n" + kBulkStore})
    expect_missing_fence(body, "cp.async.bulk.global", "st.shared.u32 [%r4]");
}

TEST(ProxyFence, ThatIsMissingIsFoundWhereACopyWrites) {
  const std::string body = "st.shared.u32 [%r4], %r1;\n" + bulk(256, true);
  expect_missing_fence(body, "cp.async.bulk.shared", "st.shared.u32 [%r4]");
  EXPECT_TRUE(
      run_mbarriers("st.shared.u32 [%r4], %r1;\nfence.proxy.async;\n" + bulk(256, true)).outcome.clean());
}

TEST(ProxyFence, ThatIsMissingIsFoundInGlobalMemory) {
  // 256 bytes of `in` that the block wrote go to shared memory by a bulk copy.
  const std::string store = "st.global.u32 [%rd6], %r1;\n", copy = bulk(256, true);
  for (const std::string& between :
       {std::string("bar.sync 0;\n"), std::string("fence.proxy.async.shared::cta;\nbar.sync 0;\n")})
    expect_missing_fence(store + between + copy, "cp.async.bulk.shared", "st.global.u32 [%rd6]");
  for (const std::string& between : {std::string("fence.proxy.async;\nbar.sync 0;\n"),
                                     std::string("bar.sync 0;\nfence.proxy.async.global;\n")}) {
    const Result r = run_mbarriers(store + between + copy);
    EXPECT_TRUE(r.outcome.clean()) << between << r.findings();
  }
}

/// Block 0 writes `data` (word 64 on), block 1 waits for its flag (word 0) and copies from there.
Outcome handed_over(const std::string& behind_write, const std::string& before_copy, Schedule schedule,
                    std::string& text) {
  text =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n.reg .pred %p<9>;\n"
      ".reg .b32 %r<30>;\n.reg .b64 %rd<30>;\n.shared .align 128 .b8 tile[256];\n.shared .align 8 .b64 full;\n"
      "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
      "add.u64 %rd3, %rd1, %rd2;\nsetp.eq.u32 %p1, %r1, 0;\nsetp.eq.u32 %p2, %r2, 1;\n@%p2 bra READER;\n"
      "st.global.u32 [%rd3+256], %r1;\n" +
      behind_write +
      "bar.sync 0;\n@!%p1 bra DONE;\nfence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%rd1], 1;\nbra DONE;\nREADER:\n"
      "@!%p1 bra DONE;\nmbarrier.init.shared.b64 [full], 1;\nfence.mbarrier_init.release.cluster;\nSPIN:\n"
      "ld.acquire.gpu.global.u32 %r3, [%rd1];\nsetp.eq.u32 %p3, %r3, 0;\n@%p3 bra SPIN;\n" +
      before_copy +
      "mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1+256], 256, [full];\nmov.u32 "
      "%r4, 0;\nWAIT:\nmbarrier.try_wait.parity.shared.b64 %p4, [full], %r4;\n@!%p4 bra WAIT;\nDONE:\nret;\n}\n";
  Machine machine(ptx::parse(text, "k.ptx"));
  return machine.launch("k", Arguments().add(machine.allocate(1024, "out")),
                        {.grid = {2}, .block = {64}, .schedule = schedule, .races = true});
}

TEST(ProxyFence, ThatIsMissingIsFoundAfterWhatAnotherBlockWrote) {
  const std::string fence = "fence.proxy.async.global;\n";
  std::string text;
  for (const Schedule schedule : kSchedules) {
    for (const auto& [behind, before] : {std::pair{fence, std::string()},
                                         {std::string(), fence},
                                         {std::string(), std::string("fence.proxy.async;\n")}}) {
      const Outcome good = handed_over(behind, before, schedule, text);
      EXPECT_TRUE(good.clean()) << good.findings.front().text();
    }
    const auto lines = [&](const std::string& what) {
      return 1 + static_cast<std::uint32_t>(std::count(
                     text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find(what)), '\n'));
    };
    for (const std::string& useless : {std::string(), std::string("fence.proxy.async.shared::cta;\n")}) {
      const Outcome outcome = handed_over("", useless, schedule, text);
      ASSERT_EQ(outcome.findings.size(), 1u);
      const Finding& f = outcome.findings[0];
      EXPECT_EQ(f.kind, FindingKind::proxy) << f.text();
      EXPECT_EQ(f.site.ptx_line, lines("cp.async.bulk"));
      ASSERT_TRUE(f.other);
      EXPECT_EQ(f.other->ptx_line, lines("st.global.u32 [%rd3+256]"));
      EXPECT_EQ(f.other->block[0], 0u);
      EXPECT_EQ(f.site.block[0], 1u);
    }
  }
}

TEST(ProxyFence, NobodyNeedsBetweenACopyThatHeWaitedForAndWhatHeDoes) {
  const std::string body = bulk(256, true) + "bar.sync 0;\nst.shared.u32 [%r4], %r1;\n";
  EXPECT_TRUE(run_mbarriers(body).outcome.clean()) << run_mbarriers(body).findings();
}

}  // namespace
}  // namespace warploom::sim
