#include "warploom/core/memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <limits>

#include "warploom/core/error.hpp"

namespace warploom {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMiB = 1 << 20;

/// A root directory with files of our own.
class Memory : public testing::Test {
 protected:
  Memory() { fs::create_directories(root_); }
  ~Memory() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  const fs::path root_ =
      fs::temp_directory_path() / ("warploom_memory_" + std::to_string(::getpid()) + "_" +
                                   testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Memory, IsWhatTheKernelCallsAvailable) {
  write("proc/meminfo", "MemTotal:  8192 kB\nMemFree:  10 kB\nMemAvailable:  4096 kB\n");
  EXPECT_EQ(available_memory(root_), 4 * kMiB);
}

TEST_F(Memory, IsWithoutBoundWhereNothingCanBeRead) {
  EXPECT_EQ(available_memory(root_), std::numeric_limits<std::uint64_t>::max());
}

TEST_F(Memory, IsLessInAGroupOfVersion2WithALimit) {
  write("proc/meminfo", "MemAvailable:  4194304 kB\n");
  write("proc/self/cgroup", "0::/jobs/one\n");
  write("sys/fs/cgroup/jobs/one/memory.max", "104857600\n");     // 100 MiB
  write("sys/fs/cgroup/jobs/one/memory.current", "62914560\n");  // 60 MiB, of which 20 MiB make way
  write("sys/fs/cgroup/jobs/one/memory.stat", "anon 1\ninactive_file 20971520\n");
  EXPECT_EQ(available_memory(root_), 60 * kMiB);
}

TEST_F(Memory, IsBoundedByAnAncestorsLimitToo) {
  write("proc/meminfo", "MemAvailable:  4194304 kB\n");
  write("proc/self/cgroup", "0::/jobs/one\n");
  write("sys/fs/cgroup/jobs/one/memory.max", "max\n");
  write("sys/fs/cgroup/jobs/memory.max", "10485760\n");
  write("sys/fs/cgroup/jobs/memory.current", "1048576\n");
  EXPECT_EQ(available_memory(root_), 9 * kMiB);
}

TEST_F(Memory, IsLessInAGroupOfVersion1WithALimit) {
  write("proc/meminfo", "MemAvailable:  4194304 kB\n");
  write("proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/jobs\n0::/\n");
  write("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "10485760\n");
  write("sys/fs/cgroup/memory/jobs/memory.usage_in_bytes", "4194304\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(available_memory(root_), 6 * kMiB);
}

TEST_F(Memory, IsNothingWhereAGroupUsesMoreThanItsLimit) {
  write("proc/self/cgroup", "0::/jobs\n");
  write("sys/fs/cgroup/jobs/memory.max", "1048576\n");
  write("sys/fs/cgroup/jobs/memory.current", "2097152\n");
  EXPECT_EQ(available_memory(root_), 0u);
}

TEST_F(Memory, IsLessWhereAddressesAreLimited) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = std::uint64_t{1} << 50;  // more than anybody uses, sanitizers too
  if (setrlimit(RLIMIT_AS, &limit) != 0) GTEST_SKIP() << "addresses are limited further already";
  write("proc/self/statm", "1024 900 800 1 0 700 0\n");
  EXPECT_EQ(available_memory(root_),
            limit.rlim_cur - 1024 * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
}

TEST_F(Memory, OfThisMachineIsSomeMegabytes) { EXPECT_GT(available_memory(), kMiB); }

TEST(RequireMemory, RefusesMoreThanThereIsWithBothNumbers) {
  EXPECT_NO_THROW(require_memory(1, "a byte"));
  try {
    require_memory(std::numeric_limits<std::uint64_t>::max(), "the square table");
    FAIL() << "18 EB were found";
  } catch (const OutOfMemory& error) {
    EXPECT_THAT(
        error.what(),
        testing::MatchesRegex("the square table needs 18\\.4 EB of memory, [0-9.]+ [kMGTP]?B are available"));
  }
}

TEST(BytesText, HasThreeDigitsAndAUnit) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(999), "999 bytes");
  EXPECT_EQ(bytes_text(1000), "1.00 kB");
  EXPECT_EQ(bytes_text(999'499), "999 kB");
  EXPECT_EQ(bytes_text(999'500), "1.00 MB");
  EXPECT_EQ(bytes_text(12'345'678'901), "12.3 GB");
  EXPECT_EQ(bytes_text(std::numeric_limits<std::uint64_t>::max()), "18.4 EB");
}

}  // namespace
}  // namespace warploom
