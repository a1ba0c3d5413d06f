#include "process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "warploom/core/error.hpp"

extern char** environ;

namespace warploom::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::array forwarded{SIGINT, SIGTERM, SIGHUP};
volatile sig_atomic_t child = 0;

void forward(int signal) {
  if (signal == SIGINT) interrupted = true;  // a child may ignore it, as nvcc does while its own children run
  if (child > 0) kill(static_cast<pid_t>(child), signal);
}

bool executable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

std::vector<char*> pointers(const Words& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

[[noreturn]] void cannot_start(const std::string& program, int error) {
  throw BadInput(fmt::format("cannot start {}: {}", program, std::generic_category().message(error)));
}

/// While it lives: the signals go to the child, and none is lost before there is one.
class Forwarding {
 public:
  Forwarding() {
    sigset_t mask;
    sigemptyset(&mask);
    for (const int signal : forwarded) sigaddset(&mask, signal);
    sigprocmask(SIG_BLOCK, &mask, &old_mask_);
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_handler = forward;
    for (std::size_t i = 0; i < forwarded.size(); ++i) sigaction(forwarded[i], &action, &old_[i]);
  }
  Forwarding(const Forwarding&) = delete;
  Forwarding& operator=(const Forwarding&) = delete;
  ~Forwarding() {
    child = 0;
    for (std::size_t i = 0; i < forwarded.size(); ++i) sigaction(forwarded[i], &old_[i], nullptr);
    unblock();
  }
  void unblock() { sigprocmask(SIG_SETMASK, &old_mask_, nullptr); }
  const sigset_t& old_mask() const { return old_mask_; }

 private:
  sigset_t old_mask_;
  std::array<struct sigaction, forwarded.size()> old_;
};

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
  execvp(words.front().c_str(), pointers(words).data());
  cannot_start(words.front(), errno);
}

int run_program(const Words& words, const Redirect& redirect) {
  Forwarding signals;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int create = O_WRONLY | O_CREAT | O_TRUNC;
  if (!redirect.out.empty())
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, redirect.out.c_str(), create, 0600);
  if (!redirect.err.empty())
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, redirect.err.c_str(), create, 0600);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &signals.old_mask());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error =
      posix_spawnp(&pid, words.front().c_str(), &actions, &attributes, pointers(words).data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) cannot_start(words.front(), error);
  child = pid;
  signals.unblock();
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int end_like(int wait_status) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  const int signal = WTERMSIG(wait_status);
  std::fflush(nullptr);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  return 128 + signal;  // the signal is blocked
}

TemporaryDirectory::TemporaryDirectory() {
  std::error_code error;
  std::string pattern = (fs::temp_directory_path(error) / "warploom-XXXXXX").string();
  if (error || mkdtemp(pattern.data()) == nullptr)
    throw BadInput(
        fmt::format("cannot make a temporary directory ({}): {}; set TMPDIR to a place that can "
                    "be written",
                    pattern, error ? error.message() : std::generic_category().message(errno)));
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace warploom::tool
