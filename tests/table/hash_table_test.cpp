// HashTable: what every structure on every device has to do. The oracle is std::unordered_map.

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "table/hash_table_on.hpp"
#include "table/share.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"

namespace warploom::table {
namespace {

using testing::HasSubstr;

template <class Key, class Value>
BatchReport run(HashTable<Key, Value>& table, Batch<Key, Value>& batch) {
  return table.run(batch.operations, batch.keys, batch.operands, batch.outcomes, batch.values);
}
template <class Key, class Value>
std::vector<Outcome> run(HashTable<Key, Value>& table, Operation operation, const std::vector<Key>& keys) {
  std::vector<Outcome> outcomes(keys.size());
  table.run(operation, keys, {}, outcomes, {});
  return outcomes;
}

TEST_P(HashTableOn, DoesWhatAMapDoes) {
  for_all_types([&]<class Key, class Value>() {
    HashTable<Key, Value> table(options(3000));
    PlainMap<Key, Value> model;
    const std::vector<Key> keys = different_keys<Key>(6000, 1);
    std::mt19937_64 random(2);
    for (int round = 0; round < 6; ++round) {
      Batch<Key, Value> batch = random_batch<Key, Value>(keys, 4000, random), expected = batch;
      const BatchReport report = run(table, batch);
      run_model(model, expected);
      ASSERT_EQ(batch.outcomes, expected.outcomes) << "round " << round;
      ASSERT_EQ(batch.values, expected.values) << "round " << round;
      ASSERT_EQ(report.tally.inserted, count(expected.outcomes, Outcome::inserted));
      ASSERT_EQ(report.tally.erased, count(expected.outcomes, Outcome::erased));
      ASSERT_EQ(report.tally.full, 0u);
      ASSERT_EQ(table.size(), model.size());
      ASSERT_EQ(table.statistics().pairs, model.size());
    }
    EXPECT_EQ(contents(table), model);
  });
}

TEST_P(HashTableOn, DoesSoUnderEveryHashAndAssignment) {
  for (const Hash hash : {Hash::mix, Hash::dek, Hash::sdbm, Hash::pjw}) {
    for (const Assignment assignment : {Assignment::mix, Assignment::decimal}) {
      Options chosen = options(2000);
      chosen.tables = 7;
      chosen.buckets = 32;
      chosen.hash = hash;
      chosen.assignment = assignment;
      HashTable<std::uint32_t, std::uint32_t> table(chosen);
      PlainMap<std::uint32_t, std::uint32_t> model;
      const std::vector<std::uint32_t> keys = different_keys<std::uint32_t>(4000, 3);
      std::mt19937_64 random(4);
      for (int round = 0; round < 3; ++round) {
        auto batch = random_batch<std::uint32_t, std::uint32_t>(keys, 3000, random), expected = batch;
        run(table, batch);
        run_model(model, expected);
        ASSERT_EQ(batch.outcomes, expected.outcomes) << name(hash) << ' ' << name(assignment);
      }
      EXPECT_EQ(contents(table), model);
    }
  }
}

TEST_P(HashTableOn, DoesSoWhenTheHashOfAllKeysIsTheSame) {
  // PJW is 4096 b0 + 256 b1 + 16 b2 + b3 of a key's bytes: x, y and z cancel.
  std::vector<std::uint32_t> keys;
  for (std::uint32_t x = 0; x < 16; ++x)
    for (std::uint32_t y = 0; y < 16; ++y)
      for (std::uint32_t z = 0; z < 16; ++z)
        keys.push_back((100 - x) | (15 + 16 * x - y) << 8 | (15 + 16 * y - z) << 16 | 16 * z << 24);
  for (const std::uint32_t tables : {1U, 7U}) {
    Options chosen = options(4000);
    chosen.tables = tables;
    chosen.buckets = 32;
    chosen.hash = Hash::pjw;
    HashTable<std::uint32_t, std::uint32_t> table(chosen);
    PlainMap<std::uint32_t, std::uint32_t> model;
    std::mt19937_64 random(5);
    for (int round = 0; round < 3; ++round) {
      auto batch = random_batch<std::uint32_t, std::uint32_t>(keys, 2000, random), expected = batch;
      run(table, batch);
      run_model(model, expected);
      ASSERT_EQ(batch.outcomes, expected.outcomes) << tables << " tables";
      ASSERT_EQ(batch.values, expected.values) << tables << " tables";
    }
    EXPECT_EQ(contents(table), model);
    EXPECT_EQ(table.statistics().chain_lengths[0], 31 * tables * chosen.run.devices.size());
  }
}

TEST_P(HashTableOn, OperationsOnOneKeyTakeEffectInSomeOrder) {
  for_all_types([&]<class Key, class Value>() {
    HashTable<Key, Value> table(options(1000));
    const std::vector<Key> keys = different_keys<Key>(40, 5);
    std::mt19937_64 random(6);
    for (int round = 0; round < 5; ++round) {
      Batch<Key, Value> batch(5000);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        batch.operations[i] = static_cast<Operation>(random() % kOperations);
        batch.keys[i] = keys[random() % keys.size()];
        batch.operands[i] = static_cast<Value>(random());
      }
      const PlainMap<Key, Value> before = contents(table);
      run(table, batch);
      expect_balance(batch, before, contents(table));
    }
  });
}

TEST_P(HashTableOn, AdditionsToOneKeyAreAllCounted) {
  for_all_types([&]<class Key, class Value>() {
    HashTable<Key, Value> table(options(100));
    const std::vector<Key> keys = different_keys<Key>(3, 7);
    Batch<Key, Value> batch(30000);
    PlainMap<Key, Value> sums;
    std::mt19937_64 random(8);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      batch.operations[i] = Operation::add;
      batch.keys[i] = keys[i % keys.size()];
      batch.operands[i] = static_cast<Value>(random());
      sums[batch.keys[i]] += batch.operands[i];
    }
    run(table, batch);
    EXPECT_EQ(contents(table), sums);
    EXPECT_EQ(count(batch.outcomes, Outcome::inserted), keys.size());
    EXPECT_EQ(count(batch.outcomes, Outcome::updated), batch.size() - keys.size());
  });
}

