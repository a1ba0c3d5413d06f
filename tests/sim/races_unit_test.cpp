// The race detector alone, driven by hand and by random traces against a slow detector with whole vector
// clocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "sim/race_clocks.hpp"
#include "sim/race_play.hpp"

namespace warploom::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using To = Play::To;

TEST(RaceRules, ReadAfterWriteWithoutBarrier) {
  Play p({});
  p.write(0, 1, {.address = 16});
  p.read(40, 2, {.address = 16});
  ASSERT_THAT(p.races(), ElementsAre("7/6"));
  const Finding& f = p.found[0];
  EXPECT_EQ(f.kind, FindingKind::race);
  EXPECT_EQ(f.site.what, "read of 4 bytes");
  EXPECT_EQ(f.other->what, "write of 4 bytes");
  EXPECT_EQ(f.site.thread, (std::array<std::uint32_t, 3>{8, 1, 0}));
  EXPECT_EQ(f.other->thread, (std::array<std::uint32_t, 3>{0, 0, 0}));
  EXPECT_EQ(f.where, "shared array tile, byte 16");
}

TEST(RaceRules, BarrierOrders) {
  Play p({});
  p.write(0, 1, {});
  p.barrier();
  p.read(40, 2, {});
  p.barrier();
  p.write(70, 3, {});
  EXPECT_THAT(p.races(), IsEmpty());
}

TEST(RaceRules, WriteAfterReadWithoutBarrier) {
  Play p({});
  p.read(0, 1, {});
  p.read(1, 2, {});
  p.read(64, 3, {});
  p.write(1, 4, {});
  EXPECT_EQ(p.races().size(), 1u);
}

TEST(RaceRules, AWriterThatAlsoReadIsCheckedAgainstTheOtherReader) {
  for (const auto& [reader, writer] : {std::pair{5u, 6u}, {6u, 5u}, {5u, 70u}, {70u, 5u}}) {
    Play p({});
    p.read(reader, 1, {});
    p.read(writer, 2, {});
    p.write(writer, 3, {});
    EXPECT_THAT(p.races(), ElementsAre("8/6")) << reader << " " << writer;
  }
}

TEST(RaceRules, AReadOfOnePlaceByAllLanesRacesWithAWriteByAnyOfThem) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    Play p({});
    p.access(0, 0, kAllLanes, 1, Access::read, {.address = 8});
    p.write(lane, 2, {.address = 8});
    EXPECT_THAT(p.races(), ElementsAre("7/6")) << lane;
  }
}

TEST(RaceRules, WarpSyncOrdersItsWarpOnly) {
  Play p({});
  p.write(3, 1, {});
  p.warp_sync(0, 0);
  p.read(4, 2, {});
  EXPECT_THAT(p.races(), IsEmpty());
  p.read(32, 3, {});
  EXPECT_THAT(p.races(), ElementsAre("8/6"));
}

TEST(RaceRules, LanesOfOneInstructionThatWriteDifferentValues) {
  Play p({});
  p.access(0, 1, 0b1100, 1, Access::write, {});
  ASSERT_THAT(p.races(), ElementsAre("6/6"));
  EXPECT_EQ(p.found[0].site.thread[0], 3u);
  EXPECT_EQ(p.found[0].other->thread[0], 2u);
}

TEST(RaceRules, SilentWritesDoNotRaceWithWrites) {
  Play p({});
  p.access(0, 0, kAllLanes, 1, Access::write, {}, Strength::weak, Scope::none, ~1u);
  p.access(0, 1, kAllLanes, 1, Access::write, {}, Strength::weak, Scope::none, kAllLanes);
  EXPECT_THAT(p.races(), IsEmpty());
  p.read(90, 2, {});
  EXPECT_THAT(p.races(), ElementsAre("7/6"));
}

TEST(RaceRules, BytesOfOneWordAreApart) {
  Play p({.cell = 1});
  for (std::uint32_t i = 0; i < 4; ++i) p.write(i, 1, {.address = i, .bytes = 1});
  EXPECT_THAT(p.races(), IsEmpty());
  p.read(9, 2, {.address = 0, .bytes = 4});
  EXPECT_THAT(p.races(), ElementsAre("7/6"));
}

