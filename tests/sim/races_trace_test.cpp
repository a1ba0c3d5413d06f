// The race detector against a slow one with whole vector clocks, on random traces.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "sim/race_play.hpp"

namespace warploom::sim {
namespace {

using To = Play::To;

/// The obvious detector: a vector clock a thread and every access ever made.
class Oracle {
 public:
  explicit Oracle(std::size_t threads)
      : known_(threads, Times(threads, 0)), pending_(known_), fenced_(threads), now_(threads, 1) {}

  /// Whether the access would race with an earlier one.
  bool races(std::size_t thread, std::uint64_t cell, bool write) const {
    const auto found = events_.find(cell);
    if (found == events_.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(), [&](const Event& e) {
      return (write || e.write) && e.thread != thread && e.time > known_[thread][e.thread];
    });
  }
  void access(std::size_t thread, std::uint64_t cell, bool write) {
    events_[cell].push_back({thread, now_[thread], write});
  }
  void announce(std::uint32_t block, const std::vector<std::size_t>& givers) {
    for (const std::size_t t : givers) give(t, announced_[block]);
  }
  /// Takers come after each other.
  void sync(const std::vector<std::size_t>& takers) { sync(takers, {}); }
  void barrier(const std::vector<std::size_t>& takers) {
    for (const std::size_t t : takers) join(known_[t], pending_[t]);
    sync(takers);
  }
  /// They come after what was announced, too.
  void barrier(const std::vector<std::size_t>& takers, std::uint32_t block) {
    for (const std::size_t t : takers) join(known_[t], pending_[t]);
    sync(takers, std::exchange(announced_[block], {}));
  }
  void fence(std::size_t thread) {
    join(known_[thread], pending_[thread]);
    fenced_[thread] = release(thread);
  }
  void store(std::size_t thread, std::uint64_t at, bool releases) {
    released_[at] = releases ? release(thread) : fenced_[thread];
  }
  void load(std::size_t thread, std::uint64_t at, bool acquires) {
    join(acquires ? known_[thread] : pending_[thread], released_[at]);
  }

