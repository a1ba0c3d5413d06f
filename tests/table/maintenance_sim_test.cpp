// Trim and rehash in the simulator, with the race detector, on chains built by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "warploom/core/demangle.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/sim/sim.hpp"
#include "warploom/table/hash.hpp"
#include "warploom/table/line.hpp"

namespace warploom::table {
namespace {

using sim::Schedule;
using Pairs = std::map<Word, Word>;

/// TableState of maintenance.hpp, which only nvcc can read
struct State {
  LineIndex next_fresh = 0, end = 0;
  sim::Address stack = 0;
  int stacked = 0;
  unsigned padding = 0;
  std::array<Word, 64> given_back{};
  unsigned freed = 0, blocks = 0;
  unsigned long long counters[8]{};
  long long base = 0;
  unsigned long long moved = 0, lost = 0, sum = 0;
};

template <class Slots>
class Lines {
 public:
  static constexpr LineIndex kChains = 40, kPool = 150;

  /// Chains of up to five lines, whose slots are live with this probability; lines after them that were never
  /// used.
  Lines(double live, unsigned seed) : words_((kChains + kPool) * kLineWords) {
    std::mt19937_64 random(seed);
    std::vector<LineIndex> appended(100);
    std::iota(appended.begin(), appended.end(), kChains);
    std::shuffle(appended.begin(), appended.end(), random);
    for (LineIndex chain = 0; chain < kChains; ++chain) {
      fill(chain, live, random);
      LineIndex last = chain;
      for (auto more = random() % 5; more > 0 && !appended.empty(); --more) {
        const LineIndex line = appended.back();
        appended.pop_back();
        tail(last) = Tail{}.with_next(line).bits;
        fill(line, live, random);
        last = line;
      }
    }
    // Of those that no chain got, some are on the stack already, others in lists of those given back.
    for (const LineIndex line : appended) {
      if (line % 3 == 0) {
        stack.push_back(line);
      } else {
        Word& list = state.given_back[line % 5];
        tail(line) = Tail{}.with_next(~static_cast<LineIndex>(list)).bits;
        list = (Word{7} << 32) | static_cast<LineIndex>(~line);
      }
    }
    state.stacked = static_cast<int>(stack.size());
    stack.resize(kPool);
    state.next_fresh = kChains + 100;
    state.end = kChains + kPool;
  }
  static Lines empty(LineIndex chains, LineIndex pool) {
    Lines lines;
    lines.words_.resize((chains + pool) * kLineWords);
    lines.state.next_fresh = chains;
    lines.state.end = chains + pool;
    lines.stack.resize(pool);
    return lines;
  }

  std::vector<LineIndex> chain(LineIndex home) {
    std::vector<LineIndex> lines;
    for (LineIndex line = home; line != kNoLine; line = Tail{tail(line)}.next()) lines.push_back(line);
    return lines;
  }
  Pairs pairs(LineIndex home) {
    Pairs pairs;
    for (const LineIndex line : chain(home)) {
      for (int slot = 0; slot < Slots::kSlots; ++slot) {
        if (!Header{word(line, kHeaderWord)}.live(slot)) continue;
        const Word first = word(line, Slots::key_word(slot));
        const Word key = Slots::kWide ? first : static_cast<std::uint32_t>(first);
        const Word value = Slots::kWide ? word(line, Slots::key_word(slot) + 1) : first >> 32;
        EXPECT_TRUE(pairs.emplace(key, value).second);
      }
    }
    return pairs;
  }
  /// Lines in the lists of those given back, and on the stack
  std::vector<LineIndex> free_lines() {
    std::vector<LineIndex> lines(stack.begin(), stack.begin() + std::max(state.stacked, 0));
    for (const Word list : state.given_back)
      for (LineIndex line = ~static_cast<LineIndex>(list); line != kNoLine; line = Tail{tail(line)}.next())
        lines.push_back(line);
    return lines;
  }
  Word& word(LineIndex line, int index) { return words_[line * std::size_t{kLineWords} + index]; }
  Word& tail(LineIndex line) { return word(line, kTailWord); }
  std::vector<Word>& words() { return words_; }

  State state;
  std::vector<LineIndex> stack;

 private:
  Lines() = default;
  void fill(LineIndex line, double live, std::mt19937_64& random) {
    Header header{random() % 1000 << Header::kVersionShift};
    for (int slot = 0; slot < Slots::kSlots; ++slot) {
      word(line, Slots::key_word(slot)) = random();
      if (Slots::kWide) word(line, Slots::key_word(slot) + 1) = random();
      if (std::bernoulli_distribution(live)(random)) header = header.with(slot, SlotState::live);
    }
    word(line, kHeaderWord) = header.bits;
  }

