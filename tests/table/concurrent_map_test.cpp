// ConcurrentMap: one thread against std::unordered_map, several threads against what must be true in any
// order.

#include "warploom/table/concurrent_map.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <limits>
#include <numeric>
#include <random>
#include <thread>
#include <unordered_map>

#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"
#include "warploom/core/sanitizers.hpp"

namespace warploom::table {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr unsigned kThreads = 4;

template <class Key, class Value>
struct Pairs {
  using K = Key;
  using V = Value;
};
template <class T>
class ConcurrentMapOf : public testing::Test {};
using Types = testing::Types<Pairs<std::uint32_t, std::uint32_t>, Pairs<std::uint32_t, std::uint64_t>,
                             Pairs<std::uint64_t, std::uint32_t>, Pairs<std::uint64_t, std::uint64_t>>;
TYPED_TEST_SUITE(ConcurrentMapOf, Types);

using Map = ConcurrentMap<std::uint32_t, std::uint32_t>;
/// Of that many chains, for as many pairs as come
Map map_of(std::uint32_t chains, const MapOptions& options = {}) {
  return Map(MixPlacement{chains}, options);
}

/// What each operation does, one after the other.
template <class Key, class Value>
struct Model {
  std::unordered_map<Key, Value> pairs;

  std::pair<Outcome, Value> carry_out(Operation operation, Key key, Value operand) {
    const auto place = pairs.find(key);
    if (operation == Operation::find)
      return place == pairs.end() ? std::pair(Outcome::absent, Value{0})
                                  : std::pair(Outcome::found, place->second);
    if (operation == Operation::erase)
      return {pairs.erase(key) != 0 ? Outcome::erased : Outcome::absent, Value{0}};
    if (place == pairs.end()) {
      pairs.emplace(key, operand);
      return {Outcome::inserted, Value{0}};
    }
    const Value before = place->second;
    if (operation == Operation::insert) return {Outcome::found, before};
    if (operation == Operation::assign) place->second = operand;
    if (operation == Operation::add) place->second = static_cast<Value>(before + operand);
    if (operation == Operation::min) place->second = std::min(before, operand);
    if (operation == Operation::max) place->second = std::max(before, operand);
    return {Outcome::updated, before};
  }
};

/// KeyRandom operations on random ones of `keys`; the extremes of values are frequent.
template <class Key, class Value>
struct KeyRandom {
  std::vector<Key> keys;
  std::mt19937_64 bits;

  Operation operation() { return static_cast<Operation>(bits() % kOperations); }
  Key key() { return keys[bits() % keys.size()]; }
  Value value() {
    const std::uint64_t draw = bits();
    return draw % 8 == 0   ? 0
           : draw % 8 == 1 ? std::numeric_limits<Value>::max()
                           : static_cast<Value>(draw >> 8);
  }
};

/// 0, 1, ..., the largest, the one before, ..., and others
template <class Key>
std::vector<Key> some_keys(std::size_t count) {
  std::vector<Key> keys;
  for (std::size_t i = 0; i < count; ++i) {
    const auto key = static_cast<Key>(i / 3);
    keys.push_back(i % 3 == 0 ? key : i % 3 == 1 ? static_cast<Key>(~key) : static_cast<Key>(mix(i)));
  }
  return keys;
}

template <class Key, class Value, class Placer>
std::unordered_map<Key, Value> contents(const ConcurrentMap<Key, Value, Placer>& map) {
  std::unordered_map<Key, Value> pairs;
  map.for_each([&](Key key, Value value) {
    EXPECT_TRUE(pairs.emplace(key, value).second) << key << " is there twice";
  });
  EXPECT_EQ(map.size(), pairs.size());
  return pairs;
}

template <class Body>
void on_threads(Body body) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back([&body, t] { body(t); });
  for (std::thread& thread : threads) thread.join();
}

