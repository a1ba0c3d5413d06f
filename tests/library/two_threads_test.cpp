// Two threads on one object of each type: what the guide's rules allow is right, what they forbid is right or
// refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/core/sanitizers.hpp"
#include "warploom/dp/chain.hpp"
#include "warploom/imaging/segment.hpp"
#include "warploom/reuse/reuse.hpp"
#include "warploom/search/find.hpp"
#include "warploom/sim/sim.hpp"
#include "warploom/table/concurrent_map.hpp"
#include "warploom/table/hash_table.hpp"
#include "warploom/table/list_table.hpp"
#include "warploom/tile/explain.hpp"

namespace warploom {
namespace {

constexpr int kRuns = WARPLOOM_THREAD_SANITIZER ? 100 : 1000;
const Run kCpu{.devices = {Device::cpu}, .threads = 2};

/// Calls work() in two threads at once, `kRuns` times. @return how many calls were refused by the rule that
/// one thread at a time may use an object; all others came to their end
int refused_of(const std::function<void()>& work) {
  std::barrier<> both(2);
  std::atomic<int> refused = 0;
  const auto run = [&] {
    for (int k = 0; k < kRuns; ++k) {
      both.arrive_and_wait();
      try {
        work();
      } catch (const BadInput& error) {
        EXPECT_NE(std::string(error.what()).find("two threads use one"), std::string::npos) << error.what();
        ++refused;
      }
    }
  };
  std::thread other(run);
  run();
  other.join();
  return refused;
}

template <class Table>
void adds_are_counted_or_refused(Table& table) {
  std::vector<std::uint64_t> keys(100);
  std::iota(keys.begin(), keys.end(), 0);
  const std::vector<std::uint64_t> ones(keys.size(), 1);
  const int refused = refused_of([&] { table.run(table::Operation::add, keys, ones, {}, {}); });
  std::vector<std::uint64_t> counts(keys.size());
  table.run(table::Operation::find, keys, {}, {}, counts);
  EXPECT_EQ(counts, std::vector<std::uint64_t>(keys.size(), static_cast<std::uint64_t>(2 * kRuns - refused)));
}

TEST(TwoThreads, OnAHashTableTakeTurnsOrAreRefused) {
  table::HashTable<std::uint64_t, std::uint64_t> table({.run = kCpu, .capacity = 16});
  adds_are_counted_or_refused(table);
}

TEST(TwoThreads, OnAHashTableOfListsTakeTurnsOrAreRefused) {
  table::HashTable<std::uint64_t, std::uint64_t> table(
      {.run = kCpu, .structure = table::Structure::list, .capacity = 1024});
  adds_are_counted_or_refused(table);
}

TEST(TwoThreads, OnAConcurrentMapBothWork) {
  table::ConcurrentMap<std::uint64_t, std::uint64_t> map(1);
  std::atomic<std::uint64_t> next = 0;
  EXPECT_EQ(refused_of([&] {
              for (int k = 0; k < 50; ++k) map.insert(next++, 7);
              map.fetch_add(~std::uint64_t{0}, 1);
            }),
            0);
  EXPECT_EQ(map.size(), next + 1);
  EXPECT_EQ(map.find(~std::uint64_t{0}).value, static_cast<std::uint64_t>(2 * kRuns));
}

TEST(TwoThreads, OnASearchIndexTakeTurnsOrAreRefused) {
  std::vector<float> samples(500);
  for (std::size_t k = 0; k < samples.size(); ++k) samples[k] = static_cast<float>((k * k + 7 * k) % 101);
  search::Index index({samples}, {.run = kCpu});
  const std::vector<search::Pattern> patterns{
      {.samples = {samples.begin() + 100, samples.begin() + 140}, .radius = 2}};
  const std::vector<search::Task> tasks{{.limit = 3, .exclusion = 20}};
  const auto expected = index.best(patterns, tasks);
  refused_of([&] { EXPECT_EQ(index.best(patterns, tasks), expected); });
}

TEST(TwoThreads, OnASimulatedMachineTakeTurnsOrAreRefused) {
  sim::Machine machine(
      ptx::parse(".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n"));
  const int refused = refused_of([&] {
    const sim::Address address = machine.allocate(64);
    EXPECT_TRUE(machine.launch("nothing", {}, {}).clean());
    machine.free(address);
  });
  EXPECT_LE(refused, 2 * kRuns);
}

TEST(TwoThreads, OnALoopNestBothReadWhatWasFound) {
  const auto regions = tile::read_source(
      "void f(int n, float A[n][n]) { for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = A[i - 1][j]; }",
      "f.c", {});
  const tile::Nest nest = tile::Nest::analyse(regions.at(0));
  const std::string expected = tile::to_text(nest, tile::dependences(nest).at(0));
  refused_of([&] {
    const tile::Nest copy = nest;
    EXPECT_EQ(tile::to_text(copy, tile::dependences(copy).at(0)), expected);
  });
}

TEST(TwoThreads, OnASolutionBothRead) {
  const dp::Problem<std::int32_t> problem{.leaves = std::vector<std::int32_t>(60, 1)};
  const dp::Solution<std::int32_t> solution = dp::solve(problem, {.run = kCpu});
  const std::vector<dp::Split> expected = solution.trace();
  EXPECT_EQ(refused_of([&] {
              EXPECT_EQ(solution.trace(), expected);
              EXPECT_EQ(solution.value(0, 60), solution.optimum());
            }),
            0);
}

TEST(TwoThreads, OnOneImageBothSegment) {
  imaging::Image image(imaging::Grid{.nx = 16, .ny = 16, .nz = 1}, 1);
  for (std::size_t k = 0; k < image.data.size(); ++k) image.data[k] = static_cast<float>(k % 16 < 8);
  const imaging::SegmentOptions options{.max_iterations = 5, .run = kCpu};
  const imaging::Mask expected = imaging::segment(image, options).mask;
  EXPECT_EQ(refused_of([&] { EXPECT_EQ(imaging::segment(image, options).mask, expected); }), 0);
}

TEST(TwoThreads, OnOneTextBothOptimize) {
  const std::string text =
      ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n";
  EXPECT_EQ(refused_of([&] { EXPECT_EQ(reuse::optimize(text, {.assemble = false}).text, text); }), 0);
}

TEST(TwoThreads, OnOneChainOfMatricesBothOrder) {
  const std::vector<std::int64_t> dimensions{30, 35, 15, 5, 10, 20, 25};
  EXPECT_EQ(refused_of([&] {
              EXPECT_EQ(dp::chain_order(dimensions).parenthesisation, "((A1 (A2 A3)) ((A4 A5) A6))");
            }),
            0);
}

}  // namespace
}  // namespace warploom