TEST(RaceRules, VectorsOverlapScalars) {
  Play p({});
  p.access(0, 0, kAllLanes, 1, Access::write, {.bytes = 16, .stride = 16});
  EXPECT_THAT(p.races(), IsEmpty());
  p.read(2, 2, {.address = 44});  // its own
  EXPECT_THAT(p.races(), IsEmpty());
  p.read(3, 3, {.address = 44});
  EXPECT_THAT(p.races(), ElementsAre("8/6"));
}

TEST(RaceRules, EveryLaneOfAMaskIsSeen) {
  for (const Mask lanes : {0x80000001u, 0x00ff00f0u, 0xfffffffeu}) {
    for (const std::uint32_t stride : {4u, 8u, 132u}) {
      for (unsigned lane = 0; lane < 32; ++lane) {
        Play p({.warps = 2});
        p.access(0, 0, lanes, 1, Access::write, {.stride = stride});
        p.read(32, 2, {.address = lane * stride});
        EXPECT_EQ(p.races().size(), lanes >> lane & 1) << lanes << " " << stride << " " << lane;
      }
    }
  }
}

TEST(RaceRules, ExitedThreadsArriveAtBarriers) {
  Play p({});
  p.write(3, 1, {});
  p.block(0).warps[0].alive = ~8u;
  p.barrier();
  p.read(40, 2, {});
  EXPECT_THAT(p.races(), IsEmpty());
}

TEST(RaceRules, TheNextBlockStartsAfresh) {
  Play p({});
  p.write(3, 1, {});
  p.end(0);
  p.access(1, 1, 1, 2, Access::write, {});
  EXPECT_THAT(p.races(), IsEmpty());
}

TEST(RaceRules, NamedBarrierOrdersWhoAttends) {
  Play p({.syncs = kPartial});
  p.write(0, 1, {});
  p.barrier(0, {kAllLanes, kAllLanes});
  p.read(33, 2, {});
  EXPECT_THAT(p.races(), IsEmpty());
  p.read(64, 3, {});
  EXPECT_THAT(p.races(), ElementsAre("8/6"));
}

TEST(RaceRules, ArrivingGivesButDoesNotTake) {
  Play p({.syncs = kPartial});
  p.write(0, 1, {.address = 0});
  p.write(32, 2, {.address = 4});
  p.announce(0, 0, kAllLanes);
  p.barrier(0, {0, kAllLanes});
  p.read(32, 3, {.address = 0});
  EXPECT_THAT(p.races(), IsEmpty());
  p.read(0, 4, {.address = 4});
  EXPECT_THAT(p.races(), ElementsAre("9/7"));
}

TEST(RaceRules, WhatFollowsAnArrivalIsNotOrderedByTheBarrier) {
  Play p({.syncs = kPartial});
  p.write(0, 1, {.address = 0});
  p.announce(0, 0, kAllLanes);
  p.write(0, 2, {.address = 0});
  p.barrier(0, {0, kAllLanes});
  p.read(32, 3, {.address = 0});
  EXPECT_THAT(p.races(), ElementsAre("8/7"));
}

TEST(RaceRules, PartialWarpSyncIsTransitive) {
  Play p({.syncs = kPartial});
  p.write(0, 1, {});
  p.warp_sync(0, 0, 0b0011);
  p.warp_sync(0, 0, 0b0110);
  p.read(2, 2, {});
  EXPECT_THAT(p.races(), IsEmpty());
  p.read(3, 3, {});
  EXPECT_THAT(p.races(), ElementsAre("8/6"));
}

TEST(RaceRules, AllReadersAreKeptWhereSomeMayBeOrdered) {
  // 96 threads read; all but one attend the barrier before the write.
  Play p({.syncs = kPartial});
  for (std::uint32_t w = 0; w < 3; ++w) p.access(0, w, kAllLanes, w, Access::read, {});
  p.barrier(0, {kAllLanes, ~4u, kAllLanes});
  p.write(0, 5, {});
  ASSERT_THAT(p.races(), ElementsAre("10/6"));
  EXPECT_EQ(p.found[0].other->thread, (std::array<std::uint32_t, 3>{2, 1, 0}));
}

