// Clusters: who is who, the cluster's barrier, each other's shared memory and mbarriers, and what is found
// there.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "warploom/sim/arguments.hpp"
#include "warploom/sim/launch_text.hpp"

namespace warploom::sim {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// Threads with tile (128 bytes); %r1 is the thread, %r2 the block, %r4 its word of tile, %r5 the next
/// block's rank in its cluster, %rd3 its word of out, %p1 thread 0, %p2 rank 0.
std::string cluster_kernel(const std::string& body, const std::string& directive = "") {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n" + directive +
         "{\n.reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<30>;\n.shared .align 128 .b8 tile[128];\n"
         ".shared .align 8 .b64 full;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n"
         "mov.u32 %r6, %cluster_ctarank;\nmov.u32 %r7, %cluster_nctarank;\nadd.u32 %r5, %r6, 1;\nrem.u32 %r5, %r5, %r7;\n"
         "mov.u32 %r8, tile;\nshl.b32 %r9, %r1, 2;\nadd.u32 %r4, %r8, %r9;\nmov.u32 %r10, %ntid.x;\n"
         "mad.lo.u32 %r11, %r2, %r10, %r1;\nmul.wide.u32 %rd2, %r11, 4;\nadd.u64 %rd3, %rd1, %rd2;\n"
         "setp.eq.u32 %p1, %r1, 0;\nsetp.eq.u32 %p2, %r6, 0;\nmov.u32 %r20, 0;\n" +
         body + "ret;\n}\n";
}

const std::string kSync = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
/// Reads the next block's word.
const std::string kReadNext =
    "mapa.shared::cluster.u32 %r12, %r4, %r5;\nld.shared::cluster.u32 %r13, [%r12];\nst.global.u32 [%rd3], %r13;\n";
const std::string kWriteMine = "mad.lo.u32 %r14, %r2, 100, %r1;\nst.shared.u32 [%r4], %r14;\n";

struct ClusterResult {
  Outcome outcome;
  std::vector<std::uint32_t> out = std::vector<std::uint32_t>(256);
  std::string findings() const {
    std::string text;
    for (const Finding& f : outcome.findings) text += f.text() + "\n";
    return text;
  }
};

ClusterResult run_clusters(const std::string& body, Schedule schedule = Schedule::in_order, Dim cluster = {4},
                           Dim grid = {8}, unsigned cpu_threads = 1) {
  ClusterResult r;
  Machine machine(ptx::parse(cluster_kernel(body), "k.ptx"));
  const Address out = machine.upload(std::span(r.out), "out");
  LaunchOptions options{.grid = grid, .block = {32}, .cluster = cluster, .schedule = schedule, .races = true};
  options.run.threads = cpu_threads;
  options.max_instructions = 10'000'000;
  r.outcome = machine.launch("k", Arguments().add(out), options);
  machine.download(out, std::span(r.out));
  return r;
}

std::uint32_t cluster_line(const std::string& body, const std::string& text) {
  const std::string all = cluster_kernel(body);
  return 1 + static_cast<std::uint32_t>(
                 std::count(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.find(text)), '\n'));
}

void expect_cluster_race(const std::string& body, const std::string& one, const std::string& other,
                         Schedule schedule) {
  const ClusterResult r = run_clusters(body, schedule);
  const std::set<std::uint32_t> lines = {cluster_line(body, one), cluster_line(body, other)};
  EXPECT_TRUE(std::any_of(r.outcome.findings.begin(), r.outcome.findings.end(), [&](const Finding& f) {
    return f.kind == FindingKind::race && f.other && std::set{f.site.ptx_line, f.other->ptx_line} == lines;
  })) << r.findings();
}

constexpr Schedule kClusterSchedules[] = {Schedule::in_order, Schedule::random, Schedule::adversarial};

