#include "warploom/core/progress.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"

namespace warploom {
namespace {

class ProgressTest : public testing::Test {
 protected:
  std::vector<ProgressState> states;
  std::atomic<bool> stop = false;
  RunScope scope{
      {.stop = &stop, .progress = [this](const ProgressState& state) { states.push_back(state); }}};
};

TEST_F(ProgressTest, ShortWorkIsNotShown) {
  for (const auto shown_after = std::chrono::milliseconds(100);;) {
    const auto start = std::chrono::steady_clock::now();
    { Progress("placing", 10, "kernels").advance(); }
    if (std::chrono::steady_clock::now() - start < shown_after) break;
    states.clear();  // others had the processor meanwhile
  }
  EXPECT_TRUE(states.empty());
}

TEST_F(ProgressTest, LongWorkIsShownAndThenFinished) {
  {
    Progress progress("placing", 10, "kernels");
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    progress.advance(4);
  }
  ASSERT_EQ(states.size(), 2U);
  EXPECT_EQ(states[0].what, "placing");
  EXPECT_EQ(states[0].unit, "kernels");
  EXPECT_EQ(states[0].done, 4U);
  EXPECT_EQ(states[0].total, 10U);
  EXPECT_GE(states[0].elapsed, 0.12);
  EXPECT_FALSE(states[0].finished);
  EXPECT_TRUE(states[1].finished);
}

TEST_F(ProgressTest, IsShownAtMostTenTimesASecond) {
  const auto start = std::chrono::steady_clock::now();
  {
    Progress progress("counting", 0, "steps");
    while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(350)) progress.advance();
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_GE(states.size(), 2U);
  EXPECT_LE(static_cast<double>(states.size()), taken.count() * 10 + 1);
}

TEST_F(ProgressTest, ThreadsCountTogether) {
  {
    Progress progress("counting", 0, "steps");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int k = 0; k < 1000; ++k) progress.advance();
      });
    for (std::thread& thread : threads) thread.join();
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    progress.advance();
  }
  ASSERT_FALSE(states.empty());
  EXPECT_EQ(states.back().done, 4001U);
}

TEST(Progress, WithoutASinkItOnlyCounts) {
  Progress progress("placing", 10, "kernels");
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  EXPECT_NO_THROW(progress.advance());
}

TEST_F(ProgressTest, AnInterruptStopsTheWork) {
  Progress progress("placing", 10, "kernels");
  progress.advance();
  stop = true;
  EXPECT_THROW(progress.advance(), Interrupted);
}

TEST_F(ProgressTest, AnInterruptLastsAsLongAsItIsAskedFor) {
  EXPECT_NO_THROW(check_interrupt());
  stop = true;
  EXPECT_THROW(check_interrupt(), Interrupted);
  EXPECT_THROW(check_interrupt(), Interrupted);
  stop = false;
  EXPECT_NO_THROW(check_interrupt());
}

std::atomic<bool> signalled = false;

TEST(Progress, ASignalHandlerMayAskForTheInterrupt) {
  const RunScope scope({.stop = &signalled});
  auto* const before = std::signal(SIGUSR1, [](int) { signalled = true; });
  std::raise(SIGUSR1);
  std::signal(SIGUSR1, before);
  EXPECT_THROW(check_interrupt(), Interrupted);
}

TEST(ProgressText, ShowsShareRateAndTimeLeft) {
  EXPECT_EQ(progress_text({"placing", "kernels", 400, 1000, 5.0, false}),
            "placing 400/1000 kernels (40 %), 80 kernels/s, 0:08 left");
}

TEST(ProgressText, OfUnknownLengthHasNoShare) {
  EXPECT_EQ(progress_text({"reading", "lines", 30, 0, 2.0, false}), "reading 30 lines, 15 lines/s");
}

TEST(ProgressText, BeforeTheFirstUnitHasNoRate) {
  EXPECT_EQ(progress_text({"placing", "kernels", 0, 10, 3.0, false}), "placing 0/10 kernels (0 %)");
}

TEST(ProgressText, LongTimesShowHours) {
  EXPECT_EQ(progress_text({"placing", "kernels", 1, 3601, 1.5, false}),
            "placing 1/3601 kernels (0 %), 0.667 kernels/s, 1:30:00 left");
}

}  // namespace
}  // namespace warploom