TYPED_TEST(ConcurrentMapOf, DoesWhatAMapDoes) {
  using Key = typename TypeParam::K;
  using Value = typename TypeParam::V;
  for (const std::uint32_t chains :
       {1u, 7u, 100u}) {  // 90 keys: 7 or 13 lines, some lines, few beyond the home ones
    ConcurrentMap<Key, Value> map(MixPlacement{chains});
    Model<Key, Value> model;
    KeyRandom<Key, Value> random{some_keys<Key>(90), std::mt19937_64(chains)};
    for (int i = 0; i < 20000; ++i) {
      const Operation operation = random.operation();
      const Key key = random.key();
      const Value operand = random.value();
      const auto answer = operation == Operation::find ? map.find(key) : map.perform(operation, key, operand);
      const auto [outcome, value] = model.carry_out(operation, key, operand);
      ASSERT_EQ(answer.outcome, outcome) << name(operation) << ' ' << key << ", operation " << i;
      ASSERT_EQ(answer.value, value) << name(operation) << ' ' << key << ", operation " << i;
    }
    EXPECT_EQ(contents(map), model.pairs);
  }
}

TYPED_TEST(ConcurrentMapOf, NamesItsOperations) {
  using Key = typename TypeParam::K;
  using Value = typename TypeParam::V;
  ConcurrentMap<Key, Value> map;
  const Key key = std::numeric_limits<Key>::max();
  EXPECT_FALSE(map.contains(key));
  EXPECT_EQ(map.insert(key, 5).outcome, Outcome::inserted);
  EXPECT_TRUE(map.contains(key));
  EXPECT_EQ(map.insert(key, 6).value, 5u);
  EXPECT_EQ(map.insert_or_assign(key, 7).value, 5u);
  EXPECT_EQ(map.fetch_add(key, 3).value, 7u);
  EXPECT_EQ(map.fetch_min(key, 4).value, 10u);
  EXPECT_EQ(map.fetch_max(key, 8).value, 4u);
  EXPECT_EQ(map.find(key).value, 8u);
  EXPECT_TRUE(map.erase(key));
  EXPECT_FALSE(map.erase(key));
  EXPECT_EQ(map.size(), 0u);
}

TYPED_TEST(ConcurrentMapOf, RunsBatches) {
  using Key = typename TypeParam::K;
  using Value = typename TypeParam::V;
  ConcurrentMap<Key, Value> map(100);
  Model<Key, Value> model;
  KeyRandom<Key, Value> random{some_keys<Key>(9000), std::mt19937_64(3)};
  for (int round = 0; round < 6; ++round) {
    // Every key at most once in a batch: the order of its operations does not matter.
    std::ranges::shuffle(random.keys, random.bits);
    const std::vector<Key> keys(random.keys.begin(), random.keys.begin() + 6000);
    std::vector<Operation> operations(keys.size());
    std::vector<Value> operands(keys.size()), values(keys.size(), 99);
    std::vector<Outcome> outcomes(keys.size(), Outcome::invalid);
    Tally tally;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      operations[i] = random.operation();
      operands[i] = random.value();
    }
    const BatchCounts counts = map.run(operations, keys, operands, outcomes, values, {.threads = kThreads});
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto [outcome, value] = model.carry_out(operations[i], keys[i], operands[i]);
      ASSERT_EQ(outcomes[i], outcome) << name(operations[i]) << ' ' << keys[i] << ", round " << round;
      ASSERT_EQ(values[i], value) << name(operations[i]) << ' ' << keys[i] << ", round " << round;
      tally.inserted += outcome == Outcome::inserted;
      tally.erased += outcome == Outcome::erased;
    }
    EXPECT_EQ(counts.tally.inserted, tally.inserted);
    EXPECT_EQ(counts.tally.erased, tally.erased);
    EXPECT_EQ(counts.tally.full, 0u);
  }
  EXPECT_EQ(contents(map), model.pairs);
}