TEST(Cluster, BlocksReadEachOthersSharedMemory) {
  const std::string body = kWriteMine + kSync + kReadNext + kSync;
  for (const Schedule schedule : kClusterSchedules)
    for (const unsigned threads : {1u, 3u}) {
      const ClusterResult r = run_clusters(body, schedule, {4}, {8}, threads);
      EXPECT_TRUE(r.outcome.clean()) << r.findings();
      for (unsigned b = 0; b < 8; ++b)
        for (unsigned t = 0; t < 32; ++t) ASSERT_EQ(r.out[32 * b + t], 100 * (b / 4 * 4 + (b + 1) % 4) + t);
    }
}

TEST(Cluster, GenericAddressesLeadThere) {
  const std::string body =
      kWriteMine + kSync +
      "cvt.u64.u32 %rd4, %r4;\ncvta.shared.u64 %rd5, %rd4;\nmapa.u64 %rd6, %rd5, %r5;\n"
      "getctarank.u32 %r15, %rd6;\nld.u32 %r13, [%rd6];\nmad.lo.u32 %r13, %r15, 10000, %r13;\n"
      "st.global.u32 [%rd3], %r13;\n" +
      kSync;
  const ClusterResult r = run_clusters(body);
  EXPECT_TRUE(r.outcome.clean()) << r.findings();
  for (unsigned b = 0; b < 8; ++b)
    ASSERT_EQ(r.out[32 * b + 7], 10000 * ((b + 1) % 4) + 100 * (b / 4 * 4 + (b + 1) % 4) + 7);
}

TEST(Cluster, KnowsItsPlace) {
  // A grid of 4 x 4 in clusters of 2 x 2: all in the digits of one number.
  const std::string names[] = {"%cluster_ctarank", "%cluster_nctarank", "%cluster_ctaid.x",
                               "%cluster_ctaid.y", "%cluster_nctaid.x", "%cluster_nctaid.z",
                               "%clusterid.x",     "%clusterid.y",      "%nclusterid.x"};
  std::string body = "mov.u32 %r13, 0;\n";
  for (const std::string& name : names)
    body += fmt::format("mov.u32 %r12, {};\nmad.lo.u32 %r13, %r13, 10, %r12;\n", name);
  body +=
      "mov.u32 %r15, %ctaid.y;\nmad.lo.u32 %r15, %r15, 4, %r2;\nmul.wide.u32 %rd4, %r15, 4;\nadd.u64 %rd4, %rd1, %rd4;\n"
      "st.global.u32 [%rd4], %r13;\n";
  const ClusterResult r = run_clusters(body, Schedule::in_order, {2, 2}, {4, 4});
  for (unsigned y = 0; y < 4; ++y)
    for (unsigned x = 0; x < 4; ++x) {
      std::uint32_t expected = 0;
      for (const unsigned digit : {x % 2 + 2 * (y % 2), 4u, x % 2, y % 2, 2u, 1u, x / 2, y / 2, 2u})
        expected = 10 * expected + digit;
      ASSERT_EQ(r.out[4 * y + x], expected) << x << " " << y;
    }
}

TEST(Cluster, AMissingBarrierIsARaceBetweenBlocks) {
  const std::string body = kWriteMine + "bar.sync 0;\n" + kReadNext + kSync;
  for (const Schedule schedule : kClusterSchedules)
    expect_cluster_race(body, "st.shared.u32", "ld.shared::cluster", schedule);
  const std::string again =
      kWriteMine + kSync + kReadNext + "bar.sync 0;\n" + "st.shared.u32 [%r4], 7;\n" + kSync;
  for (const Schedule schedule : kClusterSchedules)
    expect_cluster_race(again, "st.shared.u32 [%r4], 7", "ld.shared::cluster", schedule);
}

TEST(Cluster, ARelaxedArrivalOrdersNothing) {
  std::string body = kWriteMine + kSync + kReadNext + kSync;
  body.replace(body.find("arrive.aligned"), 14, "arrive.relaxed.aligned");
  expect_cluster_race(body, "st.shared.u32", "ld.shared::cluster", Schedule::in_order);
}

