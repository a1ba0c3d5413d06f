#include "help.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>

#include "parser.hpp"

namespace warploom::tool {
namespace {

constexpr std::size_t kTextColumn = 26;  // where what an option does begins
constexpr std::size_t kBriefLength = 160;
constexpr std::string_view kCommon = "Common options";

/// The default in brackets at the end: " [auto]", or nothing.
std::string_view default_of(std::string_view text) {
  if (!text.ends_with(']')) return "";
  const std::size_t open = text.rfind(" [");
  return open == text.npos ? "" : text.substr(open);
}

/// Where the first sentence or clause after `from` ends, outside of parentheses and brackets.
std::size_t end_of_clause(std::string_view text, std::size_t from) {
  int depth = 0;
  for (std::size_t i = from; i + 1 < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (depth == 0 && (text[i] == '.' || text[i] == ';') && text[i + 1] == ' ') return i;
  }
  return text.size();
}

/// A command line that is too long, in lines that end in a backslash.
std::string broken_command(std::string_view command, std::size_t indent) {
  std::string out;
  std::size_t room = kHelpWidth - indent;
  while (command.size() > room) {
    std::size_t last = command.npos;
    char quote = 0;
    for (std::size_t i = 0; i + 2 <= room; ++i) {
      const char c = command[i];
      if (quote == 0 && (c == '\'' || c == '"'))
        quote = c;
      else if (c == quote)
        quote = 0;
      else if (quote == 0 && c == ' ')
        last = i;
    }
    if (last == command.npos) break;
    out += fmt::format("{} \\\n{:{}}", command.substr(0, last), "", indent + 4);
    command.remove_prefix(last + 1);
    room = kHelpWidth - indent - 4;
  }
  return out + std::string(command);
}

std::string heading(std::string_view text, bool bold) {
  return bold ? fmt::format("\033[1m{}:\033[0m", text) : fmt::format("{}:", text);
}

/// A name and what it is, in two columns.
std::string row(const std::string& name, const std::string& text) {
  std::string out = "  " + name;
  if (out.size() + 2 > kTextColumn)
    out += '\n' + std::string(kTextColumn, ' ');
  else
    out.resize(kTextColumn, ' ');
  return out + wrapped(text, kTextColumn) + '\n';
}

template <class Limits>
std::string limits_text(const Limits& limits) {
  using Number = decltype(limits.first);
  if (limits.second == std::numeric_limits<Number>::max() ||
      static_cast<double>(limits.second) >= std::numeric_limits<int>::max())
    return fmt::format("at least {}", limits.first);
  return fmt::format("{} to {}", limits.first, limits.second);
}

struct LimitsText {
  std::string operator()(std::monostate) const { return ""; }
  template <class Limits>
  std::string operator()(const Limits& limits) const {
    return limits_text(limits);
  }
};

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  for (std::size_t at = text.find_first_not_of(' '); at != text.npos;) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    std::string_view word = text.substr(at, end - at);
    at = text.find_first_not_of(' ', end);
    if (column > indent && column + 1 + word.size() > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) out += ' ', ++column;
    while (indent + word.size() > width) {  // a list without blanks, or an address
      const std::size_t comma = word.substr(0, width - indent).rfind(',');
      const std::size_t part = comma == word.npos || comma == 0 ? width - indent : comma + 1;
      out += std::string(word.substr(0, part)) + '\n' + std::string(indent, ' ');
      word.remove_prefix(part);
    }
    out += word;
    column += word.size();
  }
  return out;
}

std::string brief(const std::string& text) {
  if (text.size() <= kBriefLength) return text;
  const std::string_view otherwise = default_of(text);
  const std::string_view body = std::string_view(text).substr(0, text.size() - otherwise.size());
  std::size_t end = end_of_clause(body, 0);
  for (std::size_t next = end; next < body.size();) {
    next = end_of_clause(body, next + 1);
    if (next + otherwise.size() > kBriefLength) break;
    end = next;
  }
  return std::string(body.substr(0, end)) + std::string(otherwise);
}

bool bold_headings() {
  const auto set = [](const char* variable) {
    const char* value = std::getenv(variable);
    return value == nullptr ? std::string_view() : std::string_view(value);
  };
  return isatty(STDOUT_FILENO) == 1 && set("NO_COLOR").empty() && set("TERM") != "dumb";
}

Examples examples_of(const Command& command) {
  Examples all;
  std::string_view rest = command.example;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) continue;
    const bool is_remark = !all.remarks.empty() || std::isupper(static_cast<unsigned char>(line[0])) != 0;
    (is_remark ? all.remarks : all.commands).emplace_back(line);
  }
  return all;
}

std::string names_text(const Option& option) {
  if (option.is_positional()) return option.names;
  std::string text = option.names;
  if (const std::size_t comma = text.find(','); comma != text.npos) text.insert(comma + 1, " ");
  const std::string value = option.value_name();
  return value.empty() ? text : text + " " + value;
}

