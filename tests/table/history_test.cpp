// Histories of real threads, checked key by key: ConcurrentMap, and chain.hpp over a memory that gives the
// processor away at any access, so that a few cores are enough to stop threads in the middle of everything.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "oracle/linearizability.hpp"
#include "oracle/random.hpp"
#include "table/history_workload.hpp"
#include "warploom/table/concurrent_map.hpp"

namespace warploom::table {
namespace {

using oracle::KeyState;
using oracle::MapOperation;
using History = std::vector<MapOperation>;

/// [ns]. What stands before the call in the program has happened, what stands behind it has not begun: the
/// processor's own reordering, which a clock is not part of, is fenced off.
std::uint64_t now() {
#if defined(__x86_64__)
  _mm_mfence();
  _mm_lfence();
#endif
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
#if defined(__x86_64__)
  _mm_lfence();
#endif
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

/// Key k goes to chain k mod count.
struct Modulo {
  std::uint32_t count = 1;
  LineIndex home(std::uint64_t key) const { return static_cast<LineIndex>(key % count); }
  std::uint64_t chains() const { return count; }
};
[[maybe_unused]] Modulo grown(Modulo, std::uint64_t chains) { return {static_cast<std::uint32_t>(chains)}; }

struct Answered {
  Outcome outcome;
  std::uint64_t value;
};

/// Runs the workload, all threads at once, and then a find of every key by one.
template <class Perform>
History record(Workload workload, const Perform& perform) {
  const auto carry_out = [&](MapOperation& operation) {
    operation.called = now();
    const Answered answer = perform(operation);
    operation.returned = now();
    operation.outcome = answer.outcome;
    const bool valued = answer.outcome == Outcome::found || answer.outcome == Outcome::updated;
    operation.value = valued ? answer.value : 0;
  };
  std::barrier together(static_cast<std::ptrdiff_t>(workload.threads.size()));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < workload.threads.size(); ++t)
    threads.emplace_back([&, t] {
      together.arrive_and_wait();
      for (MapOperation& operation : workload.threads[t]) {
        operation.thread = static_cast<int>(t);
        carry_out(operation);
      }
    });
  for (std::thread& thread : threads) thread.join();
  History all;
  for (const History& part : workload.threads) all.insert(all.end(), part.begin(), part.end());
  for (std::uint64_t key = 0; key < workload.keys; ++key) {
    all.push_back({Operation::find, key});
    carry_out(all.back());
  }
  return all;
}

void expect_linearizable(const History& history, int value_bits) {
  const auto what = oracle::map_violation(
      history, [](std::uint64_t) { return KeyState{}; }, value_bits);
  EXPECT_FALSE(what) << *what;
}

/// Of all lines of a map for a workload: 0, no limit, if it is to grow
std::uint64_t most_bytes(const Workload& workload) {
  return workload.pool == 0 ? 0 : std::uint64_t{workload.chains + workload.pool} * kLineBytes;
}

template <class Key, class Value>
void check_map(const Workload& workload) {
  ConcurrentMap<Key, Value, Modulo> map(Modulo{workload.chains},
                                        {.most_bytes = most_bytes(workload), .grows = workload.pool == 0});
  const History history = record(workload, [&](const MapOperation& operation) -> Answered {
    const auto key = static_cast<Key>(operation.key);
    const auto answer = operation.operation == Operation::find
                            ? map.find(key)
                            : map.perform(operation.operation, key, static_cast<Value>(operation.operand));
    return {answer.outcome, answer.value};
  });
  expect_linearizable(history, 8 * sizeof(Value));
  EXPECT_EQ(balance(history), static_cast<std::int64_t>(map.size()));
  EXPECT_EQ(map.chains() > workload.chains, workload.pool == 0) << "grown, or not";
  std::map<std::uint64_t, std::uint64_t> exported, found;
  map.for_each(
      [&](Key key, Value value) { EXPECT_TRUE(exported.emplace(key, value).second) << "twice: " << key; });
  for (const MapOperation& operation : std::span(history).last(workload.keys))
    if (operation.outcome == Outcome::found) found.emplace(operation.key, operation.value);
  EXPECT_EQ(exported, found);
}

/// Now and then gives the processor to another thread before an access.
class YieldingLines {
 public:
  YieldingLines(std::uint64_t homes, std::uint64_t most_bytes) : lines_(homes, most_bytes, most_bytes == 0) {}
  Word load(LineIndex line, int word) const { return pause().load(line, word); }
  Word load_acquire(LineIndex line, int word) const { return pause().load_acquire(line, word); }
  void store(LineIndex line, int word, Word value) const { pause().store(line, word, value); }
  bool compare_exchange(LineIndex line, int word, Word& expected, Word desired) const {
    return pause().compare_exchange(line, word, expected, desired);
  }
  bool compare_exchange_acquire(LineIndex line, int word, Word& expected, Word desired) const {
    return pause().compare_exchange_acquire(line, word, expected, desired);
  }
  Word fetch_or(LineIndex line, int word, Word bits) const { return pause().fetch_or(line, word, bits); }
  Word fetch_or_acquire(LineIndex line, int word, Word bits) const {
    return pause().fetch_or_acquire(line, word, bits);
  }
  Word fetch_add(LineIndex line, int word, Word operand) const {
    return pause().fetch_add(line, word, operand);
  }
  Word fetch_add_relaxed(LineIndex line, int word, Word operand) const {
    return pause().fetch_add_relaxed(line, word, operand);
  }
  Word exchange(LineIndex line, int word, Word operand) const {
    return pause().exchange(line, word, operand);
  }
  static Word choose(Word slots) { return CpuLines::choose(slots); }
  static void fence() { CpuLines::fence(); }
  LineIndex allocate() const { return pause().allocate(); }
  void release(LineIndex line) const { pause().release(line); }
  static constexpr std::uint32_t kPatience = 4;
  static constexpr bool kGrows = true;
  std::uint32_t level() const { return pause().level(); }
  LineIndex home(LineIndex base, std::uint32_t chain) const { return lines_.home(base, chain); }
  static std::uint32_t spread(Word key) { return CpuLines::spread(key); }
  void grow_if_due() const { pause().grow_if_due(); }

