#include "completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "help.hpp"
#include "verb.hpp"

namespace warploom::tool {
namespace {

/// The tool and all its verbs, outer ones first.
std::vector<const Command*> all_commands(const Command& command) {
  std::vector<const Command*> all{&command};
  for (const Command::Sub& sub : command.subs())
    for (const Command* inner : all_commands(*sub.command)) all.push_back(inner);
  return all;
}

/// "dp chain"; of the tool "".
std::string key(const Command& command) {
  const std::string path = command.path();
  const std::size_t blank = path.find(' ');
  return blank == path.npos ? "" : path.substr(blank + 1);
}
bool is_tool(const Command& command) { return command.parent == nullptr; }

/// All options that may stand behind it: its own, those of the verb around it, and the common ones.
std::vector<const Option*> options_behind(const Command& command) {
  std::vector<const Option*> all;
  for (const Command* at = &command; at != nullptr && (!is_tool(*at) || at == &command); at = at->parent)
    for (const Option& option : at->options())
      if (!option.is_positional() && !option.is_hidden) all.push_back(&option);
  for (const Option* option : common_options(command)) all.push_back(option);
  return all;
}

/// Words that may stand where no option does: its verbs, or values of a positional.
std::vector<std::pair<std::string, std::string>> words_of(const Command& command) {
  std::vector<std::pair<std::string, std::string>> words;
  const bool about_verbs = command.name == "help" || command.name == "man";
  for (const Command::Sub& sub : (about_verbs ? command.root() : command).subs())
    words.emplace_back(sub.command->name, sub.command->summary);
  for (const Option& option : command.options())
    if (option.is_positional())
      for (const std::string& value : option.values()) words.emplace_back(value, option.help);
  return words;
}

std::string joined(const Option& option, std::string_view separator) {
  return fmt::format("{}", fmt::join(split(option.names, ','), separator));
}

/// In single quotes, for any of the shells.
std::string quoted(std::string_view text, std::string_view quote) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += quote;
    else
      out += c;
  }
  return out + "'";
}

std::string first_clause(const std::string& text) {
  constexpr std::size_t kMost = 70;
  std::string one = text.substr(0, text.find_first_of(";:["));
  while (!one.empty() && one.back() == ' ') one.pop_back();
  if (one.size() > kMost) one = one.substr(0, one.rfind(' ', kMost)) + " ...";
  return one;
}

/// The words of the command line that say which verb is meant, as arms of a case.
std::string verb_arms(const Command& tool) {
  std::string arms;
  for (const Command* command : all_commands(tool))
    if (!is_tool(*command))
      arms +=
          fmt::format("      \"{} {}\") at=\"{}\" ;;\n", key(*command->parent), command->name, key(*command));
  return arms;
}

}  // namespace

std::string bash_completion(const Command& tool) {
  std::string text =
      "# bash completion for warploom, written by `warploom completion bash`\n"
      "_warploom() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
      "  local at= words= options= values= has_value= k\n"
      "  for ((k = 1; k < COMP_CWORD; ++k)); do\n"
      "    case \"$at ${COMP_WORDS[k]}\" in\n" +
      verb_arms(tool) +
      "    esac\n"
      "  done\n"
      "  case $at in\n";
  for (const Command* command : all_commands(tool)) {
    std::string words, options, arms, others;
    for (const auto& [word, about] : words_of(*command)) words += (words.empty() ? "" : " ") + word;
    for (const Option* option : options_behind(*command)) {
      options += (options.empty() ? "" : " ") + joined(*option, " ");
      if (option->is_flag()) continue;
      if (option->values().empty())
        others += (others.empty() ? "" : " | ") + joined(*option, " | ");
      else
        arms += fmt::format("        {}) has_value=1 values={} ;;\n", joined(*option, " | "),
                            quoted(fmt::format("{}", fmt::join(option->values(), " ")), "'\\''"));
    }
    if (!others.empty()) arms += fmt::format("        {}) has_value=1 ;;\n", others);
    text += fmt::format("    '{}')\n      words='{}'\n      options='{}'\n", key(*command), words, options);
    if (!arms.empty()) text += "      case $previous in\n" + arms + "      esac\n";
    text += "      ;;\n";
  }
  return text +
         "  esac\n"
         "  COMPREPLY=()\n"
         "  if [[ $has_value ]]; then\n"
         "    [[ $values ]] && mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$current\")\n"
         "  elif [[ $current == -* ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
         "  elif [[ $words ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "  fi\n"
         "  return 0\n"
         "}\n"
         "complete -o default -F _warploom warploom\n";
}

