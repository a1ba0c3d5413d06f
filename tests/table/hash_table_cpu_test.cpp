// HashTable on a CPU, and the size of a table on a GPU, which is plain arithmetic.

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>

#include "table/gpu_layout.hpp"
#include "table/hash_table_on.hpp"
#include "table/share.hpp"
#include "warploom/core/error.hpp"
#include "warploom/table/hash.hpp"

namespace warploom::table {
namespace {

INSTANTIATE_TEST_SUITE_P(Cpu, HashTableOn,
                         testing::Combine(testing::Values(std::vector{Device::cpu},
                                                          std::vector(3, Device::cpu)),
                                          testing::Values(Structure::lines, Structure::list)),
                         parameter_name);

using Table = HashTable<std::uint32_t, std::uint32_t>;

TEST(SharedHashTable, HasEachKeyOnceWhereItsShareIs) {
  const std::vector<Device> devices(3, Device::cpu);
  Table one(Options{.run = {.devices = {Device::cpu}}}), shared(Options{.run = {.devices = devices}});
  Batch<std::uint32_t, std::uint32_t> batch(30000), same(30000);
  std::mt19937 random(7);
  // Each key once: then there is one right answer.
  std::iota(batch.keys.begin(), batch.keys.end(), 0);
  for (int round = 0; round < 4; ++round) {
    std::ranges::shuffle(batch.keys, random);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      batch.operations[i] = static_cast<Operation>(random() % kOperations);
      batch.operands[i] = static_cast<std::uint32_t>(random());
    }
    same.keys = batch.keys, same.operations = batch.operations, same.operands = batch.operands;
    const Tally a = one.run(batch.operations, batch.keys, batch.operands, batch.outcomes, batch.values).tally;
    const Tally b = shared.run(same.operations, same.keys, same.operands, same.outcomes, same.values).tally;
    EXPECT_EQ(a.inserted, b.inserted);
    EXPECT_EQ(a.erased, b.erased);
    EXPECT_EQ(batch.outcomes, same.outcomes);
    EXPECT_EQ(batch.values, same.values);
    EXPECT_EQ(one.size(), shared.size());
  }
  std::vector<std::uint32_t> keys, values;
  shared.export_pairs(keys, values);
  EXPECT_EQ(keys.size(), shared.size());
  const std::size_t pairs = keys.size();
  std::ranges::sort(keys);
  EXPECT_EQ(std::ranges::unique(keys).begin() - keys.begin(), static_cast<std::ptrdiff_t>(pairs));
}

TEST(SharedHashTable, SharesAreOfOneSizeAndSayNothingOfTheChain) {
  constexpr std::uint32_t kShares = 3, kBuckets = 5;
  Placement placement;
  placement.buckets = kBuckets;
  std::vector<int> counts(kShares * kBuckets);
  constexpr int kKeys = 150000;
  for (std::uint64_t key = 0; key < kKeys; ++key)
    ++counts[share_of(key, kShares) * kBuckets + placement.home(key)];
  constexpr double kMean = double{kKeys} / (kShares * kBuckets);
  for (const int count : counts) EXPECT_NEAR(count, kMean, 6 * std::sqrt(kMean));
  EXPECT_EQ(share_of(~std::uint64_t{0}, 1), 0u);
}

TEST(SharedHashTable, RefusesDevicesThatDoNotShare) {
  const auto mixed = [](std::vector<Device> devices) {
    return [devices] { Table(Options{.run = {.devices = devices}}); };
  };
  EXPECT_THAT(mixed({Device::cpu, Device::gpu(0)}), testing::Throws<BadInput>());
  EXPECT_THAT(mixed({Device::best, Device::best}), testing::Throws<BadInput>());
}

TEST(HashTable, SaysThatItWasMovedFrom) {
  Table first(Options{.run = {.devices = {Device::cpu}}});
  const std::vector<std::uint32_t> keys = {1, 2, 3};
  first.run(Operation::insert, keys, keys, {}, {});
  Table second = std::move(first);
  EXPECT_EQ(second.size(), 3u);
  const auto moved_from = testing::ThrowsMessage<BadInput>(testing::HasSubstr("moved from"));
  EXPECT_THAT([&] { (void)first.size(); }, moved_from);
  EXPECT_THAT([&] { first.run(Operation::insert, keys, keys, {}, {}); }, moved_from);
  EXPECT_THAT([&] { first.clear(); }, moved_from);
  first = std::move(second);
  EXPECT_EQ(first.size(), 3u);
}

TEST(HashTable, ListHasMoreBucketsWhenItGrows) {
  Table table(Options{
      .run = {.devices = {Device::cpu}}, .structure = Structure::list, .capacity = 16, .grows = true});
  std::vector<std::uint32_t> keys(5000);
  std::iota(keys.begin(), keys.end(), 0);
  EXPECT_EQ(table.run(Operation::insert, keys, keys, {}, {}).tally.inserted, keys.size());
  const Statistics statistics = table.statistics();
  EXPECT_EQ(statistics.pairs, keys.size());
  EXPECT_GE(statistics.bytes_directory, 5000u * 8) << "a head of 8 bytes for each pair";
  EXPECT_LT(statistics.chain_lengths.size(), 20u);
}

TEST(HashTable, SaysThatASecondThreadUsesIt) {
  Table table(Options{.run = {.devices = {Device::cpu}}});
  std::vector<std::uint32_t> keys(1 << 20);
  std::iota(keys.begin(), keys.end(), 0);
  std::atomic<bool> done = false;
  std::atomic<int> refused = 0;
  const auto attempt = [&](const auto& call) {
    try {
      call();
      return true;
    } catch (const BadInput& error) {
      refused += std::string(error.what()).find("two threads") != std::string::npos;
      return false;
    }
  };
  std::thread other([&] {
    while (!attempt([&] { table.run(Operation::insert, keys, keys, {}, {}); })) {
    }
    done = true;
  });
  while (!done) {
    attempt([&] { (void)table.size(); });
    std::this_thread::yield();
  }
  other.join();
  EXPECT_GT(refused, 0);
  EXPECT_EQ(table.size(), keys.size());
}

GpuLayout layout_of(std::uint64_t capacity, std::uint64_t tables = 1, std::uint64_t buckets = 0,
                    int slots = NarrowSlots::kSlots) {
  return gpu_layout(capacity, tables, buckets, kDefaultPoolFraction, slots);
}

TEST(GpuLayout, TakesAtMost16BytesAPairOf8BesideFreeLines) {
  for (std::uint64_t capacity = 1 << 16; capacity <= std::uint64_t{1} << 30; capacity *= 2) {
    const GpuLayout layout = layout_of(capacity);
    const double used =
        1.0225 * static_cast<double>(layout.chains);  // 0.0225 is the mean of ceil(k / 14) - 1
    EXPECT_LE(used * kLineBytes / static_cast<double>(capacity), 16) << capacity;
    EXPECT_LE(static_cast<double>(layout.bytes()) / static_cast<double>(capacity), 17.6) << capacity;
  }
}

TEST(GpuLayout, HasEightAndAQuarterPairsALineOrHalfAsMany) {
  EXPECT_EQ(layout_of(8250).chains, 1000u);
  EXPECT_EQ(layout_of(8251).chains, 1001u);
  EXPECT_EQ(layout_of(8250, 1, 0, WideSlots::kSlots).chains, 2000u);
}

TEST(GpuLayout, DividesHomeLinesEvenlyAmongTables) {
  const GpuLayout layout = layout_of(9000, 320);
  EXPECT_EQ(layout.buckets, 4u);  // 3.41 rounded up
  EXPECT_EQ(layout.chains, 320u * 4);
}

TEST(GpuLayout, HasALineAtLeast) {
  EXPECT_EQ(layout_of(0).chains, 1u);
  EXPECT_EQ(layout_of(1, 400).chains, 400u);
}

TEST(GpuLayout, HasRoomForTheCapacityInLongChains) {
  // The dissertation's: 256 pairs a bucket, so 18 appended lines or 19.
  const GpuLayout layout = layout_of(262144, 1, 1024);
  EXPECT_EQ(layout.chains, 1024u);
  EXPECT_GE(layout.pool, 19u * 1024);
  EXPECT_LE(layout.pool, 22u * 1024);
}

}  // namespace
}  // namespace warploom::table