 private:
  const CpuLines& pause() const {
    thread_local Random random(
        static_cast<std::uint32_t>(std::hash<std::thread::id>()(std::this_thread::get_id())));
    if (random.chance(8)) std::this_thread::yield();
    return lines_;
  }
  CpuLines lines_;
};

template <class Slots>
void check_chains(const Workload& workload) {
  const YieldingLines lines(workload.chains, most_bytes(workload));
  const History history = record(workload, [&](const MapOperation& operation) -> Answered {
    Attempt attempt;
    attempt.operation = operation.operation;
    attempt.key = operation.key;
    attempt.operand = operation.operand;
    attempt.home = attempt.base = Modulo{workload.chains}.home(operation.key);
    attempt.spread = CpuLines::spread(operation.key);
    run<Slots>(lines, attempt);
    return {attempt.outcome, attempt.value};
  });
  expect_linearizable(history, Slots::kWide ? 64 : 32);
  EXPECT_EQ(balance(history),
            std::count_if(history.end() - static_cast<std::ptrdiff_t>(workload.keys), history.end(),
                          [](const MapOperation& o) { return o.outcome == Outcome::found; }));
}

TEST(GrowthHistories, OfMapsAreLinearizable) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    check_map<std::uint32_t, std::uint32_t>(growing_workload(4, 150, seed));
    check_map<std::uint64_t, std::uint64_t>(growing_workload(4, 150, seed));
  }
}

TEST(GrowthHistories, OfThreadsThatStopAnywhereAreLinearizable) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    check_chains<NarrowSlots>(growing_workload(4, 150, seed));
    check_chains<WideSlots>(growing_workload(4, 150, seed));
  }
}

class Histories : public testing::TestWithParam<std::size_t> {};

TEST_P(Histories, OfAMapAreLinearizable) {
  const Workload workload = adversarial_workloads(4, 20000, 4).at(GetParam());
  SCOPED_TRACE(workload.name);
  check_map<std::uint32_t, std::uint32_t>(workload);
  check_map<std::uint64_t, std::uint64_t>(workload);
}

TEST_P(Histories, OfThreadsThatStopAnywhereAreLinearizable) {
  const Workload workload = adversarial_workloads(4, 800, 4).at(GetParam());
  SCOPED_TRACE(workload.name);
  check_chains<NarrowSlots>(workload);
  check_chains<WideSlots>(workload);
}

INSTANTIATE_TEST_SUITE_P(Workloads, Histories, testing::Range(std::size_t{0}, std::size_t{5}));

}  // namespace
}  // namespace warploom::table
