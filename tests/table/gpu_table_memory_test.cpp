// The memory of GpuTable: how it grows, fills, is given back, and runs out.

#include <algorithm>
#include <map>

#include "table/device_batch.hpp"
#include "table/hash_table_on.hpp"
#include "warploom/core/error.hpp"

namespace warploom::table {
namespace {

using GpuTableMemoryTest = GpuTableTest;

TEST_F(GpuTableMemoryTest, GrowsFromAFewPairsToMany) {
  for_all_types([&]<class K, class V>() {
    GpuTable<K, V> table(gpu_options(20), stream_);
    const std::vector<K> keys = different_keys<K>(500000, 6);
    EXPECT_EQ(count(run(table, Operation::insert, keys, stream_), Outcome::inserted), keys.size());
    EXPECT_EQ(table.size(stream_), keys.size());
    Batch<K, V> found = batch_of<K, V>(Operation::find, keys);
    run(table, found, stream_);
    EXPECT_TRUE(found.values == found.operands);
  });
}

TEST_F(GpuTableMemoryTest, GrowsBetweenBatchesOfMixedOperations) {
  GpuTable<Key, Value> table(gpu_options(1000), stream_);
  PlainMap<Key, Value> model;
  const std::vector<Key> keys = different_keys<Key>(200000, 7);
  std::mt19937_64 random(8);
  for (std::size_t universe = 1000; universe <= keys.size(); universe *= 2) {
    auto batch = random_batch<Key, Value>(part(keys, 0, universe), universe, random), expected = batch;
    run(table, batch, stream_);
    run_model(model, expected);
    ASSERT_TRUE(batch.outcomes == expected.outcomes) << universe;
  }
  EXPECT_TRUE(contents(table, stream_) == model);
}

TEST_F(GpuTableMemoryTest, ChosenBucketsStayAsManyWhenItGrows) {
  GpuOptions options = gpu_options(1000);
  options.tables = 4;
  options.buckets = 16;
  GpuTable<Key, Value> table(options, stream_);
  const std::vector<Key> keys = different_keys<Key>(50000, 9);
  EXPECT_EQ(count(run(table, Operation::insert, keys, stream_), Outcome::inserted), keys.size());
  EXPECT_EQ(table.placement().chains(), 64u);
  EXPECT_EQ(contents(table, stream_).size(), keys.size());
}

TEST_F(GpuTableMemoryTest, SaysWhichOperationsFoundNoRoomIfItMayNotGrow) {
  GpuTable<Key, Value> table(gpu_options(10000, false), stream_);
  const std::vector<Key> keys = different_keys<Key>(100000, 11);
  const std::vector<Outcome> outcomes = run(table, Operation::insert, keys, stream_);
  const std::uint64_t inserted = count(outcomes, Outcome::inserted);
  EXPECT_GE(inserted, 10000u);
  EXPECT_LE(inserted, table.bytes() / 128 * 14);
  EXPECT_EQ(count(outcomes, Outcome::full), keys.size() - inserted);
  const PlainMap<Key, Value> there = contents(table, stream_);
  EXPECT_EQ(there.size(), inserted);
  for (std::size_t i = 0; i < keys.size(); ++i)
    ASSERT_EQ(there.contains(keys[i]), outcomes[i] == Outcome::inserted) << i;
}

TEST_F(GpuTableMemoryTest, AsynchronousBatchesThatRanOutGoOnAfterMakeRoom) {
  GpuTable<Key, Value> table(gpu_options(1000), stream_);
  Batch<Key, Value> batch = batch_of<Key, Value>(Operation::insert, different_keys<Key>(20000, 12));
  std::uint64_t inserted = 0;
  for (int round = 0; round < 10; ++round) {
    const DeviceBatch<Key, Value> there(batch);
    table.run_async(there.arguments(), stream_);
    const GpuReport report = table.wait(stream_);
    inserted += report.tally.inserted;
    if (report.tally.full == 0) break;
    EXPECT_EQ(count(there.outcomes.fetch(), Outcome::full), report.tally.full);
    ASSERT_TRUE(table.make_room(report.tally.full, stream_));
  }
  EXPECT_EQ(inserted, batch.size());
  EXPECT_EQ(table.size(stream_), batch.size());
}

TEST_F(GpuTableMemoryTest, TakesAtMost16BytesAPairOf8BesideFreeLines) {
  constexpr std::size_t kPairs = 1 << 20;
  GpuTable<Key, Value> table(gpu_options(kPairs), stream_);
  EXPECT_EQ(count(run(table, Operation::insert, different_keys<Key>(kPairs, 13), stream_), Outcome::inserted),
            kPairs);
  const Statistics statistics = table.statistics(stream_);
  EXPECT_EQ(table.capacity(), kPairs);
  EXPECT_EQ(statistics.pairs, kPairs);
  EXPECT_LE(statistics.bytes_directory + statistics.bytes_nodes, 16 * kPairs);
  EXPECT_LE(table.bytes(), 17.5 * kPairs);
  // The rest is 4 bytes for each line that can be appended, and counters.
  const std::uint64_t lines = statistics.bytes_directory + statistics.bytes_nodes + statistics.bytes_free;
  EXPECT_GE(table.bytes(), lines);
  EXPECT_LE(table.bytes(), lines + lines / 128 / 2 + 256);
  RecordProperty("bytes_a_pair", std::to_string(static_cast<double>(table.bytes()) / kPairs));
  RecordProperty(
      "bytes_a_pair_without_free_lines",
      std::to_string(static_cast<double>(statistics.bytes_directory + statistics.bytes_nodes) / kPairs));
  // Of a Poisson distribution with mean 8.25 a part of 0.0225 is above 14; insertions that met appended some
  // more.
  EXPECT_NEAR(static_cast<double>(statistics.bytes_nodes) / static_cast<double>(statistics.bytes_directory),
              0.0225, 0.005);
}

TEST_F(GpuTableMemoryTest, AMillionCyclesAtConstantPopulationLeaveMemoryAsItWas) {
  constexpr std::size_t kPairs = 50000, kCycles = 1000000, kStep = 1000;
  for (const bool asynchronous : {false, true}) {
    GpuTable<Key, Value> table(gpu_options(kPairs), stream_);
    const std::vector<Key> keys = different_keys<Key>(kPairs + kCycles, 14);
    run(table, Operation::insert, part(keys, 0, kPairs), stream_);
    const std::uint64_t bytes = table.bytes();
    for (std::size_t first = 0; first < kCycles; first += kStep) {
      // In one batch: the oldest leave and new ones come.
      auto batch = batch_of<Key, Value>(Operation::erase, part(keys, first, kStep));
      const auto coming = batch_of<Key, Value>(Operation::insert, part(keys, first + kPairs, kStep));
      batch.keys.insert(batch.keys.end(), coming.keys.begin(), coming.keys.end());
      batch.operations.insert(batch.operations.end(), coming.operations.begin(), coming.operations.end());
      batch.operands.resize(2 * kStep);
      batch.outcomes.resize(2 * kStep);
      batch.values.resize(2 * kStep);
      const DeviceBatch<Key, Value> there(batch);
      GpuReport report;
      if (asynchronous) {
        table.run_async(there.arguments(), stream_);
        report = table.wait(stream_);
      } else {
        report = table.run(there.arguments(), stream_);
      }
      ASSERT_EQ(report.tally.inserted, kStep) << "at " << first << " full " << report.tally.full;
      ASSERT_EQ(report.tally.erased, kStep);
    }
    EXPECT_EQ(table.bytes(), bytes);
    EXPECT_EQ(table.size(stream_), kPairs);
  }
}

TEST_F(GpuTableMemoryTest, TrimGivesBackLinesThatPairsHaveLeft) {
  for_all_types([&]<class K, class V>() {
    GpuOptions options = gpu_options(20000, false);
    options.pool_fraction = 4;
    GpuTable<K, V> table(options, stream_);
    const std::vector<K> keys = different_keys<K>(60000, 15);
    ASSERT_EQ(count(run(table, Operation::insert, keys, stream_), Outcome::inserted), keys.size());
    const std::uint64_t most = table.statistics(stream_).bytes_nodes;
    ASSERT_EQ(count(run(table, Operation::erase, part(keys, 0, 55000), stream_), Outcome::erased), 55000u);
    EXPECT_EQ(table.statistics(stream_).bytes_nodes, most);
    table.trim(stream_);
    EXPECT_LE(table.statistics(stream_).bytes_nodes, most / 100);
    PlainMap<K, V> expected;
    for (std::size_t i = 55000; i < keys.size(); ++i) expected[keys[i]] = static_cast<V>(~keys[i]);
    EXPECT_TRUE(contents(table, stream_) == expected);
    // The lines given back are as good as others.
    ASSERT_EQ(count(run(table, Operation::insert, part(keys, 0, 55000), stream_), Outcome::inserted), 55000u);
    EXPECT_EQ(contents(table, stream_).size(), keys.size());
    table.trim(stream_);
    EXPECT_EQ(contents(table, stream_).size(), keys.size());
    EXPECT_EQ(count(run(table, Operation::find, keys, stream_), Outcome::found), keys.size());
  });
}

TEST_F(GpuTableMemoryTest, ReserveMakesRoomOnceAndNeverShrinks) {
  GpuTable<Key, Value> table(gpu_options(1000, false), stream_);
  const std::vector<Key> keys = different_keys<Key>(100000, 16);
  run(table, Operation::insert, part(keys, 0, 900), stream_);
  const PlainMap<Key, Value> before = contents(table, stream_);
  table.reserve(keys.size(), stream_);
  EXPECT_TRUE(contents(table, stream_) == before);
  const std::uint64_t bytes = table.bytes();
  table.reserve(10, stream_);
  EXPECT_EQ(table.bytes(), bytes);
  EXPECT_EQ(table.capacity(), keys.size());
  EXPECT_EQ(
      count(run(table, Operation::insert, part(keys, 900, keys.size() - 900), stream_), Outcome::inserted),
      keys.size() - 900);
  EXPECT_EQ(table.bytes(), bytes);
}

TEST_F(GpuTableMemoryTest, ClearLeavesNothingButMemory) {
  GpuTable<Key, Value> table(gpu_options(30000, false), stream_);
  const std::vector<Key> keys = different_keys<Key>(30000, 17);
  run(table, Operation::insert, keys, stream_);
  const std::uint64_t bytes = table.bytes();
  table.clear(stream_);
  EXPECT_EQ(table.size(stream_), 0u);
  EXPECT_EQ(table.bytes(), bytes);
  EXPECT_EQ(count(run(table, Operation::find, keys, stream_), Outcome::absent), keys.size());
  EXPECT_EQ(count(run(table, Operation::insert, keys, stream_), Outcome::inserted), keys.size());
}

TEST_F(GpuTableMemoryTest, TakesMemoryFromTheAllocatorGivenAndGivesAllBack) {
  std::map<void*, std::size_t> held;
  std::size_t most = 0, now = 0;
  GpuOptions options = gpu_options(1000);
  options.allocator.allocate = [&](std::size_t bytes, cudaStream_t) {
    void* memory = nullptr;
    cuda_check(cudaMalloc(&memory, bytes), "cudaMalloc");
    held[memory] = bytes;
    most = std::max(most, now += bytes);
    return memory;
  };
  options.allocator.release = [&](void* memory, std::size_t bytes, cudaStream_t) {
    EXPECT_EQ(held.at(memory), bytes);
    held.erase(memory);
    now -= bytes;
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
  };
  {
    GpuTable<Key, Value> table(options, stream_);
    EXPECT_EQ(now, table.bytes());
    const std::vector<Key> keys = different_keys<Key>(50000, 22);
    EXPECT_EQ(count(run(table, Operation::insert, keys, stream_), Outcome::inserted), keys.size());
    EXPECT_EQ(now, table.bytes());
    table.statistics(stream_);
    EXPECT_EQ(now, table.bytes());
    EXPECT_GE(most, table.bytes());
  }
  EXPECT_TRUE(held.empty());
}

TEST_F(GpuTableMemoryTest, AnAllocatorThatHasNoMoreLeavesTheTableAsItWas) {
  void* const memory = nullptr;
  std::size_t left = 1 << 20;
  GpuOptions options = gpu_options(10000);
  options.allocator.allocate = [&](std::size_t bytes, cudaStream_t) {
    void* given = memory;
    if (bytes <= left) cuda_check(cudaMalloc(&given, bytes), "cudaMalloc");
    return given;
  };
  options.allocator.release = [](void* given, std::size_t, cudaStream_t) { cudaFree(given); };
  GpuTable<Key, Value> table(options, stream_);
  left = 0;
  const std::vector<Key> keys = different_keys<Key>(100000, 23);
  Batch<Key, Value> batch = batch_of<Key, Value>(Operation::insert, keys);
  const GpuReport report = run(table, batch, stream_);
  EXPECT_GT(report.tally.full, 0u);
  EXPECT_EQ(report.tally.full, count(batch.outcomes, Outcome::full));
  EXPECT_EQ(report.tally.inserted + report.tally.full, keys.size());
  EXPECT_THROW(table.reserve(1000000, stream_), OutOfMemory);
  left = 1 << 30;
  EXPECT_EQ(contents(table, stream_).size(), report.tally.inserted);
  run(table, batch, stream_);
  EXPECT_EQ(contents(table, stream_).size(), keys.size());
}

}  // namespace
}  // namespace warploom::table