TEST(Cluster, ARelaxedArrivalBehindAFenceThatReleasesOrdersWhatCameBeforeIt) {
  const auto fenced = [](const std::string& side) {
    std::string body = kWriteMine + "fence." + side + ".cluster;\n" + kSync + kReadNext + kSync;
    body.replace(body.find("arrive.aligned"), 14, "arrive.relaxed.aligned");
    return body;
  };
  for (const char* side : {"acq_rel", "sc", "release"}) {
    const ClusterResult r = run_clusters(fenced(side));
    EXPECT_TRUE(r.outcome.clean()) << side << r.findings();
  }
  expect_cluster_race(fenced("acquire"), "st.shared.u32", "ld.shared::cluster", Schedule::in_order);
}

TEST(Cluster, MemoryOfABlockThatHasLeftIsNobodys) {
  // Block by block, so that the next has left when the last reads the first's.
  const std::string body = kWriteMine + kSync +
                           "setp.ne.u32 %p3, %r6, 3;\n@%p3 ret;\nLATER:\nadd.u32 %r20, %r20, 1;\n"
                           "setp.lt.u32 %p3, %r20, 3000;\n@%p3 bra LATER;\n" +
                           kReadNext;
  const ClusterResult r = run_clusters(body);
  EXPECT_THAT(r.findings(), HasSubstr("of block (0,0,0), whose threads have left"));
}

TEST(Cluster, AtomicsOfAllBlocksMeet) {
  const std::string body =
      "@%p1 st.shared.u32 [tile], 0;\n" + kSync +
      "mapa.shared::cluster.u32 %r12, %r8, 0;\natom.shared::cluster.cluster.add.u32 %r13, [%r12], 1;\n" +
      kSync + "ld.shared.u32 %r14, [tile];\nselp.u32 %r14, %r14, 0, %p2;\nst.global.u32 [%rd3], %r14;\n";
  for (const Schedule schedule : kClusterSchedules) {
    const ClusterResult r = run_clusters(body, schedule);
    EXPECT_TRUE(r.outcome.clean()) << r.findings();
    EXPECT_EQ(r.out[0], 128u);
    EXPECT_EQ(r.out[4 * 32], 128u);
    EXPECT_EQ(r.out[32], 0u);
  }
}

/// All threads write to rank 0's tile, from the last rank's thread up, and arrive at its mbarrier; rank 0
/// reads.
std::string handed_to_first(bool wait) {
  return "setp.eq.u32 %p3, %r6, 1;\n@%p1 mbarrier.init.shared.b64 [full], 32;\n@%p1 fence.mbarrier_init.release.cluster;\n" +
         kSync +
         "mapa.shared::cluster.u32 %r12, %r4, 0;\nmov.u32 %r16, full;\nmapa.shared::cluster.u32 %r15, %r16, 0;\n"
         "@%p3 st.shared::cluster.u32 [%r12], %r11;\n@%p3 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r15];\n"
         "@!%p2 bra DONE;\n" +
         std::string(
             wait
                 ? "WAIT:\nmbarrier.try_wait.parity.acquire.cluster.shared.b64 %p4, [full], %r20;\n@!%p4 bra WAIT;\n"
                 : "") +
         "ld.shared.u32 %r13, [%r4];\nst.global.u32 [%rd3], %r13;\nDONE:\n" + kSync;
}

TEST(Cluster, AnMbarrierOfAnotherBlockIsArrivedAt) {
  for (const Schedule schedule : kClusterSchedules) {
    const ClusterResult r = run_clusters(handed_to_first(true), schedule);
    EXPECT_TRUE(r.outcome.clean()) << r.findings();
    for (unsigned t = 0; t < 32; ++t) ASSERT_EQ(r.out[128 + t], 32 * 5 + t);
    expect_cluster_race(handed_to_first(false), "st.shared::cluster", "ld.shared.u32 %r13", schedule);
  }
}

