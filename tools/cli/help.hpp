#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command.hpp"

/// Texts for people, written from what a command declares.
namespace warploom::tool {

inline constexpr std::size_t kHelpWidth = 80;  ///< no line of --help is longer

/// What --help prints. @param bold  headings are for a terminal
std::string help_text(const Command& command, bool bold);
/// Whether headings on standard output are bold: it is a terminal, and NO_COLOR is not set.
bool bold_headings();

/// A verb's `example`, taken apart: whole command lines, and after them paragraphs, which begin with a
/// capital.
struct Examples {
  std::vector<std::string> commands, remarks;
};
Examples examples_of(const Command& command);

/// Options that every verb has: --help, -v, -q and --log-level, and of the tool itself --version.
std::vector<const Option*> common_options(const Command& command);
/// "[OPTIONS] FILE", what follows the verb.
std::string usage_of(const Command& command);
/// "-o, --output FILE"
std::string names_text(const Option& option);
/// Its whole text, with its limits.
std::string whole_text(const Option& option);
/// Groups in the order of their first option: their heading, and what is listed there. Positionals are
/// "Arguments", common options come last.
std::vector<std::pair<std::string, std::vector<const Option*>>> groups_of(const Command& command);

/// The first sentences of a long text, about 160 characters, and the default in brackets at its end.
std::string brief(const std::string& text);
/// Lines of at most `width` characters, each after `indent` blanks, the first of them left out.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width = kHelpWidth);

}  // namespace warploom::tool
