#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <new>
#include <optional>
#include <set>
#include <string>

#include "help.hpp"
#include "option_names.hpp"
#include "parser.hpp"
#include "verb.hpp"
#include "version_text.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"

namespace warploom::tool {
namespace {

/// Ctrl-C was pressed: Run::stop of all verbs.
std::atomic<bool> interrupted = false;

constexpr const char* kClearLine = "\r\033[K";

// Ctrl-C asks the work to stop at a safe place; a second one ends the process at once.
void on_interrupt(int signal) {
  if (interrupted.exchange(true)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

// A closed pipe or a file size limit is an error of write(), not the end of the process. A handler, not
// SIG_IGN, so that programs started from here get the default back.
void on_write_error(int) {}

void install_signal_handlers() {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_handler = on_interrupt;  // without SA_RESTART: a blocked read() has to notice
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = on_write_error;
  sigaction(SIGPIPE, &action, nullptr);
  sigaction(SIGXFSZ, &action, nullptr);
}

Run run_of_verbs(LogLevel level) {
  Run run;
  run.stop = &interrupted;
  const bool terminal = isatty(STDERR_FILENO) == 1;
  run.threshold = level;
  run.log = [terminal, said = std::set<std::string, std::less<>>()](LogLevel severity,
                                                                    std::string_view message) mutable {
    if (severity == LogLevel::warning && !said.emplace(message).second)
      return;  // of a file that is read again
    print_error(fmt::format("{}warploom: {}: {}\n", terminal ? kClearLine : "", name(severity),
                            without_long_words(message)));
  };
  if (!terminal || level < LogLevel::warning) return run;
  run.progress = [](const ProgressState& state) {
    print_error(kClearLine + (state.finished ? "" : progress_text(state)));
  };
  return run;
}

/// "dp chain" of what was asked for.
std::string chosen_path(const Command& command) {
  const Command::Sub* sub = command.chosen();
  if (sub == nullptr) return "";
  const std::string inner = chosen_path(*sub->command);
  return inner.empty() ? sub->command->name : sub->command->name + " " + inner;
}

int run(int argc, char** argv) {
  CommonOptions common;
  Command tool;
  tool.name = "warploom";
  tool.summary = "Fit hard, irregular work to many-core processors";
  tool.example =
      "warploom reuse k.ptx -o out.ptx --html map.html\n"
      "warploom denoise dwi.nii.gz --bval dwi.bval --bvec dwi.bvec -o out/sub01\n"
      "warploom help search\n"
      "Exit codes: 0 done; 1 a finding, or a check that failed; 2 bad usage or input, no such device, or too little "
      "memory; 3 an error of our own; 130 Ctrl-C.\n"
      "Output files are written all or none. A file that exists is replaced only with --force, and folders that are "
      "missing are made.";
  const std::function<int()> run_verb = tool.add_verbs("verb", verbs());
  if (const Command* asked = parse_command_line(argc, argv, tool, common)) {
    print(help_text(*asked, bold_headings()));
    return kDone;
  }
  if (common.version) {
    print(version_text(common.verbose > 0));
    return kDone;
  }
  if (tool.chosen() == nullptr) throw BadInput("no verb given (warploom --help lists them)");
  set_command_path(chosen_path(tool));
  const RunScope scope(run_of_verbs(common.log_level()));
  return run_verb();
}

// What failed, to stderr, and the exit code for it.
int report(std::string_view message, int code) {
  print_error(fmt::format("warploom: {}\n", without_long_words(message)));
  return code;
}

}  // namespace
}  // namespace warploom::tool

int main(int argc, char** argv) {
  using namespace warploom;
  using namespace warploom::tool;
  install_signal_handlers();
  try {
    const int code = run(argc, argv);
    finish_output();
    return code;
  } catch (const Interrupted& error) {
    return report(error.what(), kInterrupted);
  } catch (const Internal& error) {
    return report(fmt::format("internal error: {}; please report it with the input", error.what()),
                  kInternal);
  } catch (const Error& error) {
    return report(with_option_names(error.what()), kBadInput);
  } catch (const std::bad_alloc&) {
    return report("out of memory", kBadInput);
  } catch (const std::exception& error) {
    return report(fmt::format("internal error: {}; please report it with the input", error.what()),
                  kInternal);
  }
}