TEST(Cluster, WhatMayNotBeIsNamed) {
  for (const auto& [body, what] : std::vector<std::pair<std::string, std::string>>{
           {"barrier.cluster.wait;\n", "the thread has not arrived"},
           {"barrier.cluster.arrive;\nbarrier.cluster.arrive;\n", "arrived before and has not waited"},
           {"mapa.shared::cluster.u32 %r12, %r4, 4;\n", "rank 4 of a cluster of 4 blocks"},
           {kWriteMine + kSync + "mapa.shared::cluster.u32 %r12, %r4, %r5;\nld.shared.u32 %r13, [%r12];\n",
            "out of bounds"},
           {"mapa.shared::cluster.u32 %r12, %r4, %r5;\nld.shared::cluster.u32 %r13, [%r12+128];\n",
            "out of bounds"}})
    EXPECT_THAT(run_clusters(body).findings(), HasSubstr(what)) << body;
}

TEST(Cluster, ThatWaitsForOneThatDoesNotComeIsADeadlock) {
  // Rank 1 waits for an mbarrier at which nobody arrives.
  const std::string body =
      "setp.eq.u32 %p3, %r6, 1;\n@%p3 mbarrier.init.shared.b64 [full], 64;\n@!%p3 bra MEET;\n"
      "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p4, [full], %r20;\n@!%p4 bra WAIT;\nMEET:\n" +
      kSync;
  std::string one = body;
  one.replace(one.find("@%p3 mbarrier.init"), 4, "@%p1");
  one.insert(one.find("@!%p3 bra MEET;"), "bar.sync 0;\n");
  const ClusterResult r = run_clusters(one);
  ASSERT_EQ(r.outcome.findings.size(), 1u) << r.findings();
  EXPECT_EQ(r.outcome.findings[0].kind, FindingKind::deadlock);
  EXPECT_THAT(r.findings(), HasSubstr("barrier of the cluster, where 96 of 128 threads are"));
}

TEST(ClusterLaunches, KeepToTheLimits) {
  const auto launch = [](Dim grid, Dim cluster, const std::string& directive = "") {
    Machine machine(ptx::parse(
        cluster_kernel("mov.u32 %r12, %cluster_nctarank;\nst.global.u32 [%rd1], %r12;\n", directive),
        "k.ptx"));
    const Address out = machine.allocate(64, "out");
    machine.launch("k", Arguments().add(out), {.grid = grid, .block = {1}, .cluster = cluster});
    std::uint32_t size = 0;
    machine.download(out, std::span(&size, 1));
    return size;
  };
  EXPECT_EQ(launch({4}, {}), 1u);
  EXPECT_EQ(launch({4}, {2}), 2u);
  EXPECT_EQ(launch({4}, {}, ".reqnctapercluster 4\n"), 4u);
  EXPECT_THAT([&] { launch({4}, {2}, ".reqnctapercluster 4\n"); },
              ThrowsMessage<BadInput>(HasSubstr("clusters of 4 x 1 x 1")));
  EXPECT_THAT([&] { launch({4}, {3}); }, ThrowsMessage<BadInput>(HasSubstr("divide the grid of 4 x 1 x 1")));
  EXPECT_THAT([&] { launch({34}, {17}); }, ThrowsMessage<BadInput>(HasSubstr("1 to 16")));
  LaunchText text;
  EXPECT_TRUE(set_launch_option(text, "--cluster", "2,2"));
  EXPECT_EQ(text.cluster.count(), 4u);
}

/// Thread 0 expects bytes; all of the cluster go on together.
std::string expecting(unsigned bytes) {
  return fmt::format(
      "@%p1 mbarrier.init.shared.b64 [full], 1;\n@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [full], {};\n",
      bytes);
}
const std::string kWaitFull = "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p4, [full], 0;\n@!%p4 bra WAIT;\n";
const std::string kOutTile = "ld.shared.u32 %r13, [%r4];\nst.global.u32 [%rd3], %r13;\n";