TYPED_TEST(ConcurrentMapOf, ThreadsWithKeysOfTheirOwnDoNotDisturbEachOther) {
  using Key = typename TypeParam::K;
  using Value = typename TypeParam::V;
  ConcurrentMap<Key, Value> map(MixPlacement{5});
  const std::vector<Key> keys = some_keys<Key>(kThreads * 30);
  std::vector<Model<Key, Value>> models(kThreads);
  std::vector<int> wrong(kThreads);
  on_threads([&](unsigned t) {
    KeyRandom<Key, Value> random{std::vector<Key>(keys.begin() + t * 30, keys.begin() + (t + 1) * 30),
                                 std::mt19937_64(t)};
    for (int i = 0; i < 10000; ++i) {
      const Operation operation = random.operation();
      const Key key = random.key();
      const Value operand = random.value();
      const auto answer = operation == Operation::find ? map.find(key) : map.perform(operation, key, operand);
      const auto [outcome, value] = models[t].carry_out(operation, key, operand);
      wrong[t] += answer.outcome != outcome || answer.value != value;
    }
  });
  EXPECT_EQ(wrong, std::vector<int>(kThreads));
  std::unordered_map<Key, Value> all;
  for (const auto& model : models) all.insert(model.pairs.begin(), model.pairs.end());
  EXPECT_EQ(contents(map), all);
}

TEST(ConcurrentMap, OneOfSeveralThreadsInsertsAndOneErases) {
  Map map = map_of(3);
  std::atomic<int> inserted = 0, erased = 0, wrong = 0;
  std::barrier round(kThreads);
  on_threads([&](unsigned t) {
    for (std::uint32_t key = 0; key < 300; ++key) {
      round.arrive_and_wait();
      const Map::Result result = map.insert(key, t);
      inserted += result.outcome == Outcome::inserted;
      wrong += result.outcome == Outcome::found && result.value >= kThreads;
      round.arrive_and_wait();
      wrong += !map.contains(key);
      round.arrive_and_wait();
      erased += map.erase(key);
    }
  });
  EXPECT_EQ(inserted, 300);
  EXPECT_EQ(erased, 300);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(map.size(), 0u);
}

TYPED_TEST(ConcurrentMapOf, NoAdditionIsLost) {
  using Key = typename TypeParam::K;
  using Value = typename TypeParam::V;
  ConcurrentMap<Key, Value> map(MixPlacement{2});
  constexpr std::uint32_t kKeys = 40, kRounds = 300;
  on_threads([&](unsigned t) {
    for (std::uint32_t i = 0; i < kKeys * kRounds; ++i) {
      map.fetch_add(i % kKeys, i);
      map.fetch_max(kKeys + i % kKeys, i * kThreads + t);
      map.insert(1000 + t, 0);  // slots come and go beside
      map.erase(1000 + t);
    }
  });
  for (std::uint32_t key = 0; key < kKeys; ++key) {
    // i = key, key + 40, ..., each by every thread
    const std::uint64_t sum =
        std::uint64_t{kRounds} * key + std::uint64_t{kKeys} * kRounds * (kRounds - 1) / 2;
    EXPECT_EQ(map.find(key).value, static_cast<Value>(kThreads * sum));
    EXPECT_EQ(map.find(kKeys + key).value, (kKeys * (kRounds - 1) + key) * kThreads + kThreads - 1);
  }
  EXPECT_EQ(map.size(), 2 * kKeys);
}

