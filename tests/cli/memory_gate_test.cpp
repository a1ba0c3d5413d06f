// What a cohort does where memory is out: injected failures, in place of a GPU that is full.

#include "cohort/memory_gate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <string>
#include <thread>
#include <vector>

namespace warploom::tool {
namespace {

template <class Error>
void each_is_done_alone(const Error& error) {
  constexpr int kItems = 4;
  MemoryGate gate(100);
  std::barrier all(kItems);
  std::atomic<int> in_work = 0, done = 0, tries = 0, alone = 0;
  std::vector<std::jthread> threads;
  for (int item = 0; item < kItems; ++item)
    threads.emplace_back([&, item] {
      bool first = true;
      within_memory(gate, 10, true, std::to_string(item), [&] {
        ++tries;
        ++in_work;
        if (first) all.arrive_and_wait();  // all four are in work
        const int now = in_work;
        if (first) all.arrive_and_wait();
        first = false;
        --in_work;
        if (now > 1) throw error;
        ++alone;
        ++done;
      });
    });
  threads.clear();
  EXPECT_EQ(done, kItems);
  EXPECT_EQ(tries, 2 * kItems);
  EXPECT_EQ(alone, kItems) << "each was alone the second time";
}

TEST(MemoryGate, WhatFindsNoMemoryBesideOthersIsDoneAlone) {
  each_is_done_alone(OutOfMemory("3 GiB of the GPU's memory were wanted, 1 GiB are free"));
  each_is_done_alone(std::bad_alloc());
}

TEST(MemoryGate, WhatFindsNoneAloneFails) {
  MemoryGate gate(100);
  int tries = 0;
  const auto fails = [&](bool others) {
    within_memory(gate, 10, others, "item", [&] {
      ++tries;
      throw OutOfMemory("none");
    });
  };
  EXPECT_THROW(fails(false), OutOfMemory);
  EXPECT_EQ(tries, 1);
  EXPECT_THROW(fails(true), OutOfMemory);
  EXPECT_EQ(tries, 3);
  const MemoryGate::Alone nobody_is_left_in_it(gate);
}

TEST(MemoryGate, OtherErrorsAreNotTriedAgain) {
  MemoryGate gate(100);
  int tries = 0;
  EXPECT_THROW(within_memory(gate, 10, true, "item",
                             [&] {
                               ++tries;
                               throw BadInput("no such file");
                             }),
               BadInput);
  EXPECT_EQ(tries, 1);
}

TEST(MemoryGate, WhoWantsToBeAloneWaitsForOthers) {
  MemoryGate gate(100);
  std::atomic<bool> alone = false, entered = false;
  std::jthread second, third;
  {
    const MemoryGate::In first(gate, 10);
    std::atomic<bool> wants = false;
    second = std::jthread([&] {
      wants = true;
      const MemoryGate::Alone here(gate);
      alone = true;
      EXPECT_FALSE(entered);
    });
    while (!wants) std::this_thread::yield();
    EXPECT_FALSE(alone);
  }
  second.join();
  EXPECT_TRUE(alone);
  third = std::jthread([&] {
    const MemoryGate::In last(gate, 1000);
    entered = true;
  });
  third.join();
  EXPECT_TRUE(entered);
}

}  // namespace
}  // namespace warploom::tool
