#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Starting other programs, without a shell.
namespace warploom {

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
  std::filesystem::path out = {}, err = {};
};

/// For a process that stands aside: runs a program to its end, and passes SIGINT, SIGTERM and SIGHUP on to it
/// meanwhile. @return its wait status @throws BadInput if it cannot be started
int run_program(const Words& words, const Redirect& redirect = {});

/// The exit code behind a wait status; a program that a signal ended ends this process likewise.
int end_like(int wait_status);

/// What a program answered.
struct Answer {
  std::string output = {};   ///< of standard output and error together
  int status = 0;            ///< as wait() gives it, of a program that ended by itself
  std::string failure = {};  ///< why it did not: "cannot be started: ...", or why it was killed; else empty
};
/// For a library: runs a program in a process group of its own. At the time limit, after 64 MiB of output and
/// on Ctrl-C it is killed with all that it has started.
/// @param input  what it reads from standard input, through an unnamed file
/// @param out  a file that its standard output goes to, of any length; the answer then has the error's alone
/// @throws Interrupted
Answer ask_program(const Words& words, std::chrono::milliseconds time_limit, std::string_view input = "",
                   const std::filesystem::path& out = {});

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

}  // namespace warploom