TEST(RaceRules, BlocksRaceInGlobalMemory) {
  Play p({.blocks = 8});
  const To to{.address = p.global + 400, .shared = false};
  p.access(2, 1, 2, 1, Access::write, to);
  p.barrier(2);
  p.end(2);
  p.access(5, 1, 2, 2, Access::read, to);
  ASSERT_THAT(p.races(), ElementsAre("7/6"));
  EXPECT_EQ(p.found[0].site.block[0], 5u);
  EXPECT_EQ(p.found[0].other->block[0], 2u);
  EXPECT_EQ(p.found[0].where, "out, byte 400");
}

TEST(RaceRules, AReaderOfAnEarlierBlockIsKeptThoughTheWritersBlockReadToo) {
  for (const std::uint32_t others : {0u, 1u, 5u}) {
    Play p({.blocks = 8});
    const To to{.address = p.global, .shared = false};
    p.access(0, 1, 2, 1, Access::read, to);
    p.end(0);
    for (std::uint32_t w = 0; w < others; ++w) p.access(1, w % 4, kAllLanes, 2, Access::read, to);
    p.barrier(1);
    p.access(1, 0, 1, 3, Access::write, to);
    EXPECT_THAT(p.races(), ElementsAre("8/6")) << others;
  }
}

TEST(RaceRules, AtomicsDoNotRaceWithEachOtherButWithPlainAccesses) {
  Play p({.blocks = 8});
  const To to{.address = p.global, .shared = false};
  for (std::uint64_t b = 0; b < 2; ++b)
    p.access(b, 0, kAllLanes, 1, Access::atomic, to, Strength::relaxed, Scope::gpu);
  EXPECT_THAT(p.races(), IsEmpty());
  p.access(1, 1, 1, 2, Access::read, to);
  ASSERT_THAT(p.races(), ElementsAre("7/6"));
  EXPECT_EQ(p.found[0].other->what, "atomic of 4 bytes");
  p.access(1, 2, 1, 3, Access::atomic, to, Strength::relaxed, Scope::gpu);
  EXPECT_THAT(p.races(), ElementsAre("8/7"));
}

TEST(RaceRules, AnInitialisingStoreWithoutBarrierRacesWithEveryAtomic) {
  Play p({});
  p.write(0, 1, {});
  p.access(0, 0, 1, 2, Access::atomic, {}, Strength::relaxed, Scope::gpu);
  EXPECT_THAT(p.races(), IsEmpty());
  p.access(0, 0, 2, 2, Access::atomic, {}, Strength::relaxed, Scope::gpu);
  EXPECT_THAT(p.races(), ElementsAre("7/6"));
}

TEST(RaceRules, AtomicsOfBlockScopeRaceBetweenBlocks) {
  for (const auto& [first, second] :
       {std::pair{Scope::block, Scope::block}, {Scope::block, Scope::gpu}, {Scope::gpu, Scope::block}}) {
    Play p({});
    const To to{.address = p.global, .shared = false};
    p.access(0, 0, kAllLanes, 1, Access::atomic, to, Strength::relaxed, first);
    p.access(0, 1, kAllLanes, 2, Access::atomic, to, Strength::relaxed, first);
    EXPECT_THAT(p.races(), IsEmpty());
    p.access(1, 0, 1, 3, Access::atomic, to, Strength::relaxed, second);
    EXPECT_THAT(p.races(), ElementsAre("8/7"));
  }
}

struct Message {
  const char* name;
  Scope before, after;  ///< of the fence there; none: there is none
  bool clean;
};
class RacesMessage : public ::testing::TestWithParam<Message> {};

TEST_P(RacesMessage, NeedsAFenceOfTheGpuOnBothSides) {
  const Message& m = GetParam();
  Play p({.communicates = true});
  const To data{.address = p.global, .shared = false}, flag{.address = p.global + 64, .shared = false};
  p.access(0, 1, 1, 1, Access::write, data);
  if (m.before != Scope::none) p.fence(0, 32, m.before);
  p.access(0, 1, 1, 2, Access::write, flag, Strength::relaxed, Scope::system);
  p.access(1, 0, 4, 3, Access::read, flag, Strength::relaxed, Scope::system);
  if (m.after != Scope::none) p.fence(1, 2, m.after);
  p.access(1, 0, 4, 4, Access::read, data);
  EXPECT_EQ(p.races(), m.clean ? std::vector<std::string>{} : std::vector<std::string>{"9/6"});
}
INSTANTIATE_TEST_SUITE_P(All, RacesMessage,
                         ::testing::Values(Message{"both", Scope::gpu, Scope::gpu, true},
                                           Message{"system", Scope::system, Scope::gpu, true},
                                           Message{"no_second", Scope::gpu, Scope::none, false},
                                           Message{"no_first", Scope::none, Scope::gpu, false},
                                           Message{"narrow_first", Scope::block, Scope::gpu, false},
                                           Message{"narrow_second", Scope::gpu, Scope::block, false}),
                         [](const auto& i) { return i.param.name; });

