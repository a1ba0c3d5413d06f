#include "warploom/core/run.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/core/threads.hpp"

namespace warploom {
namespace {

TEST(Run, OutsideOfScopesNothingIsSet) {
  EXPECT_TRUE(current_run().devices.empty());
  EXPECT_EQ(current_run().memory, 0U);
  EXPECT_EQ(within_cap(1000), 1000U);
  EXPECT_FALSE(log_enabled(LogLevel::error));
  EXPECT_NO_THROW(check_interrupt());
}

TEST(Run, WhatAScopeLeavesUnsetIsThatOfTheOneAround) {
  std::vector<std::string> said;
  const auto sink = [&](LogLevel, std::string_view message) { said.emplace_back(message); };
  const RunScope outer(
      {.devices = {Device::gpu(1)}, .memory = 100, .log = sink, .threshold = LogLevel::info});
  {
    const RunScope inner({.memory = 50, .threads = 3});
    EXPECT_EQ(current_run().devices, std::vector<Device>{Device::gpu(1)});
    EXPECT_EQ(within_cap(1000), 50U);
    EXPECT_EQ(within_cap(20), 20U);
    EXPECT_EQ(threads(), 3U);
    log(LogLevel::info, "inner");
  }
  EXPECT_EQ(within_cap(1000), 100U);
  EXPECT_EQ(current_run().threads, 0U);
  EXPECT_EQ(said, std::vector<std::string>{"inner"});
}

TEST(Run, ACopyOfACurrentRunTakesTheRequestToStopToAnotherThread) {
  std::atomic<bool> stop = true;
  const RunScope outer({.stop = &stop}), inner({.threads = 1});
  bool asked = false;
  std::thread([&asked, around = current_run()] {
    const RunScope same(around);
    asked = same.stop_requested();
  }).join();
  EXPECT_TRUE(asked);
}

TEST(Run, EveryScopeAroundCanStopTheWork) {
  std::atomic<bool> first = false, second = false;
  const RunScope outer({.stop = &first}), middle({.stop = &second}), inner({.threads = 1});
  EXPECT_NO_THROW(check_interrupt());
  first = true;
  EXPECT_THROW(check_interrupt(), Interrupted);
  first = false, second = true;
  EXPECT_THROW(check_interrupt(), Interrupted);
}

TEST(Run, BodiesRunAsTheirCaller) {
  std::atomic<int> said = 0, shown = 0;
  std::atomic<bool> stop = false;
  const RunScope scope({.threads = 4,
                        .stop = &stop,
                        .progress = [&](const ProgressState&) { ++shown; },
                        .log = [&](LogLevel, std::string_view) { ++said; }});
  parallel_for(20, [](std::int64_t) {
    log(LogLevel::error, "here");
    Progress progress("waiting", 1, "times");
    std::this_thread::sleep_for(std::chrono::milliseconds(101));
    progress.advance();
  });
  EXPECT_EQ(said, 20);
  EXPECT_EQ(shown, 2 * 20);
  EXPECT_THROW(parallel_for(100,
                            [&](std::int64_t k) {
                              if (k == 13) stop = true;
                              check_interrupt();
                            }),
               Interrupted);
}

TEST(Run, TwoThreadsHaveTheirOwn) {
  const auto heard = [](int count) {
    std::atomic<int> own = 0;
    const RunScope scope({.threads = 2, .log = [&](LogLevel, std::string_view) { ++own; }});
    for (int round = 0; round < 100; ++round)
      parallel_for(count, [](std::int64_t) { log(LogLevel::error, "mine"); });
    return own.load();
  };
  int other = 0;
  std::thread thread([&] { other = heard(3); });
  EXPECT_EQ(heard(5), 500);
  thread.join();
  EXPECT_EQ(other, 300);
}

TEST(Run, WorkOnOneDeviceRefusesSeveral) {
  try {
    const DeviceScope scope({.devices = {Device::gpu(0), Device::gpu(1)}}, "a search", true);
    FAIL() << "accepted";
  } catch (const BadInput& error) {
    EXPECT_STREQ(error.what(), "a search uses one device, not cuda:0,cuda:1: name one of them");
  }
  EXPECT_TRUE(current_run().devices.empty());
  EXPECT_EQ(DeviceScope({.devices = {Device::cpu}}, "a search", true).device(), Device::cpu);
}

}  // namespace
}  // namespace warploom
