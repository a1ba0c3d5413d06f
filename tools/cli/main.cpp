#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <new>
#include <optional>

#include "process.hpp"
#include "verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"
#include "warploom/core/version.hpp"

namespace warploom::tool {
namespace {

constexpr const char* kClearLine = "\r\033[K";

struct CommonOptions {
  int verbose = 0;
  bool quiet = false;
  std::optional<LogLevel> level;

  LogLevel log_level() const {
    if (level) return *level;
    if (quiet) return LogLevel::error;
    return verbose >= 2 ? LogLevel::debug : verbose == 1 ? LogLevel::info : LogLevel::warning;
  }
};

void add_common_options(CLI::App& app, CommonOptions& common) {
  app.add_flag("-v,--verbose", common.verbose, "Say what is done; twice: and every detail");
  app.add_flag("-q,--quiet", common.quiet, "Errors only, no progress");
  app.add_option_function<std::string>(
         "--log-level", [&common](const std::string& text) { common.level = parse_log_level(text); },
         "off, error, warning, info or debug [warning]")
      ->type_name("LEVEL");
}

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
  run.log = [terminal](LogLevel severity, std::string_view message) {
    const std::string line =
        fmt::format("{}warploom: {}: {}\n", terminal ? kClearLine : "", name(severity), message);
    std::fwrite(line.data(), 1, line.size(), stderr);
  };
  if (!terminal || level < LogLevel::warning) return run;
  run.progress = [](const ProgressState& state) {
    const std::string line = kClearLine + (state.finished ? "" : progress_text(state));
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fflush(stderr);
  };
  return run;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string guess = nearest(word, candidates);
  return guess.empty() ? "" : fmt::format("; did you mean {}?", guess);
}

void refuse_unknown_verb(const std::string& word, const std::vector<Verb>& all) {
  std::vector<std::string> names;
  for (const Verb& verb : all) names.emplace_back(verb.name);
  if (std::find(names.begin(), names.end(), word) != names.end()) return;
  throw BadInput(
      fmt::format("'{}' is not a verb{} (warploom --help lists them)", word, did_you_mean(word, names)));
}

// "dp chain " of what was parsed; of nothing "".
std::string path_of(const CLI::App& app) {
  std::string path;
  for (const CLI::App* at = &app; at != nullptr;) {
    const std::vector<const CLI::App*> chosen =
        at->get_subcommands([](const CLI::App* sub) { return sub->parsed(); });
    at = chosen.empty() ? nullptr : chosen.front();
    if (at != nullptr) path += at->get_name() + " ";
  }
  return path;
}

// CLI11 collects what it does not know; this says what was meant. A verb's own verbs leave theirs to it.
void refuse_unknown_options(const CLI::App& app) {
  if (app.get_prefix_command()) return;
  std::vector<std::string> unknown = app.remaining();
  std::erase(unknown, "--");  // separates; what follows it is known or stays here
  if (unknown.empty()) return;
  const std::string word = unknown.front().substr(0, unknown.front().find('='));
  const bool is_option = word.size() > 1 && word.front() == '-', is_verb = app.get_parent() != nullptr;
  std::vector<std::string> names;
  const auto add_names = [&](const CLI::App& of) {
    for (const CLI::Option* option : of.get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  };
  add_names(app);
  bool chosen = false;
  std::vector<std::string> verbs;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    verbs.push_back(sub->get_name());
    if (!is_verb || !sub->parsed()) continue;
    chosen = true;
    add_names(*sub);
  }
  const std::string help =
      fmt::format("see warploom {}--help", is_verb ? app.get_name() + " " + path_of(app) : "");
  if (is_verb && !is_option && !chosen && !verbs.empty())
    throw BadInput(
        fmt::format("'{}' is not known to {}{} ({})", word, app.get_name(), did_you_mean(word, verbs), help));
  throw BadInput(fmt::format("{} '{}' is not known{}{} ({})", is_option ? "option" : "argument", word,
                             is_option ? " here" : " here: one too many",
                             is_option ? did_you_mean(word, names) : "", help));
}

int run(int argc, char** argv) {
  CommonOptions common;
  CLI::App app("Fits hard, irregular work to many-core processors.", "warploom");
  app.set_version_flag("--version", fmt::format("warploom {}", version()));
  app.footer(
      "Exit codes: 0 done, 1 a finding or a failed check, 2 bad usage or input, 3 internal error, 130 "
      "Ctrl-C.\n"
      "Example: warploom devices");
  app.require_subcommand(0, 1);
  app.allow_extras();
  add_common_options(app, common);

  const std::vector<Verb> all = verbs();
  std::vector<std::pair<CLI::App*, std::function<int()>>> actions;
  for (const Verb& verb : all) {
    CLI::App* sub = app.add_subcommand(std::string(verb.name), std::string(verb.summary));
    sub->allow_extras();
    sub->footer("Example: " + std::string(verb.example));
    add_common_options(*sub, common);
    actions.emplace_back(sub, verb.add(*sub));
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    if (dynamic_cast<const CLI::CallForVersion*>(&request) != nullptr) {
      print(fmt::format("{}\n", request.what()));
    } else {
      const std::vector<CLI::App*> chosen = app.get_subcommands();
      print(chosen.empty() ? app.help() : chosen.front()->help("warploom"));
    }
    return kDone;
  } catch (const CLI::ParseError& error) {
    throw BadInput(fmt::format("{} (see warploom {}--help)", error.what(), path_of(app)));
  }
  if (const std::vector<std::string> rest = app.remaining(); !rest.empty() && rest.front().front() != '-')
    refuse_unknown_verb(rest.front(), all);
  refuse_unknown_options(app);
  const RunScope scope(run_of_verbs(common.log_level()));
  for (const auto& [sub, action] : actions)
    if (sub->parsed()) {
      refuse_unknown_options(*sub);
      return action();
    }
  throw BadInput("no verb given (warploom --help lists them)");
}

// What failed, to stderr, and the exit code for it.
int report(std::string_view message, int code) {
  fmt::print(stderr, "warploom: {}\n", message);
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
    return report(error.what(), kBadInput);
  } catch (const std::bad_alloc&) {
    return report("out of memory", kBadInput);
  } catch (const std::exception& error) {
    return report(fmt::format("internal error: {}; please report it with the input", error.what()),
                  kInternal);
  }
}