TEST(RaceRules, AFenceOfOneSideOrdersThatSideAlone) {
  const auto races = [](Strength before, Strength after) {
    Play p({.communicates = true});
    const To data{.address = p.global, .shared = false}, flag{.address = p.global + 64, .shared = false};
    p.access(0, 1, 1, 1, Access::write, data);
    p.fence(0, 32, Scope::gpu, before);
    p.access(0, 1, 1, 2, Access::write, flag, Strength::relaxed, Scope::gpu);
    p.access(1, 0, 4, 3, Access::read, flag, Strength::relaxed, Scope::gpu);
    p.fence(1, 2, Scope::gpu, after);
    p.access(1, 0, 4, 4, Access::read, data);
    return p.races();
  };
  EXPECT_THAT(races(Strength::release, Strength::acquire), IsEmpty());
  EXPECT_THAT(races(Strength::release, Strength::acquire_release), IsEmpty());
  EXPECT_THAT(races(Strength::acquire_release, Strength::acquire), IsEmpty());
  EXPECT_THAT(races(Strength::acquire, Strength::acquire), ElementsAre("9/6"));
  EXPECT_THAT(races(Strength::release, Strength::release), ElementsAre("9/6"));
}

TEST(RaceRules, ReleaseAndAcquireOperationsNeedNoFence) {
  Play p({.communicates = true});
  const To data{.address = p.global, .shared = false}, flag{.address = p.global + 64, .shared = false};
  p.access(0, 1, 1, 1, Access::write, data);
  p.access(0, 1, 1, 2, Access::write, flag, Strength::release, Scope::gpu);
  p.access(0, 1, 1, 3, Access::write, {.address = p.global + 4, .shared = false});  // too late
  p.access(1, 0, 4, 4, Access::read, flag, Strength::acquire, Scope::gpu);
  p.access(1, 0, 4, 5, Access::read, data);
  EXPECT_THAT(p.races(), IsEmpty());
  p.access(1, 0, 4, 6, Access::read, {.address = p.global + 4, .shared = false});
  EXPECT_THAT(p.races(), ElementsAre("11/8"));
}

TEST(RaceRules, AStoreBetweenEndsTheReleaseSequenceAnAtomicContinuesIt) {
  for (const auto kind : {Access::write, Access::atomic}) {
    Play p({.communicates = true});
    const To data{.address = p.global, .shared = false}, flag{.address = p.global + 64, .shared = false};
    p.access(0, 1, 1, 1, Access::write, data);
    p.access(0, 1, 1, 2, Access::write, flag, Strength::release, Scope::gpu);
    p.access(2, 0, 1, 3, kind, flag, Strength::relaxed, Scope::gpu);
    p.access(1, 0, 4, 4, Access::read, flag, Strength::acquire, Scope::gpu);
    p.access(1, 0, 4, 5, Access::read, data);
    EXPECT_EQ(p.races().empty(), kind == Access::atomic);
  }
}

enum class Fenced { nobody, all_before_the_barrier, the_one_who_counts };

/// Each block writes its part, counts itself, and the last block reads all parts: threadFenceReduction.
std::vector<std::string> last_block(Fenced fenced) {
  Play p({.communicates = true});
  constexpr std::uint64_t blocks = 4;
  const To count{.address = p.global + 4096, .shared = false};
  const auto part = [&](std::uint64_t b) {
    return To{.address = p.global + 128 * b, .shared = false, .stride = 4};
  };
  for (std::uint64_t b = 0; b < blocks; ++b) {
    p.access(b, 1, kAllLanes, 1, Access::write, part(b));
    if (fenced == Fenced::all_before_the_barrier)
      for (std::uint32_t t = 0; t < 128; ++t) p.fence(b, t);
    p.barrier(b);
    if (fenced == Fenced::the_one_who_counts) p.fence(b, 0);
    p.access(b, 0, 1, 2, Access::atomic, count, Strength::relaxed, Scope::gpu);
    p.access(b, 0, 1, 3, Access::write, {.address = 64});
    p.barrier(b);
  }
  for (std::uint64_t b = 0; b < blocks; ++b) p.access(blocks - 1, 2, kAllLanes, 4, Access::read, part(b));
  p.access(blocks - 1, 0, 1, 5, Access::write, count);
  return p.races();
}

