#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
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

TEST_F(Fork, AChildThatLeavesTheBodyItWasForkedInIsTold) {
  const pid_t parent = getpid();
  const RunScope four({.threads = 4});
  std::atomic<int> told = 0;
  try {
    parallel_for(4, [&](std::int64_t k) {
      if (k != 0) return;
      const pid_t child = fork();
      if (child == 0) {
        alarm(60);
        return;
      }
      int status = 0;
      waitpid(child, &status, 0);
      told += status == 0;
    });
  } catch (const Error& error) {
    if (getpid() != parent)
      _exit(std::string(error.what()).find("forked inside a body") != std::string::npos ? 0 : 1);
    throw;
  }
  if (getpid() != parent) _exit(2);
  EXPECT_EQ(told, 1);
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