TEST_P(HashTableOn, GrowsAsPairsCome) {
  for_all_types([&]<class Key, class Value>() {
    HashTable<Key, Value> table(options(200));  // a list stays with as many buckets
    const std::vector<Key> keys = different_keys<Key>(10000, 9);
    std::vector<Value> operands(keys.size());
    std::iota(operands.begin(), operands.end(), Value{5});
    std::vector<Outcome> outcomes(keys.size());
    const BatchReport report = table.run(Operation::insert, keys, operands, outcomes, {});
    EXPECT_EQ(count(outcomes, Outcome::inserted), keys.size());
    EXPECT_EQ(report.tally.inserted, keys.size());
    EXPECT_EQ(report.tally.full, 0u);
    std::vector<Value> values(keys.size());
    table.run(Operation::find, keys, {}, outcomes, values);
    EXPECT_EQ(count(outcomes, Outcome::found), keys.size());
    EXPECT_EQ(values, operands);
  });
}

TEST_P(HashTableOn, GrowsWithoutSpansForResults) {
  HashTable<std::uint32_t, std::uint32_t> table(options(200));
  const std::vector<std::uint32_t> keys = different_keys<std::uint32_t>(10000, 9);
  const BatchReport report = table.run(Operation::insert, keys, {}, {}, {});
  EXPECT_EQ(report.tally.inserted, keys.size());
  EXPECT_EQ(table.size(), keys.size());
}

TEST_P(HashTableOn, SaysWhichOperationsFoundNoRoomIfItMayNotGrow) {
  for_all_types([&]<class Key, class Value>() {
    Options chosen = options(1000);
    chosen.grows = false;
    HashTable<Key, Value> table(chosen);
    const std::vector<Key> keys = different_keys<Key>(20000, 10);
    const std::vector<Outcome> outcomes = run(table, Operation::insert, keys);
    const std::uint64_t inserted = count(outcomes, Outcome::inserted);
    EXPECT_GE(inserted, chosen.capacity * 9 / 10);
    EXPECT_EQ(count(outcomes, Outcome::full), keys.size() - inserted);
    EXPECT_LT(inserted, keys.size());
    const PlainMap<Key, Value> there = contents(table);
    EXPECT_EQ(there.size(), inserted);
    for (std::size_t i = 0; i < keys.size(); ++i)
      ASSERT_EQ(there.contains(keys[i]), outcomes[i] == Outcome::inserted) << i;

    table.reserve(2 * keys.size());
    const std::vector<Outcome> again = run(table, Operation::insert, keys);
    EXPECT_EQ(count(again, Outcome::found), inserted);
    EXPECT_EQ(count(again, Outcome::inserted), keys.size() - inserted);
  });
}