TEST(RaceRules, LastBlockReductionNeedsAFenceSomewhere) {
  EXPECT_THAT(last_block(Fenced::the_one_who_counts), IsEmpty());
  EXPECT_THAT(last_block(Fenced::all_before_the_barrier), IsEmpty());
  EXPECT_THAT(last_block(Fenced::nobody), ElementsAre("9/6"));
}

TEST(RaceRules, ASyncCarriesFencesToWhoeverStores) {
  for (const bool partial : {false, true}) {
    Play p({.syncs = partial ? kPartial : kWhole, .communicates = true});
    const To data{.address = p.global, .shared = false}, flag{.address = p.global + 64, .shared = false};
    p.access(0, 0, 2, 1, Access::write, data);
    p.fence(0, 1);
    p.warp_sync(0, 0, partial ? 0b11 : kAllLanes);
    p.access(0, 0, 1, 2, Access::write, flag, Strength::relaxed, Scope::gpu);
    p.access(1, 0, 4, 3, Access::read, flag, Strength::relaxed, Scope::gpu);
    p.fence(1, 2);
    p.access(1, 0, 4, 4, Access::read, data);
    EXPECT_THAT(p.races(), IsEmpty()) << partial;
  }
}

TEST(RaceRules, ABlockInThePlaceOfAnotherKnowsNothingOfIt) {
  Play p({.communicates = true, .blocks = 8});
  const To data{.address = p.global, .shared = false}, flag{.address = p.global + 64, .shared = false},
      other{.address = p.global + 68, .shared = false};
  p.access(0, 0, 1, 1, Access::write, data);
  p.access(0, 0, 1, 2, Access::write, flag, Strength::release, Scope::gpu);
  p.access(1, 0, 1, 3, Access::read, flag, Strength::acquire, Scope::gpu);
  p.announce(1, 0, kAllLanes);
  p.barrier(1);
  p.fence(1, 0);
  p.barrier(1);
  p.end(1);
  p.block(2);
  p.barrier(2, {0, kAllLanes});
  p.access(2, 1, 1, 4, Access::write, other, Strength::relaxed, Scope::gpu);
  p.access(2, 1, 1, 5, Access::read, data);
  EXPECT_THAT(p.races(), ElementsAre("10/6"));
  p.access(3, 0, 1, 6, Access::read, other, Strength::acquire, Scope::gpu);
  p.access(3, 0, 1, 7, Access::read, data);
  EXPECT_THAT(p.races(), ElementsAre("12/6"));
}

TEST(RaceRules, AChainOfAThousandBlocks) {
  Play p({.communicates = true, .warps = 1, .blocks = 1000});
  const auto data = [&](std::uint64_t b) { return To{.address = p.global + 4 * b, .shared = false}; };
  const auto flag = [&](std::uint64_t b) { return To{.address = p.global + 8192 + 4 * b, .shared = false}; };
  for (std::uint64_t b = 0; b < 1000; ++b) {
    if (b > 0) p.access(b, 0, 1, 1, Access::read, flag(b - 1), Strength::acquire, Scope::gpu);
    p.access(b, 0, 1, 2, Access::write, data(b));
    p.access(b, 0, 1, 3, Access::write, flag(b), Strength::release, Scope::gpu);
  }
  for (std::uint64_t b = 0; b < 1000; ++b) p.access(999, 0, 1, 4, Access::read, data(b));
  EXPECT_THAT(p.races(), IsEmpty());
  p.access(998, 0, 1, 5, Access::read, data(997));
  EXPECT_THAT(p.races(), IsEmpty());
  p.access(998, 0, 1, 6, Access::read, data(999));
  EXPECT_THAT(p.races(), ElementsAre("11/7"));
}