TEST(Cluster, StoresThatAnMbarrierCountsLandAtItsWait) {
  const std::string store =
      "mov.u32 %r15, full;\nmapa.shared::cluster.u32 %r16, %r4, %r5;\nmapa.shared::cluster.u32 %r17, %r15, %r5;\n"
      "mad.lo.u32 %r14, %r2, 100, %r1;\n"
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r16], %r14, [%r17];\n";
  for (const Schedule schedule : kClusterSchedules) {
    const ClusterResult r =
        run_clusters(expecting(128) + kSync + store + kWaitFull + kOutTile + kSync, schedule);
    EXPECT_TRUE(r.outcome.clean()) << r.findings();
    for (unsigned b = 0; b < 8; ++b)
      for (unsigned t = 0; t < 32; ++t) ASSERT_EQ(r.out[32 * b + t], 100 * (b / 4 * 4 + (b + 3) % 4) + t);
    expect_cluster_race(expecting(128) + kSync + store + kOutTile + kSync, "st.async", "ld.shared.u32 %r13",
                        schedule);
  }
  EXPECT_THAT(run_clusters(expecting(132) + kSync + store + kWaitFull + kSync).findings(),
              HasSubstr("deadlock"));
}

TEST(Cluster, ReductionsThatAnMbarrierCounts) {
  const std::string reduce =
      "mov.u32 %r15, full;\nmov.u32 %r18, tile;\nmapa.shared::cluster.u32 %r16, %r18, %r5;\n"
      "mapa.shared::cluster.u32 %r17, %r15, %r5;\n"
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r16], %r1, [%r17];\n";
  const std::string zero = "st.shared.u32 [%r4], 0;\n";
  for (const Schedule schedule : kClusterSchedules) {
    const ClusterResult r =
        run_clusters(zero + expecting(128) + kSync + reduce + kWaitFull + kOutTile + kSync, schedule);
    EXPECT_TRUE(r.outcome.clean()) << r.findings();
    EXPECT_EQ(r.out[32], 32u * 31 / 2);
    EXPECT_EQ(r.out[33], 0u);
  }
}

TEST(Cluster, BytesGoToSeveralBlocks) {
  // Blocks 0 and 2 of each cluster get the first 64 bytes of `out`, which hold numbers.
  const std::string numbers = "setp.lt.u32 %p5, %r11, 16;\n";
  const std::string send =
      "and.pred %p6, %p1, %p2;\nmov.u16 %rs1, 5;\n@%p6 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
      "multicast::cluster [tile], [%rd1], 64, [full], %rs1;\n";
  const std::string body = ".reg .b16 %rs<3>;\nst.shared.u32 [%r4], 9;\n" + expecting(64) +
                           "fence.proxy.async;\n" + kSync + send +
                           "and.b32 %r19, %r6, 1;\nsetp.eq.u32 %p7, %r19, 1;\n@%p7 bra NOT;\n" + kWaitFull +
                           "NOT:\nld.shared.u32 %r13, [%r4];\nadd.u64 %rd4, %rd3, 128;\n" + kSync + numbers +
                           "@!%p5 st.global.u32 [%rd3], %r13;\n";
  ClusterResult r;
  Machine machine(ptx::parse(cluster_kernel(body), "k.ptx"));
  for (unsigned i = 0; i < 16; ++i) r.out[i] = 1000 + i;
  const Address out = machine.upload(std::span(r.out), "out");
  r.outcome =
      machine.launch("k", Arguments().add(out), {.grid = {4}, .block = {32}, .cluster = {4}, .races = true});
  machine.download(out, std::span(r.out));
  EXPECT_TRUE(r.outcome.clean()) << r.findings();
  for (unsigned b = 1; b < 4; ++b)
    for (unsigned t = 0; t < 32; ++t)
      EXPECT_EQ(r.out[32 * b + t], b == 2 && t < 16 ? 1000 + t : 9) << b << " " << t;
}

}  // namespace
}  // namespace warploom::sim
