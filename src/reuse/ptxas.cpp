#include "warploom/reuse/ptxas.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "warploom/core/progress.hpp"

extern char** environ;

namespace warploom::reuse {
namespace {

using Clock = std::chrono::steady_clock;

/// ptxas says a few lines a kernel; a program that says more than this is something else.
constexpr std::size_t max_output_bytes = std::size_t{64} << 20;

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
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

/// A process in its own group, so that what it has started dies with it. Killed and reaped unless
/// wait() was called.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    wait();
  }
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_;
};

std::string system_message(int error) { return std::generic_category().message(error); }

/// Starts argv[0] with `input` as standard input and `output` as standard output and error.
/// @return 0, or the errno; `pid` is set on success
int spawn(const std::vector<std::string>& argv, int input, int output, pid_t& pid) {
  std::vector<char*> pointers;
  for (const std::string& a : argv) pointers.push_back(const_cast<char*>(a.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int error = ::posix_spawn(&pid, argv[0].c_str(), &actions, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/// Reads until the other end is closed. @return empty, or why it stopped before
std::string read_all(int fd, Clock::time_point deadline, std::string& out) {
  std::array<char, 1 << 16> buffer;
  while (true) {
    check_interrupt();
    if (Clock::now() >= deadline) return "it did not end within the time limit and was killed";
    pollfd ready{fd, POLLIN, 0};
    constexpr int slice_ms = 50;  // how late a Ctrl-C or the time limit may be noticed
    if (::poll(&ready, 1, slice_ms) <= 0) continue;
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fmt::format("its output cannot be read: {}", system_message(errno));
    if (n == 0) return {};
    out.append(buffer.data(), static_cast<std::size_t>(n));
    if (out.size() > max_output_bytes) return "it printed more than 64 MiB and was killed";
  }
}

/// The lines that say what is wrong, under the text's own name.
std::string complaint(std::string_view output, const std::string& file) {
  constexpr std::string_view alias = "/dev/stdin";
  constexpr std::size_t max_bytes = 2000;
  std::string out;
  for (std::size_t at = 0; at < output.size() && out.size() < max_bytes;) {
    const std::size_t end = std::min(output.find('\n', at), output.size());
    std::string line(output.substr(at, std::min(end - at, max_bytes)));
    at = end + 1;
    if (line.empty() || line.starts_with("ptxas info") || line.starts_with("    ")) continue;
    if (const std::size_t i = line.find(alias); i != line.npos) line.replace(i, alias.size(), file);
    out += (out.empty() ? "" : "\n") + line;
  }
  return out;
}

/// The number that stands before `what` in "Used 4 registers, used 0 barriers, 52 bytes smem".
template <typename Integer>
bool number_before(std::string_view line, std::string_view what, Integer& value) {
  const std::size_t end = line.find(what);
  if (end == line.npos || end == 0) return false;
  const std::size_t begin = line.find_last_not_of("0123456789", end - 1) + 1;
  const auto [rest, error] = std::from_chars(line.data() + begin, line.data() + end, value);
  return error == std::errc{} && rest == line.data() + end;
}

bool executable(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<std::filesystem::path> find_ptxas() {
  std::vector<std::filesystem::path> folders;
  if (const char* path = std::getenv("PATH"))
    for (std::string_view rest = path; !rest.empty();) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      if (end > 0) folders.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(variable); root && *root)
      folders.push_back(std::filesystem::path(root) / "bin");
  folders.emplace_back("/usr/local/cuda/bin");
  for (const auto& folder : folders)
    if (executable(folder / "ptxas")) return folder / "ptxas";
  return std::nullopt;
}

std::map<std::string, PtxasUsage, std::less<>> parse_ptxas_output(std::string_view output) {
  std::map<std::string, PtxasUsage, std::less<>> kernels;
  std::string entry;      // of the last "Compiling entry function" line
  bool of_entry = false;  // the last "Function properties" line named it, not a function it calls
  PtxasUsage usage;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    const std::string_view line = output.substr(0, end);
    output.remove_prefix(std::min(end + 1, output.size()));
    constexpr std::string_view compiling = "Compiling entry function '",
                               properties = "Function properties for ";
    if (const std::size_t at = line.find(compiling); at != line.npos) {
      const std::size_t begin = at + compiling.size();
      entry = line.substr(begin, std::min(line.find('\'', begin), line.size()) - begin);
      usage = {};
      of_entry = false;
    } else if (const std::size_t named = line.find(properties); named != line.npos) {
      of_entry = line.substr(named + properties.size()) == entry;
    } else if (of_entry && number_before(line, " bytes stack frame", usage.stack)) {
      number_before(line, " bytes spill stores", usage.spill_stores);
      number_before(line, " bytes spill loads", usage.spill_loads);
    } else if (!entry.empty() && number_before(line, " registers", usage.registers)) {
      number_before(line, " bytes smem", usage.shared);
      kernels[entry] = usage;
      entry.clear();
    }
  }
  return kernels;
}

std::optional<PtxasRun> run_ptxas(std::string_view text, std::string_view arch, const PtxasOptions& options) {
  const auto program = options.executable.empty() ? find_ptxas() : std::optional(options.executable);
  if (!program) return std::nullopt;

  PtxasRun run;
  const auto failed = [&](std::string why) {
    run.error = fmt::format("{}: {} -arch={}: {}", options.file, program->string(), arch, why);
    return run;
  };
  // An unnamed file, read through /dev/stdin, and no output file: nothing to clean up, however we end.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> input(std::tmpfile(), &std::fclose);
  if (!input || std::fwrite(text.data(), 1, text.size(), input.get()) != text.size() ||
      std::fflush(input.get()) != 0 || std::fseek(input.get(), 0, SEEK_SET) != 0)
    return failed(fmt::format("no temporary file could be written: {}", system_message(errno)));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed(fmt::format("no pipe: {}", system_message(errno)));
  FileDescriptor reader(ends[0]), writer(ends[1]);

  std::vector<std::string> argv{program->string(), "--verbose", fmt::format("-arch={}", arch)};
  argv.insert(argv.end(), options.arguments.begin(), options.arguments.end());
  argv.insert(argv.end(), {"/dev/stdin", "-o", "/dev/null"});
  pid_t pid = -1;
  const auto deadline = Clock::now() + options.time_limit;
  if (const int error = spawn(argv, fileno(input.get()), writer.get(), pid); error != 0)
    return failed(fmt::format("cannot be started: {}", system_message(error)));
  Child child(pid);
  writer.close();

  std::string output;
  if (std::string why = read_all(reader.get(), deadline, output); !why.empty()) return failed(std::move(why));
  const int status = child.wait();
  if (WIFSIGNALED(status)) return failed(fmt::format("ended by signal {}", WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    return failed(fmt::format("exit code {}: {}", WEXITSTATUS(status), complaint(output, options.file)));
  run.kernels = parse_ptxas_output(output);
  // With --verbose even a module without kernels is answered by a line on its global memory.
  if (run.kernels.empty() && output.find("ptxas info") == output.npos)
    return failed(fmt::format("its output is not understood: {}", complaint(output, options.file)));
  return run;
}

}  // namespace warploom::reuse
