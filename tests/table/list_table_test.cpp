// The dissertation's structure on a CPU or a GPU: what every batch has to answer.
#include "warploom/table/list_table.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "oracle/linearizability.hpp"
#include "oracle/random.hpp"
#include "table/list_on.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/sanitizers.hpp"

namespace warploom::table {
namespace {

template <class Key, class Value>
struct Batch {
  std::vector<Operation> operations;
  std::vector<Key> keys;
  std::vector<Value> operands;
  std::vector<Outcome> outcomes;
  std::vector<Value> values;

  void add(Operation operation, Key key, Value operand) {
    operations.push_back(operation);
    keys.push_back(key);
    operands.push_back(operand);
  }
  BatchReport run(ListTable<Key, Value>& table) {
    outcomes.assign(keys.size(), Outcome::invalid);
    values.assign(keys.size(), 77);
    return table.run(operations, keys, operands, outcomes, values);
  }
};

template <class Key, class Value>
std::map<Key, Value> pairs_of(const ListTable<Key, Value>& table) {
  std::vector<Key> keys;
  std::vector<Value> values;
  table.export_pairs(keys, values);
  std::map<Key, Value> result;
  for (std::size_t i = 0; i < keys.size(); ++i)
    EXPECT_TRUE(result.emplace(keys[i], values[i]).second) << "key " << keys[i] << " is there twice";
  EXPECT_EQ(result.size(), table.size());
  return result;
}

/// 0, the greatest key, and others in between
template <class Key>
std::vector<Key> universe(std::size_t count) {
  std::vector<Key> keys{0, static_cast<Key>(-1)};
  for (std::uint64_t i = 1; keys.size() < count; ++i)
    keys.push_back(static_cast<Key>(i * (static_cast<Key>(-1) / count)));
  return keys;
}

template <class Value>
Value any_value(Random& random) {
  const std::uint64_t value = std::uint64_t{random.below(0xFFFFFFFF)} << 32 | random.below(0xFFFFFFFF);
  return static_cast<Value>(random.chance(50) ? value : value % 16);
}

/// Every key once in a batch, so that the order within it does not matter.
template <class Key, class Value>
void expect_as_map(const Options& options) {
  ListTable<Key, Value> table(options);
  const std::vector<Key> keys = universe<Key>(150);
  std::map<Key, std::uint64_t> oracle;
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    Batch<Key, Value> batch;
    for (const Key key : keys)
      if (random.chance(70))
        batch.add(static_cast<Operation>(random.below(kOperations)), key, any_value<Value>(random));
    const BatchReport report = batch.run(table);
    Tally tally;
    for (std::size_t i = 0; i < batch.keys.size(); ++i) {
      const auto at = oracle.find(batch.keys[i]);
      const oracle::Effect want = oracle::effect(
          batch.operations[i], batch.operands[i],
          at == oracle.end() ? oracle::KeyState{} : oracle::KeyState{at->second}, 8 * sizeof(Value));
      ASSERT_EQ(name(batch.outcomes[i]), name(want.outcome)) << name(batch.operations[i]);
      ASSERT_EQ(batch.values[i], want.value) << name(batch.operations[i]);
      tally.inserted += want.outcome == Outcome::inserted;
      tally.erased += want.outcome == Outcome::erased;
      if (want.after)
        oracle[batch.keys[i]] = *want.after;
      else
        oracle.erase(batch.keys[i]);
    }
    ASSERT_EQ(report.tally.inserted, tally.inserted);
    ASSERT_EQ(report.tally.erased, tally.erased);
    ASSERT_EQ(report.tally.full, 0);
    ASSERT_EQ(table.size(), oracle.size());
  }
  const std::map<Key, Value> pairs = pairs_of(table);
  ASSERT_EQ(pairs.size(), oracle.size());
  for (const auto& [key, value] : pairs) EXPECT_EQ(value, oracle.at(key));
}

TEST_P(ListOn, OperationsOfEveryKindAnswerAsAMapDoes) {
  const Options few = options(3, 2, 400);
  expect_as_map<std::uint32_t, std::uint32_t>(few);
  expect_as_map<std::uint32_t, std::uint64_t>(few);
  expect_as_map<std::uint64_t, std::uint32_t>(few);
  expect_as_map<std::uint64_t, std::uint64_t>(few);
}

/// A few keys that all threads want, in a pool that has hardly more nodes than that: every one is used again
/// and again while others read it. What each batch answered must be what some order of its operations
/// answers.
template <class Key, class Value>
void expect_linearizable(const Options& options, std::uint32_t kinds, std::uint32_t most_keys) {
  ListTable<Key, Value> table(options);
  const std::vector<Key> keys = universe<Key>(most_keys);
  std::map<Key, Value> before;
  Random random(2);
  for (int round = 0; round < 20; ++round) {
    Batch<Key, Value> batch;
    for (int i = 0; i < 3000; ++i)
      batch.add(static_cast<Operation>(random.below(kinds)), keys[random.below(most_keys)],
                any_value<Value>(random));
    batch.run(table);
    const std::map<Key, Value> after = pairs_of(table);
    std::map<Key, std::vector<oracle::MapOperation>> of_key;
    for (std::size_t i = 0; i < batch.keys.size(); ++i) {
      oracle::MapOperation operation;
      operation.operation = batch.operations[i];
      operation.key = batch.keys[i];
      operation.operand = batch.operands[i];
      operation.outcome = batch.outcomes[i];
      operation.value = batch.values[i];
      of_key[batch.keys[i]].push_back(operation);
    }
    const auto state = [](const std::map<Key, Value>& pairs, Key key) {
      const auto at = pairs.find(key);
      return at == pairs.end() ? oracle::KeyState{} : oracle::KeyState{at->second};
    };
    for (const auto& [key, operations] : of_key) {
      const auto wrong =
          oracle::batch_violation(operations, state(before, key), state(after, key), 8 * sizeof(Value));
      ASSERT_FALSE(wrong.has_value()) << *wrong;
    }
    before = after;
  }
}

TEST_P(ListOn, ConcurrentOperationsOnTheSameKeysAreLinearizable) {
  // Nodes for all keys, and for all threads at work
  const Options enough = options(1, 1, 20000);
  expect_linearizable<std::uint32_t, std::uint32_t>(enough, kOperations, 24);
  expect_linearizable<std::uint64_t, std::uint64_t>(enough, kOperations, 24);
}

TEST_P(ListOn, InsertionsAndErasuresAreLinearizableWhenEveryNodeIsUsedAgainAndAgain) {
  // find, insert, erase; insertions that find no free node are full
  expect_linearizable<std::uint32_t, std::uint32_t>(options(1, 1, 14), 3, 24);
  expect_linearizable<std::uint64_t, std::uint64_t>(options(2, 1, 14), 3, 24);
}

TEST_P(ListOn, OneOfManyInsertionsOfAKeySucceeds) {
  // Nodes for all keys, and for all threads at work
  ListTable<std::uint32_t, std::uint32_t> table(options(4, 8, 30'000));
  Batch<std::uint32_t, std::uint32_t> batch;
  for (std::uint32_t i = 0; i < 20'000; ++i) batch.add(Operation::insert, i % 100, i);
  EXPECT_EQ(batch.run(table).tally.inserted, 100);
  const std::map<std::uint32_t, std::uint32_t> pairs = pairs_of(table);
  ASSERT_EQ(pairs.size(), 100);
  for (std::size_t i = 0; i < batch.keys.size(); ++i) {
    const std::uint32_t winner = pairs.at(batch.keys[i]);
    if (batch.outcomes[i] == Outcome::inserted) {
      EXPECT_EQ(batch.operands[i], winner);
    } else {
      ASSERT_EQ(name(batch.outcomes[i]), name(Outcome::found));
      EXPECT_EQ(batch.values[i], winner);
    }
  }
}

TEST_P(ListOn, AdditionsToOneKeyAddUp) {
  ListTable<std::uint64_t, std::uint64_t> table(options(1, 1, 5000));
  Batch<std::uint64_t, std::uint64_t> batch;
  for (int i = 0; i < 4000; ++i) batch.add(Operation::add, 5, 1);
  batch.run(table);
  EXPECT_EQ(pairs_of(table), (std::map<std::uint64_t, std::uint64_t>{{5, 4000}}));
  // One found nothing, the others 1, 2, ...
  std::ranges::sort(batch.values);
  for (std::uint64_t i = 0; i < 4000; ++i) ASSERT_EQ(batch.values[i], i);
}

TEST_P(ListOn, AFullPoolIsSaidSoOfEachOperationAndLosesNothing) {
  ListTable<std::uint32_t, std::uint32_t> table(options(5, 3, 100));
  Batch<std::uint32_t, std::uint32_t> batch;
  for (std::uint32_t i = 0; i < 250; ++i) batch.add(Operation::insert, 1'000'003 * i, i);
  const BatchReport report = batch.run(table);
  EXPECT_EQ(report.tally.inserted, 100);
  EXPECT_EQ(report.tally.full, 150);
  std::map<std::uint32_t, std::uint32_t> pairs = pairs_of(table);
  Batch<std::uint32_t, std::uint32_t> again;
  for (std::size_t i = 0; i < 250; ++i) {
    ASSERT_EQ(pairs.contains(batch.keys[i]), batch.outcomes[i] == Outcome::inserted);
    if (batch.outcomes[i] == Outcome::full) again.add(Operation::assign, batch.keys[i], batch.operands[i]);
  }
  // A value takes a free node to be replaced, but none to stay.
  const std::uint32_t there = pairs.begin()->first;
  Batch<std::uint32_t, std::uint32_t> updates;
  updates.add(Operation::add, there, 1);
  updates.add(Operation::max, there, 0);
  updates.run(table);
  EXPECT_EQ(name(updates.outcomes[0]), name(Outcome::full));
  EXPECT_EQ(name(updates.outcomes[1]), name(Outcome::updated));
  EXPECT_EQ(pairs_of(table), pairs);

  table.reserve(260);
  EXPECT_EQ(pairs_of(table), pairs);
  EXPECT_EQ(again.run(table).tally.inserted, 150);
  pairs = pairs_of(table);
  for (std::uint32_t i = 0; i < 250; ++i) EXPECT_EQ(pairs.at(1'000'003 * i), i);
}

TEST_P(ListOn, NoNodeIsLostInMillionsOfInsertionsAndErasures) {
  // Steps that spread keys over all buckets: DEK of small numbers does not.
  constexpr std::uint32_t kNodes = 3000, kKeys = 5000, kStep = 400'009;
  ListTable<std::uint32_t, std::uint32_t> table(options(7, 64, kNodes));
  Random random(3);
#if WARPLOOM_ADDRESS_SANITIZER || WARPLOOM_THREAD_SANITIZER
  constexpr int kRounds = 4;
#else
  constexpr int kRounds = 20;
#endif
  for (int round = 0; round < kRounds; ++round) {
    Batch<std::uint32_t, std::uint32_t> batch;
    for (int i = 0; i < 50'000; ++i) {
      const std::uint32_t key = random.below(kKeys) * kStep;
      batch.add(random.chance(50) ? Operation::insert : Operation::erase, key, ~key);
    }
    batch.run(table);
    const Statistics statistics = table.statistics();
    ASSERT_EQ(statistics.pairs, table.size());
    ASSERT_EQ(statistics.bytes_nodes + statistics.bytes_free, kNodes * 16);
  }
  for (const auto& [key, value] : pairs_of(table)) ASSERT_EQ(value, ~key);
  // All that are free can be had.
  Batch<std::uint32_t, std::uint32_t> fill;
  for (std::uint32_t i = 0; i < 2 * kNodes; ++i) fill.add(Operation::insert, (kKeys + i) * kStep, i);
  fill.run(table);
  EXPECT_EQ(table.size(), kNodes);
}

TEST_P(ListOn, ABatchOfOneOperationNeedsNoOthersSpans) {
  ListTable<std::uint32_t, std::uint64_t> table(options(2, 2, 100));
  const std::vector<std::uint32_t> keys{1, 2, 3, 0xFFFFFFFF};
  EXPECT_EQ(table.run(Operation::insert, keys, {}, {}, {}).tally.inserted, 4);
  std::vector<Outcome> outcomes(4);
  EXPECT_EQ(table.run(Operation::erase, std::span(keys).first(1), {}, {}, {}).tally.erased, 1);
  table.run(Operation::find, keys, {}, outcomes, {});
  EXPECT_EQ(outcomes, (std::vector{Outcome::absent, Outcome::found, Outcome::found, Outcome::found}));
  EXPECT_EQ(pairs_of(table), (std::map<std::uint32_t, std::uint64_t>{{2, 0}, {3, 0}, {0xFFFFFFFF, 0}}));
  table.run(std::span<const Operation>(), {}, {}, {}, {});
  EXPECT_EQ(table.size(), 3);
}

TEST_P(ListOn, AnOperationThatIsNoneChangesNothing) {
  ListTable<std::uint32_t, std::uint32_t> table(options(1, 1, 10));
  Batch<std::uint32_t, std::uint32_t> batch;
  batch.add(static_cast<Operation>(kOperations), 1, 1);
  batch.run(table);
  EXPECT_EQ(name(batch.outcomes[0]), name(Outcome::invalid));
  EXPECT_EQ(table.size(), 0);
}

TEST_P(ListOn, StatisticsCountChainsAndTables) {
  const Options given = options(4, 16, 2000);
  ListTable<std::uint32_t, std::uint32_t> table(given);
  Placement placement{.tables = 4, .buckets = 16, .hash = given.hash, .assignment = given.assignment};
  std::vector<std::uint64_t> chains(64), tables(4);
  std::vector<std::uint32_t> keys;
  Random random(4);
  for (int i = 0; i < 1000; ++i) keys.push_back(random.below(0xFFFFFFFF));
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  for (const std::uint32_t key : keys) ++chains[placement.home(key)], ++tables[placement.table(key)];
  table.run(Operation::insert, keys, {}, {}, {});
  const Statistics statistics = table.statistics();
  EXPECT_EQ(statistics.pairs, keys.size());
  EXPECT_EQ(statistics.pairs_per_table, tables);
  std::vector<std::uint64_t> lengths(std::ranges::max(chains) + 1);
  for (const std::uint64_t length : chains) ++lengths[length];
  EXPECT_EQ(statistics.chain_lengths, lengths);
  EXPECT_EQ(statistics.bytes_nodes, keys.size() * 16);
}

TEST_P(ListOn, ATableNeedsTheExtraMemoryOfTheDissertationsTable5) {
  // Its n m headers of 8 bytes, in KB. (It prints 521 for 64 tables.)
  for (const auto& [tables, kilobytes] :
       {std::pair{4U, 32U}, {16U, 128U}, {64U, 512U}, {128U, 1024U}, {256U, 2048U}}) {
    const ListTable<std::uint32_t, std::uint32_t> table(options(tables, 1024, 1000));
    EXPECT_EQ(table.statistics().bytes_directory, kilobytes * 1024);
  }
}

TEST_P(ListOn, ClearEmptiesTheTable) {
  ListTable<std::uint32_t, std::uint32_t> table(options(2, 4, 100));
  std::vector<std::uint32_t> keys(100);
  std::iota(keys.begin(), keys.end(), 5);
  table.run(Operation::insert, keys, {}, {}, {});
  table.clear();
  EXPECT_EQ(table.size(), 0);
  EXPECT_TRUE(pairs_of(table).empty());
  EXPECT_EQ(table.run(Operation::insert, keys, {}, {}, {}).tally.inserted, 100);
}

TEST_P(ListOn, MoreNodesThanNumbersForThemAreRefused) {  // not asked of the memory, which may have room for
                                                         // the rest of 2^64
  using Table = ListTable<std::uint32_t, std::uint32_t>;
  EXPECT_THROW(Table(options(1, 0, ~std::uint64_t{0})), BadInput);
  EXPECT_THROW(Table(options(1, 4, 0xFFFF0000)), BadInput);
}

TEST_P(ListOn, BadOptionsAndLengthsAreRefused) {
  using Table = ListTable<std::uint32_t, std::uint32_t>;
  EXPECT_THROW(Table(options(0, 4, 100)), BadInput);
  EXPECT_THROW(Table(options(1, 4, 0)), BadInput);
  EXPECT_THROW(Table(options(1 << 16, 1 << 16, 100)), BadInput);
  Options odd = options(1, 4, 100);
  odd.threads_per_block = 1025;
  EXPECT_THROW(Table{odd}, BadInput);
  Table table(options(1, 4, 100));
  const std::vector<std::uint32_t> three(3);
  std::vector<Outcome> two(2);
  EXPECT_THROW(table.run(Operation::find, three, {}, two, {}), BadInput);
  EXPECT_THROW(table.run(Operation::insert, three, std::span(three).first(1), {}, {}), BadInput);
  EXPECT_THROW(table.run(std::span<const Operation>(), three, {}, {}, {}), BadInput);
  EXPECT_EQ(table.size(), 0);
}

}  // namespace
}  // namespace warploom::table
