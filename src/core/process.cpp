#include "warploom/core/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>

#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

extern char** environ;

namespace warploom {
namespace {

namespace fs = std::filesystem;

constexpr std::array kForwarded{SIGINT, SIGTERM, SIGHUP};
volatile sig_atomic_t child = 0;
void (*on_interrupt)(int) = SIG_DFL;  // the caller's own

void forward(int signal) {
  // The child may ignore it, as nvcc does while its own children run.
  if (signal == SIGINT && on_interrupt != SIG_DFL && on_interrupt != SIG_IGN) on_interrupt(signal);
  if (child > 0) kill(static_cast<pid_t>(child), signal);
}

bool executable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

void require_program(const Words& words) {
  if (words.empty()) throw BadInput("no program is named that could be started");
}

std::vector<char*> pointers(const Words& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

std::string message(int error) { return std::generic_category().message(error); }

[[noreturn]] void cannot_start(const std::string& program, int error) {
  const bool absent = error == ENOENT && program.find('/') == program.npos;
  throw BadInput(fmt::format("cannot start {}: {}", program,
                             absent ? "it is not in $PATH; install it, or give its path" : message(error)));
}

constexpr int kCreate = O_WRONLY | O_CREAT | O_TRUNC;

/// How a program is started.
struct Spawn {
  Spawn() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;
  ~Spawn() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  /// @return 0, or the errno; `pid` is set on success
  int start(const Words& words, pid_t& pid) const {
    return posix_spawnp(&pid, words.front().c_str(), &actions, &attributes, pointers(words).data(), environ);
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// While it lives: the signals go to the child, and none is lost before there is one.
class Forwarding {
 public:
  Forwarding() {
    sigset_t mask;
    sigemptyset(&mask);
    for (const int signal : kForwarded) sigaddset(&mask, signal);
    sigprocmask(SIG_BLOCK, &mask, &old_mask_);
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_handler = forward;
    for (std::size_t i = 0; i < kForwarded.size(); ++i) sigaction(kForwarded[i], &action, &old_[i]);
    on_interrupt = old_[0].sa_handler;
  }
  Forwarding(const Forwarding&) = delete;
  Forwarding& operator=(const Forwarding&) = delete;
  ~Forwarding() {
    child = 0;
    for (std::size_t i = 0; i < kForwarded.size(); ++i) sigaction(kForwarded[i], &old_[i], nullptr);
    unblock();
  }
  void unblock() { sigprocmask(SIG_SETMASK, &old_mask_, nullptr); }
  const sigset_t& old_mask() const { return old_mask_; }

 private:
  sigset_t old_mask_;
  std::array<struct sigaction, kForwarded.size()> old_;
};

using Clock = std::chrono::steady_clock;

/// A program that says more than this is not the one that was meant.
constexpr std::size_t kMostOutputBytes = std::size_t{64} << 20;

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { close(); }
  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

/// A process that leads a group, so that what it has started dies with it. Killed and reaped unless wait()
/// was called.
class Group {
 public:
  explicit Group(pid_t pid) : pid_(pid) {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() {
    if (pid_ <= 0) return;
    kill(-pid_, SIGKILL);
    wait();
  }
  int wait() { return wait_for(std::exchange(pid_, -1)); }

 private:
  pid_t pid_;
};

/// Reads until the other end is closed. @return empty, or why it stopped before
std::string read_all(int fd, Clock::time_point deadline, std::string& out) {
  std::array<char, 1 << 16> buffer;
  while (true) {
    check_interrupt();
    if (Clock::now() >= deadline) return "it did not end within the time limit and was killed";
    pollfd ready{fd, POLLIN, 0};
    constexpr int kSliceMs = 50;  // how late a Ctrl-C or the time limit may be noticed
    if (poll(&ready, 1, kSliceMs) <= 0) continue;
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fmt::format("its output cannot be read: {}", message(errno));
    if (n == 0) return {};
    out.append(buffer.data(), static_cast<std::size_t>(n));
    if (out.size() > kMostOutputBytes) return "it printed more than 64 MiB and was killed";
  }
}

}  // namespace

std::optional<fs::path> find_program(const std::string& program) {
  if (program.find('/') != program.npos)
    return executable(program) ? std::optional<fs::path>(program) : std::nullopt;
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (true) {
    const std::size_t colon = rest.find(':');
    const fs::path directory = rest.substr(0, colon);
    if (const fs::path candidate = (directory.empty() ? "." : directory) / program; executable(candidate))
      return candidate;
    if (colon == rest.npos) return std::nullopt;
    rest.remove_prefix(colon + 1);
  }
}

std::optional<fs::path> find_cuda_tool(const std::string& program) {
  if (std::optional<fs::path> found = find_program(program)) return found;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(variable); home != nullptr && *home != '\0')
      if (fs::path candidate = fs::path(home) / "bin" / program; executable(candidate)) return candidate;
  if (fs::path candidate = fs::path("/usr/local/cuda/bin") / program; executable(candidate)) return candidate;
  return std::nullopt;
}

void replace_process(const Words& words) {
  require_program(words);
  execvp(words.front().c_str(), pointers(words).data());
  cannot_start(words.front(), errno);
}

int run_program(const Words& words, const Redirect& redirect) {
  require_program(words);
  Forwarding signals;
  Spawn spawn;
  if (!redirect.out.empty())
    posix_spawn_file_actions_addopen(&spawn.actions, STDOUT_FILENO, redirect.out.c_str(), kCreate, 0600);
  if (!redirect.err.empty())
    posix_spawn_file_actions_addopen(&spawn.actions, STDERR_FILENO, redirect.err.c_str(), kCreate, 0600);
  posix_spawnattr_setsigmask(&spawn.attributes, &signals.old_mask());
  posix_spawnattr_setflags(&spawn.attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  if (const int error = spawn.start(words, pid); error != 0) cannot_start(words.front(), error);
  child = pid;
  signals.unblock();
  return wait_for(pid);
}

int end_like(int wait_status) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  const int signal = WTERMSIG(wait_status);
  std::fflush(nullptr);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  return 128 + signal;  // the signal is blocked
}

Answer ask_program(const Words& words, std::chrono::milliseconds time_limit, std::string_view input,
                   const fs::path& out) {
  require_program(words);
  constexpr std::chrono::milliseconds kNow{0}, kYear = std::chrono::hours(24 * 365);
  // What lies outside would leave the clock's range.
  const Clock::time_point deadline = Clock::now() + std::clamp(time_limit, kNow, kYear);
  Answer answer;
  const auto failed = [&](const char* what, int error) {
    answer.failure = fmt::format("{}: {}", what, message(error));
    return answer;
  };
  // An unnamed file: nothing to clean up, however we end.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  if (!file || std::fwrite(input.data(), 1, input.size(), file.get()) != input.size() ||
      std::fflush(file.get()) != 0 || std::fseek(file.get(), 0, SEEK_SET) != 0)
    return failed("no temporary file could be written", errno);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failed("no pipe", errno);
  FileDescriptor reader(ends[0]), writer(ends[1]);
  Spawn spawn;
  posix_spawn_file_actions_adddup2(&spawn.actions, fileno(file.get()), STDIN_FILENO);
  if (out.empty())
    posix_spawn_file_actions_adddup2(&spawn.actions, writer.get(), STDOUT_FILENO);
  else
    posix_spawn_file_actions_addopen(&spawn.actions, STDOUT_FILENO, out.c_str(), kCreate, 0600);
  posix_spawn_file_actions_adddup2(&spawn.actions, writer.get(), STDERR_FILENO);
  posix_spawnattr_setflags(&spawn.attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = -1;
  if (const int error = spawn.start(words, pid); error != 0) return failed("cannot be started", error);
  Group group(pid);
  writer.close();
  answer.failure = read_all(reader.get(), deadline, answer.output);
  if (answer.failure.empty()) answer.status = group.wait();
  return answer;
}

TemporaryDirectory::TemporaryDirectory() {
  std::error_code error;
  std::string pattern = (fs::temp_directory_path(error) / "warploom-XXXXXX").string();
  if (error || mkdtemp(pattern.data()) == nullptr)
    throw BadInput(
        fmt::format("cannot make a temporary directory ({}): {}; set TMPDIR to a place that can be written",
                    pattern, error ? error.message() : message(errno)));
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace warploom