std::string zsh_completion(const Command& tool) {
  std::string text =
      "#compdef warploom\n"
      "# zsh completion for warploom, written by `warploom completion zsh`\n"
      "_warploom() {\n"
      "  local at= k previous=${words[CURRENT-1]}\n"
      "  local -a verbs options values\n"
      "  for ((k = 2; k < CURRENT; ++k)); do\n"
      "    case \"$at ${words[k]}\" in\n" +
      verb_arms(tool) +
      "    esac\n"
      "  done\n"
      "  case $at in\n";
  const auto described = [](const std::string& word, const std::string& about) {
    return " " + quoted(word + ":" + first_clause(about), "'\\''");
  };
  for (const Command* command : all_commands(tool)) {
    std::string verbs, options, arms, others;
    for (const auto& [word, about] : words_of(*command)) verbs += described(word, about);
    for (const Option* option : options_behind(*command)) {
      for (const std::string& name : split(option->names, ',')) options += described(name, option->help);
      if (option->is_flag()) continue;
      if (option->values().empty())
        others += (others.empty() ? "" : "|") + joined(*option, "|");
      else
        arms += fmt::format("        ({}) values=({}) ;;\n", joined(*option, "|"),
                            fmt::join(option->values(), " "));
    }
    if (!others.empty()) arms += fmt::format("        ({}) _files; return ;;\n", others);
    text += fmt::format("    ({})\n      verbs=({})\n      options=({})\n", quoted(key(*command), "'\\''"),
                        verbs, options);
    if (!arms.empty()) text += "      case $previous in\n" + arms + "      esac\n";
    text += "      ;;\n";
  }
  return text +
         "  esac\n"
         "  if (( $#values )); then\n"
         "    compadd -a values\n"
         "  elif [[ $PREFIX == -* ]]; then\n"
         "    _describe option options\n"
         "  else\n"
         "    (( $#verbs )) && _describe verb verbs\n"
         "    [[ -n $at ]] && _files\n"
         "  fi\n"
         "}\n"
         "_warploom \"$@\"\n";
}

std::string fish_completion(const Command& tool) {
  std::string text = "# fish completion for warploom, written by `warploom completion fish`\n";
  const auto quote = [](std::string_view words) { return quoted(words, "\\'"); };
  for (const Command* command : all_commands(tool)) {
    std::string condition = "__fish_use_subcommand";
    if (!is_tool(*command)) {
      condition.clear();
      for (const std::string& word : split(key(*command), ' '))
        condition += (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + word);
    }
    const std::string begin = fmt::format("complete -c warploom -n {}", quote(condition));
    for (const auto& [word, about] : words_of(*command))
      text += fmt::format("{}{} -a {} -d {}\n", begin, is_tool(*command) ? " -f" : "", word,
                          quote(first_clause(about)));
    std::vector<const Option*> options = common_options(*command);
    for (const Option& option : command->options())
      if (!option.is_positional() && !option.is_hidden) options.push_back(&option);
    for (const Option* option : options) {
      text += begin;
      for (const std::string& name : split(option->names, ','))
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option->is_flag() && option->values().empty()) text += " -r";
      if (!option->is_flag() && !option->values().empty())
        text += " -x -a " + quote(fmt::format("{}", fmt::join(option->values(), " ")));
      text += " -d " + quote(first_clause(option->help)) + "\n";
    }
  }
  return text;
}

}  // namespace warploom::tool
