#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "warploom/core/file.hpp"

namespace warploom {

struct ToolRun {
  int code = -1;  ///< exit code; -1 if a signal ended it
  std::string out, err;
};

/// Runs a shell command line, in which $WARPLOOM is the tool, and collects what it wrote.
inline ToolRun run_shell(const std::string& command) {
  std::string pattern = (std::filesystem::temp_directory_path() / "warploom_cli_XXXXXX").string();
  const std::filesystem::path directory = mkdtemp(pattern.data());
  setenv("WARPLOOM", WARPLOOM_TOOL, 1);
  const std::string redirected =
      "{ " + command + "\n} >" + (directory / "out").string() + " 2>" + (directory / "err").string();
  const int status = std::system(redirected.c_str());
  ToolRun run{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(directory / "out"),
              read_file(directory / "err")};
  std::filesystem::remove_all(directory);
  return run;
}

/// Runs the tool with arguments as a shell would read them.
inline ToolRun run_tool(const std::string& arguments) { return run_shell("\"$WARPLOOM\" " + arguments); }

/// That $tool has computed for a tenth of a second, as a shell's condition.
inline constexpr const char* kHasComputed = "[ $(cut -d' ' -f14 /proc/$tool/stat) -ge 10 ]";

/// Runs a tool's command line, and sends it the signal as soon as `begun` holds, a shell's condition, and, of
/// SIGINT, as soon as the tool has a handler: what a shell runs in the background ignores it until then.
inline ToolRun run_and_signal(const std::string& command, const std::string& begun = kHasComputed,
                              const std::string& signal = "INT") {
  const std::string hears = signal == "INT" ? "grep -q 'SigCgt:.*[2367abef]$' /proc/$tool/status && " : "";
  return run_shell(command + " & tool=$!\nwhile [ -e /proc/$tool/exe ] && ! { " + hears + begun +
                   "; }; do sleep 0.01; done\nkill -" + signal + " $tool; wait $tool");
}

}  // namespace warploom