 private:
  using Times = std::vector<std::uint64_t>;
  struct Event {
    std::size_t thread;
    std::uint64_t time;
    bool write;
  };
  struct Gathered {
    Times known, fenced;
  };
  void give(std::size_t thread, Gathered& to) {
    join(to.fenced, fenced_[thread]);
    join(to.known, release(thread));
  }
  void sync(const std::vector<std::size_t>& takers, Gathered all) {
    for (const std::size_t t : takers) give(t, all);
    for (const std::size_t t : takers) {
      known_[t] = all.known;
      fenced_[t] = all.fenced;
    }
  }
  static void join(Times& to, const Times& from) {
    if (to.size() < from.size()) to.resize(from.size());
    for (std::size_t u = 0; u < from.size(); ++u) to[u] = std::max(to[u], from[u]);
  }
  Times release(std::size_t thread) {
    Times times = known_[thread];
    times[thread] = now_[thread]++;
    return times;
  }
  std::vector<Times> known_, pending_, fenced_;
  Times now_;
  std::map<std::uint32_t, Gathered> announced_;
  std::map<std::uint64_t, std::vector<Event>> events_;
  std::map<std::uint64_t, Times> released_;
};

struct Mix {
  const char* name;
  bool partial, flags, shared;
  std::uint32_t blocks;
};
class RacesTrace : public ::testing::TestWithParam<Mix> {};

/// Threads, cells and syncs in any order, until the first race: both must see it at the same access. Most
/// accesses that would race are left out, so that traces are long and their order comes from many syncs.
TEST_P(RacesTrace, AgreesWithVectorClocks) {
  const Mix& mix = GetParam();
  constexpr std::uint32_t warps = 3, lanes = 3;  // no other lane accesses
  int with_race = 0, accesses = 0;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    Play p({.syncs = mix.partial ? kPartial : kWhole,
            .communicates = mix.flags,
            .warps = warps,
            .blocks = mix.blocks});
    Oracle oracle(std::size_t{mix.blocks} * warps * lanes);
    const std::uint32_t cells = 1 + below(6), reads = 1 + below(9), syncs = 2 + below(6),
                        boldness = 5 + below(40);
    const auto number = [&](std::uint32_t b, std::uint32_t w, std::uint32_t lane) {
      return (std::size_t{b} * warps + w) * lanes + lane;
    };
    const auto members = [&](std::uint32_t b, const std::vector<Mask>& masks) {
      std::vector<std::size_t> result;
      for (std::uint32_t w = 0; w < warps; ++w)
        for (std::uint32_t l = 0; l < lanes; ++l)
          if ((masks[w] >> l & 1) != 0) result.push_back(number(b, w, l));
      return result;
    };
    // Lanes that the oracle leaves out must not carry what others know: they attend with all or not at all.
    const auto some = [&] { return below(3) == 0 ? kAllLanes : Mask{1 + below((1u << lanes) - 1)}; };
    std::vector<int> kinds = {0, 1};
    if (mix.partial) kinds.insert(kinds.end(), {2, 2, 3, 3, 6});
    if (mix.flags) kinds.insert(kinds.end(), {4, 4, 4, 4, 5});
    bool raced = false;
    for (int event = 0; event < 150 && !raced; ++event) {
      const std::uint32_t b = below(mix.blocks), w = below(warps), lane = below(lanes);
      const std::size_t thread = number(b, w, lane);
      if (below(10) < syncs) {
        std::vector<Mask> waiting(warps);
        switch (kinds[below(static_cast<std::uint32_t>(kinds.size()))]) {
          case 0:
            waiting.assign(warps, kAllLanes);
            p.barrier(b);
            oracle.barrier(members(b, waiting));
            break;
          case 1:
          case 2:
            waiting[w] = mix.partial ? some() : kAllLanes;
            p.warp_sync(b, w, waiting[w]);
            oracle.sync(members(b, waiting));
            break;
          case 3:
            waiting[w] = some();
            if (below(2) == 0) waiting[(w + 1) % warps] = some();
            p.barrier(b, waiting);
            oracle.barrier(members(b, waiting), b);
            break;
          case 6:
            waiting[w] = some();
            p.announce(b, w, waiting[w]);
            oracle.announce(b, members(b, waiting));
            break;
          case 4: {
            const std::uint64_t flag = below(3);
            const bool store = below(2) == 0, strict = below(2) == 0;
            const Strength strength = !strict ? Strength::relaxed
                                      : store ? Strength::release
                                              : Strength::acquire;
            p.access(b, w, Mask{1} << lane, 30, store ? Access::write : Access::read,
                     {.address = p.global + 8192 + 4 * flag, .shared = false}, strength, Scope::gpu);
            store ? oracle.store(thread, flag, strict) : oracle.load(thread, flag, strict);
            break;
          }
          default:
            p.fence(b, w * 32 + lane);
            oracle.fence(thread);
        }
        continue;
      }
      const std::uint32_t cell = below(cells);
      const bool write = below(10) >= reads;
      const std::uint64_t key = mix.shared ? b * 100 + cell : cell;
      const bool expected = oracle.races(thread, key, write);
      if (expected && below(boldness) != 0) continue;
      p.access(b, w, Mask{1} << lane, below(20), write ? Access::write : Access::read,
               {.address = (mix.shared ? 0 : p.global) + 4 * cell, .shared = mix.shared});
      oracle.access(thread, key, write);
      raced = !p.races().empty();
      ASSERT_EQ(raced, expected) << "seed " << seed << " event " << event;
      ++accesses;
    }
    with_race += raced;
  }
  EXPECT_GT(with_race, 400);
  EXPECT_GT(accesses, 15000);
}
INSTANTIATE_TEST_SUITE_P(All, RacesTrace,
                         ::testing::Values(Mix{"shared_whole", false, false, true, 1},
                                           Mix{"shared_partial", true, false, true, 1},
                                           Mix{"global_whole", false, false, false, 1},
                                           Mix{"global_partial", true, false, false, 1},
                                           Mix{"shared_flags", true, true, true, 2},
                                           Mix{"global_flags", true, true, false, 3},
                                           Mix{"global_flags_whole", false, true, false, 3}),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace warploom::sim