TEST(RaceRules, RepeatedRacesAreCounted) {
  Play p({});
  for (std::uint32_t i = 0; i < 10; ++i) {
    p.write(0, 1, {.address = 4 * i});
    p.read(40, 2, {.address = 4 * i});
  }
  ASSERT_THAT(p.races(), ElementsAre("7/6"));
  EXPECT_EQ(p.found[0].count, 10u);
}

TEST(RaceRules, WorkersConflictWhereOneWroteAndTheOtherTouched) {
  const auto conflict = [](Access::Kind a, Strength sa, Access::Kind b, Strength sb, Scope scope) {
    Play p({}), q({});
    p.access(0, 0, kAllLanes, 1, a, {.address = p.global + (1 << 16), .shared = false, .stride = 4}, sa,
             scope);
    q.access(1, 0, 1, 1, b, {.address = q.global + (1 << 16) + 124, .shared = false}, sb, scope);
    EXPECT_EQ(p.detector->conflicts(*q.detector), q.detector->conflicts(*p.detector));
    return p.detector->conflicts(*q.detector);
  };
  constexpr auto weak = Strength::weak, relaxed = Strength::relaxed;
  EXPECT_FALSE(conflict(Access::read, weak, Access::read, weak, Scope::none));
  EXPECT_TRUE(conflict(Access::write, weak, Access::read, weak, Scope::none));
  EXPECT_TRUE(conflict(Access::write, weak, Access::write, weak, Scope::none));
  EXPECT_FALSE(conflict(Access::atomic, relaxed, Access::atomic, relaxed, Scope::gpu));
  EXPECT_TRUE(conflict(Access::atomic, relaxed, Access::atomic, relaxed, Scope::block));
  EXPECT_TRUE(conflict(Access::atomic, relaxed, Access::read, weak, Scope::gpu));
  EXPECT_FALSE(conflict(Access::read, relaxed, Access::read, weak, Scope::gpu));
}

BlockClock up_to(Time floor) {
  BlockClock known;
  known.floor = floor;
  return known;
}

TEST(RacesClock, JoinReturnsAnOperandWhereThatIsTheResult) {
  Clock a, b;
  for (std::uint64_t k = 0; k < 100; ++k) a.join(k * 7919, up_to(static_cast<Time>(k + 1)));
  b.join(7919, up_to(1));
  Clock joined = a;
  joined.join(b);
  EXPECT_EQ(joined, a);
  b.join(a);
  EXPECT_EQ(b, a);
}

TEST(RacesClock, JoinTakesTheLaterThreadByThread) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::map<std::uint64_t, std::vector<Time>> want[3];
    Clock clock[3];
    for (int i = 0; i < 60; ++i) {
      const auto which = random() % 3;
      if (random() % 4 == 0) {
        const auto from = random() % 3;
        clock[which].join(clock[from]);
        for (const auto& [block, times] : want[from]) {
          std::vector<Time>& mine = want[which].try_emplace(block, 64, 0).first->second;
          for (std::size_t t = 0; t < 64; ++t) mine[t] = std::max(mine[t], times[t]);
        }
        continue;
      }
      BlockClock known;
      known.floor = static_cast<Time>(random() % 20);
      known.warp = random() % 2;
      known.warp_floor = static_cast<Time>(random() % 30);
      known.thread = random() % 64;
      known.thread_time = static_cast<Time>(random() % 40);
      const std::uint64_t block = random() % 2 == 0 ? random() % 5 : std::uint64_t{1} << random() % 64;
      clock[which].join(block, known);
      std::vector<Time>& mine = want[which].try_emplace(block, 64, 0).first->second;
      for (std::uint32_t t = 0; t < 64; ++t) {
        mine[t] = std::max(mine[t], known.floor);
        if (t / 32 == known.warp) mine[t] = std::max(mine[t], known.warp_floor);
        if (t == known.thread) mine[t] = std::max(mine[t], known.thread_time);
      }
    }
    for (int i = 0; i < 3; ++i) {
      for (const auto& [block, times] : want[i]) {
        const BlockClock* known = clock[i].find(block);
        ASSERT_NE(known, nullptr);
        for (std::uint32_t t = 0; t < 64; ++t) EXPECT_EQ(known->of(t), times[t]);
      }
      EXPECT_EQ(clock[i].find(999), nullptr);
    }
  }
}

}  // namespace
}  // namespace warploom::sim