  std::vector<Word> words_;
};

template <class Slots>
class Simulator {
 public:
  Simulator() : machine_(ptx::parse(read_file(WARPLOOM_KERNEL_PTX), "maintenance.ptx")) {}

  void trim(Lines<Slots>& lines, bool only_if_short, Schedule schedule) {
    const sim::Address words = machine_.upload(std::span(lines.words())), state = upload(lines);
    launch("trim_chains",
           sim::Arguments().add(words).add(state).add(Lines<Slots>::kChains).add(std::uint8_t{only_if_short}),
           schedule);
    download(words, state, lines);
  }
  void rehash(Lines<Slots>& from, Lines<Slots>& to, const Placement& placement, Schedule schedule) {
    const sim::Address source = machine_.upload(std::span(from.words())),
                       target = machine_.upload(std::span(to.words())), state = upload(to);
    sim::Arguments arguments;
    arguments.add(source)
        .add(std::uint64_t{from.words().size() / kLineWords})
        .add(target)
        .add(state)
        .add(placement);
    launch("rehash", arguments, schedule);
    download(target, state, to);
  }

 private:
  sim::Address upload(Lines<Slots>& lines) {
    lines.state.stack = machine_.upload(std::span(lines.stack));
    return machine_.upload(std::span(&lines.state, 1));
  }
  void download(sim::Address words, sim::Address state, Lines<Slots>& lines) {
    machine_.download(words, std::span(lines.words()));
    machine_.download(state, std::span(&lines.state, 1));
    machine_.download(lines.state.stack, std::span(lines.stack));
  }
  void launch(const std::string& kernel, const sim::Arguments& arguments, Schedule schedule) {
    const std::string wanted =
        kernel + "<warploom::table::" + (Slots::kWide ? "WideSlots" : "NarrowSlots") + ">";
    sim::LaunchOptions options;
    options.grid = {2};
    options.block = {256};
    options.schedule = schedule;
    options.races = true;
    for (const ptx::Function& function : machine_.module().functions) {
      if (!function.entry || !function_name(function.name).ends_with(wanted)) continue;
      const sim::Outcome outcome = machine_.launch(function.name, arguments, options);
      EXPECT_TRUE(outcome.completed);
      for (const sim::Finding& finding : outcome.findings) ADD_FAILURE() << finding.text();
      return;
    }
    throw BadInput("there is no " + wanted);
  }