TEST_P(HashTableOn, UsesTheMemoryOfErasedPairsAgain) {
  Options chosen = options(4000);
  chosen.grows = false;
  HashTable<std::uint32_t, std::uint32_t> table(chosen);
  // Half of the pairs leave and as many come with each batch.
  const std::vector<std::uint32_t> keys = different_keys<std::uint32_t>(3000 + 40 * 1000, 11);
  const auto part = [&](std::size_t first, std::size_t count) {
    const auto begin = keys.begin() + static_cast<std::ptrdiff_t>(first);
    return std::vector<std::uint32_t>(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  run(table, Operation::insert, part(0, 3000));
  const Statistics before = table.statistics();
  for (std::size_t first = 0; first < 40 * 1000; first += 1000) {
    EXPECT_EQ(count(run(table, Operation::erase, part(first, 1000)), Outcome::erased), 1000u);
    EXPECT_EQ(count(run(table, Operation::insert, part(first + 3000, 1000)), Outcome::inserted), 1000u);
  }
  const Statistics after = table.statistics();
  EXPECT_EQ(after.pairs, 3000u);
  EXPECT_LE(after.bytes_directory + after.bytes_nodes + after.bytes_free,
            (before.bytes_directory + before.bytes_nodes + before.bytes_free) * 5 / 4);
}

TEST_P(HashTableOn, TrimAndReserveKeepAllPairs) {
  for_all_types([&]<class Key, class Value>() {
    HashTable<Key, Value> table(options(1000));
    PlainMap<Key, Value> model;
    const std::vector<Key> keys = different_keys<Key>(3000, 12);
    std::mt19937_64 random(13);
    for (int round = 0; round < 4; ++round) {
      Batch<Key, Value> batch = random_batch<Key, Value>(keys, 2500, random), expected = batch;
      run(table, batch);
      run_model(model, expected);
      table.trim();
      ASSERT_EQ(contents(table), model);
      table.reserve(table.size() * 3);
      ASSERT_EQ(contents(table), model);
    }
  });
}

TEST_P(HashTableOn, IsEmptyAfterClearAndWorksOn) {
  HashTable<std::uint64_t, std::uint32_t> table(options(2000));
  const std::vector<std::uint64_t> keys = different_keys<std::uint64_t>(2000, 14);
  run(table, Operation::insert, keys);
  table.clear();
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(count(run(table, Operation::find, keys), Outcome::absent), keys.size());
  EXPECT_EQ(count(run(table, Operation::insert, keys), Outcome::inserted), keys.size());
  EXPECT_EQ(table.size(), keys.size());
}

TEST_P(HashTableOn, CountsPairsOfChainsAndTables) {
  Options chosen = options(2000);
  chosen.tables = 5;
  chosen.buckets = 100;
  HashTable<std::uint32_t, std::uint32_t> table(chosen);
  const std::vector<std::uint32_t> keys = different_keys<std::uint32_t>(2000, 15);
  run(table, Operation::insert, keys);
  const Placement placement{.tables = 5, .buckets = 100};
  const auto shares = static_cast<std::uint32_t>(chosen.run.devices.size());
  std::vector<std::uint64_t> in_chain(500 * shares), in_table(5);
  for (const std::uint32_t key : keys) {
    ++in_chain[500 * share_of(key, shares) + placement.home(key)];
    ++in_table[placement.table(key)];
  }
  std::vector<std::uint64_t> lengths(std::ranges::max(in_chain) + 1);
  for (const std::uint64_t length : in_chain) ++lengths[length];
  const Statistics statistics = table.statistics();
  EXPECT_EQ(statistics.pairs, keys.size());
  EXPECT_EQ(statistics.pairs_per_table, in_table);
  EXPECT_EQ(statistics.chain_lengths, lengths);
  EXPECT_GE(statistics.bytes_directory, 500u * 8);
}

TEST_P(HashTableOn, AnEmptyTableHasNothing) {
  HashTable<std::uint32_t, std::uint64_t> table(options(100));
  EXPECT_EQ(table.size(), 0u);
  EXPECT_TRUE(contents(table).empty());
  EXPECT_EQ(table.statistics().pairs, 0u);
  const BatchReport report = table.run(Operation::insert, {}, {}, {}, {});
  EXPECT_EQ(report.tally.inserted, 0u);
}

TEST_P(HashTableOn, RefusesSpansOfDifferentLengths) {
  HashTable<std::uint32_t, std::uint32_t> table(options(100));
  const std::vector<std::uint32_t> keys(10), operands(9);
  std::vector<Outcome> outcomes(11);
  EXPECT_THROW(table.run(Operation::insert, keys, operands, {}, {}), BadInput);
  EXPECT_THROW(table.run(Operation::insert, keys, {}, outcomes, {}), BadInput);
  EXPECT_THROW(table.run(std::vector<Operation>(9), keys, {}, {}, {}), BadInput);
  EXPECT_EQ(table.size(), 0u);
}

TEST_P(HashTableOn, LeavesOperationsThatDoNotExistUndone) {
  HashTable<std::uint32_t, std::uint32_t> table(options(100));
  const std::vector<Operation> operations{Operation::insert, static_cast<Operation>(77), Operation::insert};
  const std::vector<std::uint32_t> keys{1, 2, 3};
  std::vector<Outcome> outcomes(3);
  table.run(operations, keys, {}, outcomes, {});
  EXPECT_EQ(outcomes, (std::vector<Outcome>{Outcome::inserted, Outcome::invalid, Outcome::inserted}));
  EXPECT_EQ(table.size(), 2u);
}

TEST_P(HashTableOn, RefusesOptionsOutsideTheirRange) {
  const auto refusal = [](const Options& options) -> std::string {
    try {
      HashTable<std::uint32_t, std::uint32_t> table(options);
    } catch (const BadInput& error) {
      return error.what();
    }
    return "nothing was refused";
  };
  Options chosen = options(100);
  chosen.tables = 0;
  EXPECT_THAT(refusal(chosen), HasSubstr("0 tables"));
  chosen = options(100);
  chosen.tables = chosen.buckets = 1 << 16;
  EXPECT_THAT(refusal(chosen), HasSubstr("65536 tables of 65536 buckets"));
  chosen = options(100);
  chosen = options(100);
  chosen.threads_per_block = 2048;
  EXPECT_THAT(refusal(chosen), HasSubstr("2048 threads a block"));
}

TEST_P(HashTableOn, RefusesMoreThanThereIs) {
  Options chosen = options(std::uint64_t{1} << 34);
  if (std::get<Structure>(GetParam()) == Structure::lines) {
    EXPECT_THROW((HashTable<std::uint32_t, std::uint32_t>(chosen)), OutOfMemory);
    chosen.capacity = std::uint64_t{1} << 40;
  }
  EXPECT_THROW((HashTable<std::uint32_t, std::uint32_t>(chosen)), BadInput);
}

TEST_P(HashTableOn, StopsWhenInterrupted) {
  HashTable<std::uint32_t, std::uint32_t> table(options(100000));
  const std::vector<std::uint32_t> keys = different_keys<std::uint32_t>(100000, 16);
  std::atomic<bool> stop = true;
  const RunScope scope({.stop = &stop});
  EXPECT_THROW(table.run(Operation::insert, keys, {}, {}, {}), Interrupted);
  stop = false;
  EXPECT_LE(table.size(), keys.size());
  EXPECT_EQ(table.size(), table.statistics().pairs);
  const BatchReport report = table.run(Operation::assign, keys, {}, {}, {});
  EXPECT_EQ(table.size(), keys.size());
  EXPECT_LE(report.tally.inserted, keys.size());
}

TEST_P(HashTableOn, SaysWhatItIs) {
  Options chosen = options(100);
  chosen.tables = 3;
  chosen.buckets = 17;
  const HashTable<std::uint32_t, std::uint32_t> table(chosen);
  EXPECT_THAT(table.description(), HasSubstr("3 x 17"));
  EXPECT_THAT(table.description(), HasSubstr(std::string(name(chosen.run.devices.front()))));
}

}  // namespace
}  // namespace warploom::table