TEST(ConcurrentMap, EveryErasedPairWasInserted) {
  Map map = map_of(4);
  std::atomic<std::int64_t> pairs = 0;
  std::atomic<int> wrong = 0;
  on_threads([&](unsigned t) {
    std::mt19937 random(t);
    for (int i = 0; i < 30000; ++i) {
      const auto key = static_cast<std::uint32_t>(random() % 60);
      if (random() % 2 == 0) {
        pairs += map.insert(key, ~key).outcome == Outcome::inserted;
      } else {
        pairs -= map.erase(key);
      }
      const Map::Result result = map.find(key);
      wrong += result.outcome == Outcome::found && result.value != ~key;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(static_cast<std::int64_t>(map.size()), pairs);
  for (const auto& [key, value] : contents(map)) EXPECT_EQ(value, ~key);
}

TYPED_TEST(ConcurrentMapOf, KeepsAllPairsWhenItGrows) {
  using Key = typename TypeParam::K;
  using Value = typename TypeParam::V;
  ConcurrentMap<Key, Value> map(10);
  std::unordered_map<Key, Value> all;
  for (const Key key : some_keys<Key>(5000)) {
    map.insert(key, static_cast<Value>(~key));
    all.emplace(key, static_cast<Value>(~key));
  }
  map.reserve(20000);
  EXPECT_EQ(map.chains(), (chains_for<Key, Value>(20000)));
  EXPECT_EQ(contents(map), all);
  map.reserve(100);
  EXPECT_EQ(map.chains(), (chains_for<Key, Value>(20000)));
  for (const auto& [key, value] : all) ASSERT_EQ(map.find(key).value, value);
}

TEST(ConcurrentMap, GrowsWithABatch) {
  Map map = map_of(1);
  std::vector<std::uint32_t> keys(100000);
  std::iota(keys.begin(), keys.end(), 0);
  const BatchCounts counts = map.run(Operation::insert, keys, keys, {}, {}, {.threads = kThreads});
  EXPECT_EQ(counts.tally.inserted, keys.size());
  EXPECT_GE(map.chains() * 14, keys.size());
  EXPECT_LE(map.chains(), keys.size() / 2);
  const Statistics statistics = map.statistics();
  EXPECT_EQ(statistics.pairs, keys.size());
  EXPECT_LT(statistics.chain_lengths.size(), 60u);
}

TEST(ConcurrentMap, DoesNotGrowUnlessItMay) {
  Map map = map_of(10, {.grows = false});
  std::vector<std::uint32_t> keys(5000);
  std::iota(keys.begin(), keys.end(), 0);
  EXPECT_EQ(map.run(Operation::insert, keys, keys, {}, {}).tally.inserted, keys.size());
  EXPECT_EQ(map.chains(), 10u);
  EXPECT_EQ(map.size(), keys.size());
}

TEST(ConcurrentMap, RefusesMoreThanAChainMayHaveOnlyIfItDoesNotGrow) {
#if WARPLOOM_THREAD_SANITIZER
  GTEST_SKIP() << "one thread, and minutes under ThreadSanitizer";
#endif
  using Wide = ConcurrentMap<std::uint64_t, std::uint64_t>;
  const std::uint64_t most = (Header::kMostOrdinal + 1) * WideSlots::kSlots;
  Wide map(MixPlacement{1}, {.grows = false}), growing(MixPlacement{1});
  for (std::uint64_t key = 0; key < most; ++key) ASSERT_EQ(map.insert(key, key).outcome, Outcome::inserted);
  EXPECT_EQ(map.insert(most, most).outcome, Outcome::full);
  EXPECT_FALSE(map.contains(most));
  EXPECT_EQ(map.size(), most);
  for (std::uint64_t key = 0; key <= most; ++key)
    ASSERT_EQ(growing.insert(key, key).outcome, Outcome::inserted);
}

TYPED_TEST(ConcurrentMapOf, GrowsWhileThreadsInsert) {
  using Key = typename TypeParam::K;
  using Value = typename TypeParam::V;
  ConcurrentMap<Key, Value> map(1);
  constexpr std::uint32_t kKeys = 20000;
  std::atomic<std::uint32_t> inserted = 0, wrong = 0;
  on_threads([&](unsigned t) {
    // Two threads insert each key; every key that a thread knows to be there is found.
    for (std::uint32_t i = 0; i < kKeys; ++i) {
      const auto key = static_cast<Key>(t / 2 * kKeys + i);
      inserted += map.insert(key, static_cast<Value>(~key)).outcome == Outcome::inserted;
      const auto back = static_cast<Key>(t / 2 * kKeys + i / 2);
      wrong += map.find(back).value != static_cast<Value>(~back);
    }
  });
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(inserted, kThreads / 2 * kKeys);
  const std::size_t slots = ConcurrentMap<Key, Value>::Slots::kSlots;
  EXPECT_GT(map.chains() * slots, inserted);
  EXPECT_LT(map.chains() * slots, 6 * inserted);
  EXPECT_LT(map.statistics().chain_lengths.size(), 4 * slots);
  EXPECT_EQ(contents(map).size(), inserted);
}

TYPED_TEST(ConcurrentMapOf, LosesNoAdditionWhileItGrows) {
  using Key = typename TypeParam::K;
  using Value = typename TypeParam::V;
  ConcurrentMap<Key, Value> map(1);
  constexpr std::uint32_t kKeys = 10000, kHot = 8;
  on_threads([&](unsigned t) {
    for (std::uint32_t i = 0; i < kKeys; ++i) {
      map.fetch_add(static_cast<Key>(i % kHot), 1);
      map.fetch_add(static_cast<Key>(kHot + i), t);
    }
  });
  for (std::uint32_t key = 0; key < kHot; ++key) ASSERT_EQ(map.find(key).value, kThreads * kKeys / kHot);
  for (std::uint32_t i = 0; i < kKeys; ++i)
    ASSERT_EQ(map.find(static_cast<Key>(kHot + i)).value, 0u + 1 + 2 + 3);
  EXPECT_EQ(map.size(), kHot + kKeys);
}

TYPED_TEST(ConcurrentMapOf, UpdatesByAFunction) {
  using Key = typename TypeParam::K;
  using Value = typename TypeParam::V;
  ConcurrentMap<Key, Value> map(1);
  const Value most = std::numeric_limits<Value>::max();
  EXPECT_EQ(map.update(3, [](Value value) { return value; }).outcome, Outcome::absent);
  map.insert(3, 7);
  const auto before = map.update(3, [&](Value value) { return most - value; });
  EXPECT_EQ(before.outcome, Outcome::updated);
  EXPECT_EQ(before.value, 7u);
  EXPECT_EQ(map.find(3).value, most - 7);
  on_threads([&](unsigned) {
    for (int i = 0; i < 5000; ++i) map.update(3, [](Value value) { return static_cast<Value>(value * 3); });
  });
  Value expected = most - 7;
  for (unsigned i = 0; i < 5000 * kThreads; ++i) expected = static_cast<Value>(expected * 3);
  EXPECT_EQ(map.find(3).value, expected);
}

TEST(ConcurrentMap, ReportsThatItIsFullAndLosesNothing) {
  constexpr std::uint64_t kLines = 40;
  Map map = map_of(8, {.most_bytes = kLines * kLineBytes});
  std::vector<std::uint32_t> keys(2000);
  std::iota(keys.begin(), keys.end(), 0);
  std::vector<Outcome> outcomes(keys.size());
  const BatchCounts counts = map.run(Operation::insert, keys, keys, outcomes, {}, {.threads = kThreads});
  EXPECT_EQ(counts.tally.inserted + counts.tally.full, keys.size());
  EXPECT_GT(counts.tally.inserted, (kLines - 8) * 13);
  EXPECT_LE(counts.tally.inserted, kLines * 14);
  EXPECT_LE(map.bytes(), kLines * kLineBytes);
  for (std::size_t i = 0; i < keys.size(); ++i)
    EXPECT_EQ(map.contains(keys[i]), outcomes[i] == Outcome::inserted);
  EXPECT_EQ(map.size(), counts.tally.inserted);
  EXPECT_THROW(map.reserve(1000), OutOfMemory);
  EXPECT_EQ(map.size(), counts.tally.inserted);
  // Room comes back with every pair erased.
  const auto there = std::ranges::find(outcomes, Outcome::inserted) - outcomes.begin();
  const auto missing = std::ranges::find(outcomes, Outcome::full) - outcomes.begin();
  EXPECT_EQ(map.insert(keys[missing], 0).outcome, Outcome::full);
  EXPECT_TRUE(map.erase(keys[there]));
  EXPECT_EQ(map.insert(keys[there], 0).outcome, Outcome::inserted);
}

TEST(ConcurrentMap, TrimsLinesThatAreNotNeededAnyMore) {
  Map map = map_of(100, {.grows = false});
  constexpr std::uint32_t kMany = 20000, kFew = 1200;
  for (std::uint32_t key = 0; key < kMany; ++key) map.insert(key, ~key);
  const std::uint64_t most = map.bytes();
  for (std::uint32_t key = kFew; key < kMany; ++key) ASSERT_TRUE(map.erase(key));
  EXPECT_EQ(map.bytes(), most);
  map.trim();
  EXPECT_LT(map.bytes(), most / 5);
  const Statistics statistics = map.statistics();
  EXPECT_EQ(statistics.pairs, kFew);
  // 12 pairs a chain: most need no second line, none a third.
  EXPECT_LT(statistics.bytes_nodes, 50u * kLineBytes);
  EXPECT_EQ(contents(map).size(), kFew);
  for (std::uint32_t key = 0; key < kFew; ++key) ASSERT_EQ(map.find(key).value, ~key);
  for (std::uint32_t key = kFew; key < kMany; ++key) map.insert(key, ~key);
  EXPECT_EQ(contents(map).size(), kMany);
}

TEST(ConcurrentMap, NeedsNoMoreMemoryHoweverOftenPairsComeAndGo) {
  Map map(900);  // 101 chains
  for (std::uint32_t key = 0; key < 900; ++key) map.insert(key, key);
  for (std::uint32_t i = 0; i < 1'000'000; ++i) {
    ASSERT_TRUE(map.erase(i % 5000));
    ASSERT_EQ(map.insert((i + 900) % 5000, i).outcome, Outcome::inserted);
  }
  EXPECT_EQ(map.size(), 900u);
  // No chain ever has 29 of its 50 keys at once, so that none has a third line.
  EXPECT_LE(map.statistics().bytes_nodes, map.chains() * kLineBytes);
}

TEST(ConcurrentMap, CanBeCleared) {
  Map map = map_of(20);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t key = 0; key < 1000; ++key) ASSERT_EQ(map.insert(key, key).outcome, Outcome::inserted);
    map.clear();
    EXPECT_EQ(map.size(), 0u);
    EXPECT_FALSE(map.contains(5));
  }
}

TEST(ConcurrentMap, CountsWhatItHolds) {
  ConcurrentMap<std::uint32_t, std::uint32_t, Placement> map(Placement{.tables = 4, .buckets = 5},
                                                             {.grows = false});
  for (std::uint32_t key = 0; key < 3000; ++key) map.insert(key, key);
  const Statistics statistics = map.statistics(4);
  EXPECT_EQ(statistics.pairs, 3000u);
  std::vector<std::uint64_t> per_table(4);
  for (std::uint32_t key = 0; key < 3000; ++key) ++per_table[map.placer().table(key)];
  EXPECT_EQ(statistics.pairs_per_table, per_table);
  std::uint64_t chains = 0, pairs = 0;
  for (std::size_t length = 0; length < statistics.chain_lengths.size(); ++length) {
    chains += statistics.chain_lengths[length];
    pairs += statistics.chain_lengths[length] * length;
  }
  EXPECT_EQ(chains, 20u);
  EXPECT_EQ(pairs, 3000u);
  EXPECT_EQ(statistics.bytes_directory, 20u * kLineBytes);
  EXPECT_GE(statistics.bytes_nodes, (3000u / 14 - 20) * kLineBytes);
  EXPECT_EQ(statistics.bytes_directory + statistics.bytes_nodes + statistics.bytes_free, map.bytes());
}

TEST(ConcurrentMap, ExportsAllPairs) {
  Map map = map_of(7);
  for (std::uint32_t key = 0; key < 500; ++key) map.insert(key, 3 * key);
  std::vector<std::uint32_t> keys = {1, 2, 3}, values;
  map.export_pairs(keys, values);
  ASSERT_EQ(values.size(), keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(values[i], 3 * keys[i]);
  std::ranges::sort(keys);
  std::vector<std::uint32_t> all(500);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(keys, all);
}

/// All keys of one chain, and a map that cannot grow.
struct OneChain {
  std::uint32_t home(std::uint64_t) const { return 1; }
  std::uint64_t chains() const { return 2; }
};

TEST(ConcurrentMap, TakesAPlacerOfTheUser) {
  ConcurrentMap<std::uint32_t, std::uint64_t, OneChain> map(OneChain{});
  std::vector<std::uint32_t> keys(3000);
  std::iota(keys.begin(), keys.end(), 0);
  const std::vector<std::uint64_t> values(keys.begin(), keys.end());
  EXPECT_EQ(map.run(Operation::insert, keys, values, {}, {}, {.threads = kThreads}).tally.inserted,
            keys.size());
  EXPECT_EQ(map.chains(), 2u);
  EXPECT_EQ(map.statistics().chain_lengths[0], 1u);
  for (const std::uint32_t key : keys) ASSERT_EQ(map.find(key).value, key);
}

TEST(ConcurrentMap, ChangesNothingForAnOperationThatThereIsNot) {
  Map map;
  map.insert(1, 2);
  EXPECT_EQ(map.perform(static_cast<Operation>(kOperations), 1, 5).outcome, Outcome::invalid);
  const std::vector<Operation> operations = {static_cast<Operation>(255), Operation::find};
  const std::vector<std::uint32_t> keys = {3, 1};
  std::vector<Outcome> outcomes(2);
  std::vector<std::uint32_t> values(2);
  map.run(operations, keys, {}, outcomes, values);
  EXPECT_THAT(outcomes, testing::ElementsAre(Outcome::invalid, Outcome::found));
  EXPECT_THAT(values, testing::ElementsAre(0u, 2u));
  EXPECT_EQ(map.size(), 1u);
}

TEST(ConcurrentMap, RefusesWhatCannotBe) {
  EXPECT_THAT([] { map_of(0); },
              ThrowsMessage<BadInput>(HasSubstr("0 chains: there must be 1 to 2147483648")));
  EXPECT_THAT([] { Map map(std::uint64_t{1} << 60); },
              ThrowsMessage<BadInput>(HasSubstr("2147483649 chains")));
  EXPECT_THAT([] { map_of(10, {.most_bytes = 1279}); },
              ThrowsMessage<BadInput>(HasSubstr("1279 bytes has no room for its 10 home lines")));
  Map map;
  const std::vector<std::uint32_t> three(3), two(2);
  EXPECT_THAT([&] { map.run(Operation::insert, three, two, {}, {}); },
              ThrowsMessage<BadInput>(HasSubstr("3 keys and 2 operands")));
  std::vector<Outcome> outcomes(4);
  EXPECT_THAT([&] { map.run(Operation::insert, three, three, outcomes, {}); },
              ThrowsMessage<BadInput>(HasSubstr("4 outcomes")));
  EXPECT_THAT([&] { map.run(std::vector<Operation>{}, three, three, {}, {}); },
              ThrowsMessage<BadInput>(HasSubstr("0 operations")));
  EXPECT_THAT([&] { map_of(10).statistics(3); }, ThrowsMessage<BadInput>(HasSubstr("10 chains")));
  EXPECT_EQ(map.size(), 0u);
}

TEST(ConcurrentMap, StopsABatchWhenAsked) {
  Map map;
  const std::vector<std::uint32_t> keys(10000, 5);
  std::atomic<bool> stop = true;
  const RunScope scope({.stop = &stop});
  EXPECT_THROW(map.run(Operation::insert, keys, keys, {}, {}), Interrupted);
  stop = false;
  EXPECT_EQ(map.run(Operation::insert, keys, keys, {}, {}).tally.inserted, 1u);
}

}  // namespace
}  // namespace warploom::table
