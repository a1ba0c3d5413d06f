#include "warploom/core/threads.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/spare_threads.hpp"
#include "warploom/core/run.hpp"

namespace warploom {
namespace {

class ThreadsTest : public testing::TestWithParam<unsigned> {
 protected:
  const RunScope scope_{{.threads = GetParam()}};
};

TEST_P(ThreadsTest, EveryIndexIsVisitedOnce) {
  std::vector<std::atomic<int>> visits(10'007);
  parallel_for(std::ssize(visits), [&](std::int64_t k) { ++visits[static_cast<std::size_t>(k)]; });
  for (const std::atomic<int>& count : visits) ASSERT_EQ(count, 1);
}

TEST_P(ThreadsTest, NothingIsCalledForNoWork) {
  parallel_for(0, [](std::int64_t) { FAIL(); });
  parallel_for(-1, [](std::int64_t) { FAIL(); });
}

TEST_P(ThreadsTest, AnExceptionReachesTheCallerAndThePoolGoesOn) {
  const auto throwing = [](std::int64_t k) {
    if (k == 13) throw std::runtime_error("thirteen");
  };
  EXPECT_THROW(parallel_for(100, throwing), std::runtime_error);
  std::atomic<int> count = 0;
  parallel_for(100, [&](std::int64_t) { ++count; });
  EXPECT_EQ(count, 100);
}

TEST_P(ThreadsTest, AnInnerCallRunsOnItsThread) {
  std::atomic<int> count = 0, strangers = 0;
  parallel_for(8, [&](std::int64_t) {
    const std::thread::id mine = std::this_thread::get_id();
    parallel_for(8, [&](std::int64_t) {
      ++count;
      strangers += std::this_thread::get_id() != mine;
    });
  });
  EXPECT_EQ(count, 64);
  EXPECT_EQ(strangers, 0);
}

TEST_P(ThreadsTest, ManyShortCallsDoNotLoseWork) {
  std::int64_t sum = 0;
  std::vector<std::int64_t> parts(3);
  for (int round = 0; round < 2000; ++round) {
    parallel_for(3, [&](std::int64_t k) { parts[static_cast<std::size_t>(k)] = round + k; });
    sum += std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  }
  EXPECT_EQ(sum, 3 * (1999 * 2000 / 2) + 3 * 2000);
}

TEST_P(ThreadsTest, CallsFromTwoThreadsAreServedAtOnce) {
  // Each call ends only after a body of the other one has begun.
  std::array<std::atomic<bool>, 2> begun{};
  const auto call = [&](std::size_t mine) {
    parallel_for(4, [&, mine](std::int64_t) {
      begun[mine] = true;
      while (!begun[1 - mine]) std::this_thread::yield();
    });
  };
  std::thread other([&] { call(1); });
  call(0);
  other.join();
}

TEST_P(ThreadsTest, CallsFromSeveralThreadsLoseNoWork) {
  std::atomic<int> count = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) parallel_for(10, [&](std::int64_t) { ++count; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(count, 4 * 50 * 10);
}

INSTANTIATE_TEST_SUITE_P(OneTwoAndMore, ThreadsTest, testing::Values(1u, 2u, 7u));

TEST(Threads, CountIsTheRunsAndOneAProcessorOtherwise) {
  EXPECT_GE(threads(), 1U);
  const RunScope scope({.threads = 5});
  EXPECT_EQ(threads(), 5U);
}

TEST(Threads, ARunsThreadsAreTheMostThatTakePart) {
  const RunScope many({.threads = 6});
  parallel_for(6, [](std::int64_t) {});  // now there are as many
  const RunScope scope({.threads = 2});
  std::atomic<int> now = 0, most = 0;
  parallel_for(200, [&](std::int64_t) {
    const int here = ++now;
    for (int seen = most; seen < here && !most.compare_exchange_weak(seen, here);) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    --now;
  });
  EXPECT_LE(most, 2);
}

TEST(Threads, WhoStillWorksHasTheSpareOnes) {
  const RunScope run({.threads = 2});
  SpareThreads spare;
  {
    const SpareThreads::Scope scope(spare);
    EXPECT_EQ(threads(), 2U);
    spare.give(3);
    EXPECT_EQ(threads(), 5U);
    // Each body ends only after all five have begun.
    std::atomic<int> begun = 0;
    parallel_for(5, [&](std::int64_t) {
      ++begun;
      while (begun < 5) std::this_thread::yield();
    });
    std::thread([&] {
      const RunScope other({.threads = 2});
      EXPECT_EQ(threads(), 2U);  // of this thread alone
    }).join();
  }
  EXPECT_EQ(threads(), 2U);
}

TEST(Threads, InsideABodyThereIsOne) {
  std::atomic<unsigned> most = 0;
  parallel_for(8, [&](std::int64_t) { most = std::max(most.load(), threads()); });
  EXPECT_EQ(most, 1U);
  EXPECT_GE(threads(), 1U);
}

}  // namespace
}  // namespace warploom
