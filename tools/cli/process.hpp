#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Starting other programs, and standing aside for them.
namespace warploom::tool {

/// Ctrl-C was pressed: Run::stop of all verbs.
inline std::atomic<bool> interrupted = false;

/// argv: the program, a path or a name for $PATH, and its arguments.
using Words = std::vector<std::string>;

/// The program as execvp would find it: the path itself if it has a slash, else the first in $PATH.
std::optional<std::filesystem::path> find_program(const std::string& program);
/// A tool of the CUDA toolkit: in $PATH, $CUDA_HOME/bin, $CUDA_PATH/bin, /usr/local/cuda/bin.
std::optional<std::filesystem::path> find_cuda_tool(const std::string& program);

/// Becomes that program. @throws BadInput if it cannot be started
[[noreturn]] void replace_process(const Words& words);

/// Where a child's output goes; empty: where ours goes.
struct Redirect {
  std::filesystem::path out, err;
};

/// Runs a program to its end and passes SIGINT, SIGTERM and SIGHUP on to it meanwhile.
/// @return its wait status @throws BadInput if it cannot be started
int run_program(const Words& words, const Redirect& redirect = {});

/// The exit code behind a wait status; a program that a signal ended ends this process likewise.
int end_like(int wait_status);

/// A new directory in $TMPDIR, removed with all that is in it.
class TemporaryDirectory {
 public:
  /// @throws BadInput
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace warploom::tool
