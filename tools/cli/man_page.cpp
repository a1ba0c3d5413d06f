#include "man_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "help.hpp"
#include "warploom/core/version.hpp"

namespace warploom::tool {
namespace {

/// What roff would take for its own is written so that it is printed.
std::string roff(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out = "\\&";
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '^')
      out += "\\(ha";
    else if (c == '~')
      out += "\\(ti";
    else if (c == '\'')
      out += "\\(aq";
    else if (c == '`')
      out += "\\(ga";
    else
      out += c;
  }
  return out;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string usage_part(const Command& command) {
  return fmt::format(".B {}\n{}\n", roff(command.path()), roff(usage_of(command)));
}

std::string examples_part(const Command& command) {
  std::string text = ".nf\n";
  for (const std::string& line : examples_of(command).commands) text += roff(line) + "\n";
  return text + ".fi\n";
}

std::string options_part(const Command& command, bool with_common, std::string_view macro) {
  std::string text;
  for (const auto& [heading, options] : groups_of(command)) {
    std::string part;
    for (const Option* option : options) {
      const bool is_common = std::ranges::count(common_options(command), option) > 0;
      if (is_common && !with_common) continue;
      part += fmt::format(".TP\n.B {}\n{}\n", roff(names_text(*option)), roff(whole_text(*option)));
    }
    if (!part.empty()) text += fmt::format("{} {}\n", macro, roff(upper(heading))) + part;
  }
  return text;
}

std::string remarks_part(const Command& command) {
  std::string text;
  for (const std::string& remark : examples_of(command).remarks) text += ".PP\n" + roff(remark) + "\n";
  return text;
}

}  // namespace

std::string man_page(const Command& command) {
  std::string name = command.path();
  std::ranges::replace(name, ' ', '-');
  std::string text =
      fmt::format(".TH {} 1 \"\" \"warploom {}\" \"Warploom\"\n", roff(upper(name)), version());
  text += fmt::format(".SH NAME\n{} \\- {}\n", roff(name), roff(command.summary));
  text += ".SH SYNOPSIS\n" + usage_part(command);
  if (const std::string remarks = remarks_part(command); !remarks.empty())
    text += ".SH DESCRIPTION\n" + remarks;
  text += ".SH EXAMPLES\n" + examples_part(command);
  if (!command.subs().empty()) {
    text += ".SH VERBS\n";
    for (const Command::Sub& sub : command.subs())
      text += fmt::format(".TP\n.B {}\n{}\n", roff(sub.command->name), roff(sub.command->summary));
  }
  text += options_part(command, true, ".SH");
  if (command.parent != nullptr)
    for (const Command::Sub& sub : command.subs()) {
      const Command& inner = *sub.command;
      text += fmt::format(".SH {}\n{}.\n.PP\n", roff(upper(inner.path())), roff(inner.summary)) +
              usage_part(inner) + remarks_part(inner) + ".SS EXAMPLES\n" + examples_part(inner) +
              options_part(inner, false, ".SS");
    }
  text += ".SH SEE ALSO\n";
  std::string others;
  if (command.parent != nullptr)
    others = "\\fBwarploom\\fR(1)";
  else
    for (const Command::Sub& sub : command.subs())
      others +=
          fmt::format("{}\\fBwarploom\\-{}\\fR(1)", others.empty() ? "" : ",\n", roff(sub.command->name));
  return text + others + "\n";
}

}  // namespace warploom::tool