  sim::Machine machine_;
};

template <class Slots>
class MaintenanceSim : public testing::Test {};
using BothSlots = testing::Types<NarrowSlots, WideSlots>;
TYPED_TEST_SUITE(MaintenanceSim, BothSlots);

TYPED_TEST(MaintenanceSim, TrimKeepsPairsInAsFewLinesAsHoldThem) {
  for (const double live : {0.0, 0.2, 0.7, 1.0}) {
    for (const Schedule schedule : {Schedule::in_order, Schedule::adversarial}) {
      Lines<TypeParam> lines(live, 1 + static_cast<unsigned>(10 * live));
      std::vector<Pairs> before;
      for (LineIndex chain = 0; chain < lines.kChains; ++chain) before.push_back(lines.pairs(chain));
      const std::set<LineIndex> stacked_before(lines.stack.begin(),
                                               lines.stack.begin() + lines.state.stacked);
      Simulator<TypeParam>().trim(lines, false, schedule);

      std::set<LineIndex> in_chains;
      for (LineIndex chain = 0; chain < lines.kChains; ++chain) {
        EXPECT_EQ(lines.pairs(chain), before[chain]) << "chain " << chain;
        const std::vector<LineIndex> held = lines.chain(chain);
        const std::size_t needed = (before[chain].size() + TypeParam::kSlots - 1) / TypeParam::kSlots;
        EXPECT_EQ(held.size(), std::max<std::size_t>(needed, 1)) << "chain " << chain;
        in_chains.insert(held.begin(), held.end());
      }
      // Every other line that was ever given out is on the stack, once.
      for (const Word list : lines.state.given_back) EXPECT_EQ(static_cast<LineIndex>(list), 0u);
      std::set<LineIndex> free;
      for (const LineIndex line : lines.free_lines())
        EXPECT_TRUE(free.insert(line).second && !in_chains.contains(line)) << "line " << line;
      EXPECT_EQ(in_chains.size() + free.size(), lines.state.next_fresh);
      for (int i = 0; i < lines.state.stacked; ++i) {
        const LineIndex line = lines.stack[static_cast<std::size_t>(i)];
        EXPECT_TRUE(stacked_before.contains(line) ||
                    (lines.word(line, kHeaderWord) == 0 && lines.tail(line) == 0))
            << "line " << line;
      }
      EXPECT_EQ(lines.state.freed, 0u);
      EXPECT_EQ(lines.state.blocks, 0u);
    }
  }
}

TYPED_TEST(MaintenanceSim, TrimLeavesLinesAloneThatAreNotShort) {
  // Of 150 lines in the pool 37 are a quarter: 50 were never used.
  Lines<TypeParam> lines(0.2, 3);
  const std::vector<Word> before = lines.words();
  Simulator<TypeParam> simulator;
  simulator.trim(lines, true, Schedule::in_order);
  EXPECT_EQ(lines.words(), before);
  // All but 30 used, and none on the stack: now they are.
  Lines<TypeParam> few(0.2, 3);
  few.state.next_fresh = few.kChains + 120;
  few.state.stacked = -1;
  simulator.trim(few, true, Schedule::in_order);
  EXPECT_NE(few.words(), before);
}

TYPED_TEST(MaintenanceSim, RehashMovesEveryPairToItsChain) {
  for (const Schedule schedule : {Schedule::in_order, Schedule::random, Schedule::adversarial}) {
    Lines<TypeParam> from(0.5, 4);
    Pairs all;
    for (LineIndex chain = 0; chain < from.kChains; ++chain) all.merge(from.pairs(chain));
    Placement placement;
    placement.tables = 3;
    placement.buckets = 10;
    placement.key_bytes = TypeParam::kWide ? 8 : 4;
    auto to = Lines<TypeParam>::empty(30, 150);
    Simulator<TypeParam>().rehash(from, to, placement, schedule);
    Pairs moved;
    for (LineIndex chain = 0; chain < 30; ++chain) {
      for (const auto& [key, value] : to.pairs(chain)) {
        EXPECT_EQ(placement.home(key), chain);
        moved.emplace(key, value);
      }
    }
    EXPECT_EQ(moved, all);
    EXPECT_EQ(to.state.moved, all.size());
    EXPECT_EQ(to.state.lost, 0u);
  }
}

TYPED_TEST(MaintenanceSim, LinesFromTheStackAreTakenOnceEach) {
  for (const Schedule schedule : {Schedule::in_order, Schedule::random, Schedule::adversarial}) {
    Lines<TypeParam> from(0.5, 6);
    std::size_t all = 0, there = 0;
    for (LineIndex chain = 0; chain < from.kChains; ++chain) all += from.pairs(chain).size();
    Placement placement;
    placement.buckets = 20;
    auto to = Lines<TypeParam>::empty(20, 200);
    to.state.next_fresh = to.state.end;  // no others
    std::iota(to.stack.begin(), to.stack.end(), LineIndex{20});
    to.state.stacked = 200;
    Simulator<TypeParam>().rehash(from, to, placement, schedule);
    std::set<LineIndex> lines;
    std::size_t taken = 0;
    for (LineIndex chain = 0; chain < 20; ++chain) {
      there += to.pairs(chain).size();
      for (const LineIndex line : to.chain(chain)) lines.insert(line), ++taken;
    }
    for (const LineIndex line : to.free_lines()) lines.insert(line), ++taken;
    EXPECT_EQ(there, all);
    EXPECT_EQ(to.state.moved, all);
    EXPECT_EQ(lines.size(), 220u);
    EXPECT_EQ(taken, lines.size());
    EXPECT_LT(to.state.stacked, 200);
  }
}

TYPED_TEST(MaintenanceSim, RehashCountsThePairsThatFoundNoRoom) {
  Lines<TypeParam> from(0.5, 5);
  std::size_t all = 0, there = 0;
  for (LineIndex chain = 0; chain < from.kChains; ++chain) all += from.pairs(chain).size();
  Placement placement;
  placement.buckets = 20;
  auto to = Lines<TypeParam>::empty(20, 5);
  Simulator<TypeParam>().rehash(from, to, placement, Schedule::random);
  for (LineIndex chain = 0; chain < 20; ++chain) there += to.pairs(chain).size();
  EXPECT_EQ(to.state.moved, there);
  EXPECT_EQ(to.state.lost, all - there);
  EXPECT_GT(to.state.lost, 0u);
}

}  // namespace
}  // namespace warploom::table
