#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "warploom/core/log.hpp"

namespace warploom::tool {

/// What every verb understands.
struct CommonOptions {
  int verbose = 0;
  bool quiet = false, version = false;
  std::optional<LogLevel> level;

  LogLevel log_level() const {
    if (level) return *level;
    if (quiet) return LogLevel::error;
    return verbose >= 2 ? LogLevel::debug : verbose == 1 ? LogLevel::info : LogLevel::warning;
  }
};

/// Declares them. @param tool  of the tool itself, which also has --version
void add_common_options(Command& command, CommonOptions& common, bool tool);

/// Reads a command line into `tool`, whose verbs have been added, and what these declared.
/// @return the command of which --help was asked, else null
/// @throws BadInput (what is not known, missing or out of range, with the nearest that is known)
const Command* parse_command_line(int argc, char** argv, Command& tool, CommonOptions& common);

/// Reads options alone, from a text as in a shell: those of an environment variable.
/// @throws BadInput with the reason alone
void parse_options(std::string_view text, Command& command);

}  // namespace warploom::tool
