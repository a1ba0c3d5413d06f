// ConcurrentMap as a whole: moved, counted, trimmed and cleared after it grew.

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "warploom/table/concurrent_map.hpp"

namespace warploom::table {
namespace {

using Map = ConcurrentMap<std::uint32_t, std::uint32_t>;

TEST(ConcurrentMap, CanBeMoved) {
  Map first(1);
  for (std::uint32_t key = 0; key < 1000; ++key) first.insert(key, ~key);
  Map second = std::move(first);
  EXPECT_EQ(second.size(), 1000u);
  for (std::uint32_t key = 1000; key < 2000; ++key) second.insert(key, ~key);
  first = std::move(second);
  EXPECT_EQ(first.size(), 2000u);
  EXPECT_EQ(first.find(1500).value, ~1500u);
}

TEST(ConcurrentMap, CountsWhatItHoldsAfterGrowth) {
  ConcurrentMap<std::uint32_t, std::uint32_t, Placement> map(Placement{.tables = 4, .buckets = 5});
  for (std::uint32_t key = 0; key < 30000; ++key) map.insert(key, key);
  std::vector<std::uint64_t> per_table(4);
  for (std::uint32_t key = 0; key < 30000; ++key) ++per_table[map.placer().table(key)];
  const Statistics statistics = map.statistics(4);
  EXPECT_EQ(statistics.pairs_per_table, per_table);
  EXPECT_EQ(statistics.bytes_directory, map.chains() * kLineBytes);
  EXPECT_EQ(statistics.bytes_directory + statistics.bytes_nodes + statistics.bytes_free, map.bytes());
}

TEST(ConcurrentMap, TrimsAndClearsAfterGrowth) {
  Map map(1);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t key = 0; key < 20000; ++key)
      ASSERT_EQ(map.insert(key, ~key).outcome, Outcome::inserted);
    for (std::uint32_t key = 0; key < 20000; key += 2) ASSERT_TRUE(map.erase(key));
    const std::uint64_t lines = map.statistics().bytes_nodes;
    map.trim();
    EXPECT_LT(map.statistics().bytes_nodes, lines / 2);
    EXPECT_EQ(map.size(), 10000u);
    for (std::uint32_t key = 1; key < 20000; key += 2) ASSERT_EQ(map.find(key).value, ~key);
    const std::uint64_t chains = map.chains();
    map.clear();
    EXPECT_EQ(map.chains(), chains);
    EXPECT_EQ(map.size(), 0u);
  }
}

TEST(ConcurrentMap, ExchangesAValueThatIsAsExpected) {
  Map map(1);
  EXPECT_EQ(map.compare_exchange(5, 0, 1).outcome, Outcome::absent);
  EXPECT_FALSE(map.contains(5));
  map.insert(5, 10);
  EXPECT_EQ(map.compare_exchange(5, 9, 11).outcome, Outcome::found);
  EXPECT_EQ(map.compare_exchange(5, 9, 11).value, 10u);
  EXPECT_EQ(map.compare_exchange(5, 10, 11).outcome, Outcome::updated);
  EXPECT_EQ(map.find(5).value, 11u);
}

}  // namespace
}  // namespace warploom::table
