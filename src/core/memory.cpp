#include "warploom/core/memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "warploom/core/error.hpp"

namespace warploom {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
/// Limits above are none: version 1 says the largest number of whole pages.
constexpr std::uint64_t kLargestLimit = std::uint64_t{1} << 60;

/// The number behind a word, as in "MemAvailable:  16384 kB"; behind "" the first of the file.
std::optional<std::uint64_t> number_in(const fs::path& file, std::string_view word = "") {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first;
    if (!word.empty() && (!(words >> first) || first != word)) continue;
    if (std::uint64_t number = 0; words >> number) return number;
    return std::nullopt;
  }
  return std::nullopt;
}

/// The files of one version of control groups.
struct GroupFiles {
  std::string_view limit, usage, file_pages;
};
constexpr GroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles kVersion2{"memory.max", "memory.current", "inactive_file"};

/// What the limits of a group and its ancestors leave. Pages of files count as used but make way.
std::uint64_t group_leaves(const fs::path& mount, fs::path group, const GroupFiles& files) {
  std::uint64_t least = kUnlimited;
  for (;; group = group.parent_path()) {
    const fs::path directory = mount / group;
    if (const auto limit = number_in(directory / files.limit); limit && *limit < kLargestLimit) {
      const std::uint64_t usage = number_in(directory / files.usage).value_or(0);
      const std::uint64_t pages = number_in(directory / "memory.stat", files.file_pages).value_or(0);
      const std::uint64_t used = usage - std::min(pages, usage);
      least = std::min(least, *limit - std::min(used, *limit));
    }
    if (group.empty()) return least;
  }
}

/// What `ulimit -v` leaves.
std::uint64_t address_space_leaves(const fs::path& root) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  const std::uint64_t pages = number_in(root / "proc/self/statm").value_or(0);
  const std::uint64_t used = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur - std::min<std::uint64_t>(used, limit.rlim_cur);
}

}  // namespace

std::uint64_t available_memory(const fs::path& root) {
  std::uint64_t least = address_space_leaves(root);
  if (const auto kilobytes = number_in(root / "proc/meminfo", "MemAvailable:"))
    least = std::min(least, *kilobytes * 1024);
  // Lines are "4:memory:/group" in version 1 and "0::/group" in version 2.
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = fs::path(line.substr(second + 1)).relative_path();
    const fs::path mount = root / "sys/fs/cgroup";
    if (controllers == ",,") least = std::min(least, group_leaves(mount, group, kVersion2));
    if (controllers.find(",memory,") != controllers.npos)
      least = std::min(least, group_leaves(mount / "memory", group, kVersion1));
  }
  return least;
}

void require_memory(std::uint64_t bytes, std::string_view what, std::uint64_t available) {
  if (available < bytes)
    throw OutOfMemory(fmt::format("{} needs {} of memory, {} are available", what, bytes_text(bytes),
                                  bytes_text(available)));
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  constexpr std::array<std::string_view, 6> kUnits = {"kB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.5; value /= 1000) ++unit;
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, kUnits[unit]);
}

}  // namespace warploom