std::string whole_text(const Option& option) {
  const std::string limits = std::visit(LimitsText{}, option.limits);
  std::string values;
  for (const std::string& value : option.values())
    if (option.suggested.empty()) values += (values.empty() ? "" : ", ") + value;
  std::string extra;
  if (!values.empty() && option.help.find(option.values().front()) == option.help.npos) extra = values;
  if (!limits.empty()) extra = limits;
  const std::string_view otherwise = default_of(option.help);
  std::string text = option.help.substr(0, option.help.size() - otherwise.size());
  if (!extra.empty() && text.find(extra) == text.npos) text += fmt::format(" ({})", extra);
  text += otherwise;
  if (option.shows_default)
    if (const auto* value = std::get_if<std::string*>(&option.target)) text += fmt::format(" [{}]", **value);
  return text;
}

std::vector<const Option*> common_options(const Command& command) {
  static CommonOptions common;
  static bool help = false;
  static Command declared;
  if (declared.options().empty()) {
    declared.add("-h,--help", &help, "Print this help and stop");
    add_common_options(declared, common, true);
  }
  std::vector<const Option*> options;
  for (const Option& option : declared.options())
    if (option.names != "--version" || command.parent == nullptr) options.push_back(&option);
  return options;
}

std::string usage_of(const Command& command) {
  std::string text;
  if (command.parent == nullptr) return "VERB [OPTIONS] ...";
  const bool only_verbs = !command.subs().empty() && command.options().empty();
  if (only_verbs) text += "VERB ";
  text += "[OPTIONS]";
  for (const Option& option : command.options())
    if (!option.is_positional() && option.is_required)
      text += fmt::format(" {} {}", option.name(), option.value_name());
  for (const Option& option : command.options()) {
    if (!option.is_positional() || option.is_hidden) continue;
    std::string name = option.names + (option.takes_many() ? "..." : "");
    text += option.is_required ? " " + name : " [" + name + "]";
  }
  if (command.passes_on()) text += " COMMAND...";
  return text;
}

std::vector<std::pair<std::string, std::vector<const Option*>>> groups_of(const Command& command) {
  std::vector<std::pair<std::string, std::vector<const Option*>>> groups;
  const auto in = [&](std::string_view heading) -> std::vector<const Option*>& {
    const auto found =
        std::ranges::find_if(groups, [&](const auto& group) { return group.first == heading; });
    if (found != groups.end()) return found->second;
    groups.emplace_back(heading, std::vector<const Option*>{});
    return groups.back().second;
  };
  std::vector<const Option*> common;
  for (const Option& option : command.options()) {
    if (option.is_hidden) continue;
    if (option.is_positional())
      in("Arguments").push_back(&option);
    else if (option.group == kCommon)
      common.push_back(&option);
    else
      in(option.group.empty() ? "Options" : option.group).push_back(&option);
  }
  std::ranges::stable_partition(groups, [](const auto& group) { return group.first == "Arguments"; });
  std::ranges::copy(common_options(command), std::back_inserter(common));
  groups.emplace_back(kCommon, std::move(common));
  return groups;
}

std::string help_text(const Command& command, bool bold) {
  const Examples examples = examples_of(command);
  const std::string path = command.path();
  std::string text = wrapped(command.summary, 0) + "\n\n";
  const std::string usage = heading("Usage", bold) + " " + path + " ";
  const std::size_t indent = std::string_view("Usage: ").size() + path.size() + 1;
  text += usage + wrapped(usage_of(command), indent) + "\n";
  if (!examples.commands.empty())
    text += "\n" + heading(examples.commands.size() == 1 ? "Example" : "Examples", bold) + "\n";
  for (const std::string& line : examples.commands) text += "  " + broken_command(line, 2) + "\n";
  if (!command.subs().empty()) {
    text += "\n" + heading("Verbs", bold) + "\n";
    for (const Command::Sub& sub : command.subs()) text += row(sub.command->name, sub.command->summary);
  }
  std::string common;
  for (const auto& [name, options] : groups_of(command)) {
    std::string& part = name == kCommon ? common : text;
    part += "\n" + heading(name, bold) + "\n";
    for (const Option* option : options)
      part += row(names_text(*option),
                  brief(whole_text(*option)) +
                      (option->is_required && !option->is_positional() ? " (required)" : ""));
  }
  if (!examples.remarks.empty()) text += "\n" + heading("Notes", bold) + "\n";
  for (const std::string& remark : examples.remarks) text += "  " + wrapped(remark, 2) + "\n";
  text += common;
  const std::string verb = command.parent == nullptr ? "help VERB" : path.substr(path.find(' ') + 1);
  text += command.parent == nullptr ? "\nMore about a verb: warploom help VERB, or warploom man VERB\n"
                                    : fmt::format("\nThe whole text: warploom man {}\n", verb);
  return text;
}

}  // namespace warploom::tool
