#include "claim.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <fstream>
#include <random>
#include <sstream>
#include <system_error>

#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/log.hpp"
#include "warploom/json/json.hpp"

namespace warploom::tool {
namespace fs = std::filesystem;
namespace {

/// Empty where it cannot be read.
std::string small_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Equal for processes whose numbers mean the same: one boot of one machine, one name space.
const std::string& this_machine() {
  static const std::string name = [] {
    std::string boot = small_file("/proc/sys/kernel/random/boot_id");
    while (!boot.empty() && boot.back() == '\n') boot.pop_back();
    std::error_code error;
    return boot + " " + fs::read_symlink("/proc/self/ns/pid", error).string();
  }();
  return name;
}

/// When a process began, as its system counts: tells it from a later one of the same number.
std::string began(long process) {
  const std::string stat = small_file(fmt::format("/proc/{}/stat", process));
  const std::size_t name_end = stat.rfind(')');
  if (name_end == stat.npos) return "";
  std::istringstream fields(stat.substr(name_end + 1));
  constexpr int kStart = 20;  // field 22 of proc(5), of which two are before
  std::string field;
  for (int k = 0; k < kStart; ++k) fields >> field;
  return field;
}

std::string random_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

/// Of a claim's text; empty of nonsense, as a machine leaves that went down while it wrote.
std::string tag_of(const std::string& claimed) {
  try {
    return Json::parse(claimed).at("tag").get<std::string>();
  } catch (const BadInput&) {
    return "";
  }
}

/// Durable enough for a claim: written as a whole before it has its name.
bool write_whole(const fs::path& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return false;
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int problem = errno;
  ::close(file);
  errno = problem;
  return written;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

Claims::Claims(fs::path folder, std::chrono::milliseconds beat)
    : folder_(std::move(folder)), beat_(beat), worker_(random_name()) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw BadInput(fmt::format("cannot make the folder {}: {}", folder_.string(), error.message()));
  beating_ = std::jthread([this](const std::stop_token& stop) {
    std::mutex waiting;
    std::condition_variable_any wake;
    std::unique_lock lock(waiting);
    while (!wake.wait_for(lock, stop, beat_, [&] { return stop.stop_requested(); })) beat_all();
  });
}

Claims::~Claims() {
  beating_.request_stop();
  beating_.join();
  while (!held_.empty()) release(held_.begin()->first);
}

fs::path Claims::path(const std::string& item) const { return folder_ / (item + ".claim"); }

std::string Claims::text(const Held& held) const {
  static const std::string since = began(getpid());
  // Of one length for every number of beats, so that a new one replaces it byte by byte.
  return fmt::format(
      "{{\"tag\": \"{}\", \"host\": {}, \"machine\": \"{}\", \"process\": {}, \"began\": \"{}\", \"beat_ms\": {}, \"beats\": \"{:020}\"}}\n",
      held.tag, Json(host_name()).dump(), this_machine(), getpid(), since, beat_.count(), held.beats);
}

bool Claims::make(const std::string& item, const Held& held) {
  const fs::path claim = path(item), own = folder_ / fmt::format(".{}", held.tag);
  std::error_code error;
  fs::create_directories(claim.parent_path(), error);
  if (!write_whole(own, text(held))) {
    const int problem = errno;
    fs::remove(own, error);
    throw BadInput(
        fmt::format("cannot write {}: {}", claim.string(), std::generic_category().message(problem)));
  }
  bool linked = ::link(own.c_str(), claim.c_str()) == 0;
  const int problem = errno;
  // An answer that NFS lost and asked for again says that the name exists, for it is there by the first
  // request.
  linked = linked || fs::hard_link_count(own, error) == 2;
  fs::remove(own, error);
  if (!linked && problem != EEXIST)
    throw BadInput(
        fmt::format("cannot write {}: {}", claim.string(), std::generic_category().message(problem)));
  return linked;
}

Claims::Answer Claims::take(const std::string& item,
                            const std::function<void(const std::string& tag)>& clear) {
  const std::lock_guard lock(mutex_);
  Held mine{fmt::format("{}-{}", worker_, made_++)};
  if (!make(item, mine)) {
    const std::string claimed = small_file(path(item));
    if (!is_dead(item, claimed)) return {};
    if (const std::string tag = tag_of(claimed); !tag.empty()) clear(tag);
    if (!take_away(item, claimed) || !make(item, mine)) return {};
    log(LogLevel::info, fmt::format("{}: was claimed by a worker that is gone", item));
  }
  seen_.erase(item);
  Answer answer{Taken::mine, mine.tag};
  held_[item] = std::move(mine);
  return answer;
}

bool Claims::is_dead(const std::string& item, const std::string& claimed) {
  std::chrono::milliseconds beat = beat_;
  try {
    const Json claim = Json::parse(claimed);
    beat = std::chrono::milliseconds(claim.at("beat_ms").get<std::int64_t>());
    const auto process = claim.at("process").get<std::int64_t>();
    if (claim.at("machine").get<std::string>() == this_machine()) {
      const bool gone = ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH;
      return gone || began(process) != claim.at("began").get<std::string>();
    }
  } catch (const BadInput&) {
    // Just being released, or nonsense: if it stays so, it is dead.
  }
  const Clock::time_point now = Clock::now();
  Seen& seen = seen_[item];
  if (seen.text != claimed || seen.since == Clock::time_point{}) seen = {claimed, now};
  return now - seen.since > 3 * beat;
}

bool Claims::take_away(const std::string& item, const std::string& claimed) const {
  const fs::path claim = path(item), away = folder_ / fmt::format(".{}-gone", random_name());
  std::error_code error;
  fs::rename(claim, away, error);
  if (error) return false;  // somebody was faster
  if (small_file(away) != claimed) {
    // Another one took it away and claimed the item, between our look and our rename: it gets its claim back.
    ::link(away.c_str(), claim.c_str());
    fs::remove(away, error);
    return false;
  }
  fs::remove(away, error);
  return true;
}

bool Claims::holds(const std::string& item) {
  const std::lock_guard lock(mutex_);
  const auto held = held_.find(item);
  return held != held_.end() && small_file(path(item)).find(held->second.tag) != std::string::npos;
}

void Claims::release(const std::string& item) {
  const std::lock_guard lock(mutex_);
  const auto held = held_.find(item);
  if (held == held_.end()) return;
  std::error_code error;
  if (small_file(path(item)).find(held->second.tag) != std::string::npos) fs::remove(path(item), error);
  held_.erase(held);
}

void Claims::beat_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [item, held] : held_) {
    ++held.beats;
    const int file = ::open(path(item).c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) continue;  // taken over
    const std::string now = text(held);
    std::string there(now.size(), '\0');
    if (::pread(file, there.data(), there.size(), 0) == static_cast<ssize_t>(there.size()) &&
        there.find(held.tag) != std::string::npos) [[maybe_unused]]
      const auto written = ::pwrite(file, now.data(), now.size(), 0);
    ::close(file);
  }
}

}  // namespace warploom::tool
