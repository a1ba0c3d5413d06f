#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "core/cuda_driver.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/run.hpp"
#include "warploom/core/sanitizers.hpp"
#include "warploom/core/threads.hpp"

namespace warploom {
namespace {

constexpr int kChildren = 100;

/// Whether pooled work in this process gives what it should.
bool works() {
  const RunScope four({.threads = 4});
  std::vector<std::int64_t> squares(1000);
  parallel_for(std::ssize(squares), [&](std::int64_t k) { squares[static_cast<std::size_t>(k)] = k * k; });
  return std::accumulate(squares.begin(), squares.end(), std::int64_t{0}) == 332'833'500;
}

/// Whether a forked child does `what`, and comes to its end within a minute.
bool child_does(const std::function<bool()>& what) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(what() ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0;
}

class Fork : public testing::Test {
 protected:
  void SetUp() override {
    if (WARPLOOM_THREAD_SANITIZER) GTEST_SKIP() << "ThreadSanitizer allows no threads in a forked child";
  }
};

/// Calls `work` again and again in a thread of its own.
class Busy {
 public:
  explicit Busy(std::function<void()> work)
      : thread_([this, work = std::move(work)] {
          while (!stop_) {
            work();
            ++rounds_;
          }
        }) {
    while (rounds_ == 0) std::this_thread::yield();
  }
  ~Busy() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<int> rounds_ = 0;
  std::thread thread_;
};

TEST_F(Fork, AChildForkedAfterPooledWorkWorks) {
  ASSERT_TRUE(works());
  for (int k = 0; k < kChildren; ++k) ASSERT_TRUE(child_does(works)) << "child " << k;
  EXPECT_TRUE(works());
}

TEST_F(Fork, AChildForkedBeforePooledWorkWorks) {
  // A child has no pool before its first call, as a process that was just started.
  for (int k = 0; k < kChildren; ++k)
    ASSERT_TRUE(child_does([] { return child_does(works) && works(); })) << "child " << k;
}

TEST_F(Fork, AChildForkedWhileAnotherThreadWorksWorks) {
  const Busy busy([] { ASSERT_TRUE(works()); });
  for (int k = 0; k < kChildren; ++k) ASSERT_TRUE(child_does(works)) << "child " << k;
}

TEST_F(Fork, AChildForkedWhileAnotherThreadLogsAndShowsProgressDoesBoth) {
  const auto say = [] {
    int heard = 0;
    const RunScope scope({.progress = [](const ProgressState&) {},
                          .log = [&](LogLevel, std::string_view) { ++heard; },
                          .threshold = LogLevel::info});
    Progress progress("saying", 1, "words");
    progress.advance();
    log(LogLevel::info, "a word");
    return heard == 1;
  };
  const Busy busy([&] { ASSERT_TRUE(say()); });
  for (int k = 0; k < kChildren; ++k) ASSERT_TRUE(child_does(say)) << "child " << k;
}

TEST_F(Fork, AChildForkedInABodyMayWorkThere) {
  std::atomic<int> done = 0;
  const RunScope four({.threads = 4});
  parallel_for(16, [&](std::int64_t) { done += child_does(works); });
  EXPECT_EQ(done, 16);
}

/// How a child ends that was forked inside a body, by the caller's thread or by another, and left the body: 0
/// if the call told it so, by an error.
int end_of_child_that_leaves_its_body(bool on_the_callers_thread) {
  const RunScope four({.threads = 4});
  const std::thread::id caller = std::this_thread::get_id();
  const pid_t parent = getpid();
  std::atomic<bool> taken = false;
  std::atomic<int> status = -1;
  const auto body = [&](std::int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // so that every thread gets some
    if ((std::this_thread::get_id() == caller) != on_the_callers_thread || taken.exchange(true)) return;
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      return;
    }
    int ended = 0;
    waitpid(child, &ended, 0);
    status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 100;
  };
  try {
    while (status < 0) parallel_for(64, body);
  } catch (const Error& error) {
    if (getpid() != parent)
      _exit(std::string(error.what()).find("forked inside a body") != std::string::npos ? 0 : 2);
    throw;
  }
  if (getpid() != parent) _exit(3);
  return status;
}

TEST_F(Fork, AChildThatLeavesTheBodyItWasForkedInIsTold) {
  EXPECT_EQ(end_of_child_that_leaves_its_body(/*on_the_callers_thread=*/true), 0);
}

TEST_F(Fork, AChildOfAPoolThreadThatLeavesItsBodyEnds) {
  EXPECT_EQ(end_of_child_that_leaves_its_body(/*on_the_callers_thread=*/false), EXIT_FAILURE);
}

TEST_F(Fork, CudaStartedByTheParentIsRefusedInTheChild) {
  ASSERT_EQ(CudaDriver(FAKE_CUDA_DRIVER).devices().absent, "");
  EXPECT_TRUE(child_does([] {
    const CudaDriver driver(FAKE_CUDA_DRIVER);
    const bool said =
        driver.devices().absent.find("forked") != std::string::npos && driver.devices().devices.empty();
    try {
      const OnDevice here(Device::gpu(1), driver);
    } catch (const NoDevice& error) {
      return said && std::string(error.what()).find("before the first use of a GPU") != std::string::npos;
    }
    return false;
  }));
  EXPECT_EQ(CudaDriver(FAKE_CUDA_DRIVER).devices().absent, "") << "the parent goes on";
}

}  // namespace
}  // namespace warploom
