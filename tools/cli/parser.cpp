#include "parser.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/overloaded.hpp"

namespace warploom::tool {
namespace {

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string guess = nearest(word, candidates);
  return guess.empty() ? "" : fmt::format("; did you mean {}?", guess);
}

/// Hands a declared option to CLI11, whose names have no blanks.
struct Declare {
  CLI::App& app;
  const Option& option;
  std::string names = without_blanks(option.names);

  static std::string without_blanks(std::string names) {
    std::ranges::replace(names, ' ', '_');
    return names;
  }

  template <class T>
  CLI::Option* operator()(T* value) const {
    return app.add_option(names, *value, option.help);
  }
  CLI::Option* operator()(Count count) const { return app.add_flag(names, *count.value, option.help); }
  CLI::Option* operator()(bool* value) const { return app.add_flag(names, *value, option.help); }
  CLI::Option* operator()(const std::function<void()>& act) const {
    return app.add_flag_callback(names, act, option.help);
  }
  CLI::Option* operator()(const std::function<void(const std::string&)>& set) const {
    if (!option.is_repeated) return app.add_option_function<std::string>(names, set, option.help);
    return app.add_option_function<std::vector<std::string>>(
        names, [set](const std::vector<std::string>& all) { std::ranges::for_each(all, set); }, option.help);
  }
};

CLI::Option* declare(CLI::App& app, const Option& option) {
  CLI::Option* made = std::visit(Declare{.app = app, .option = option}, option.target);
  if (!option.type_name.empty()) made->type_name(option.type_name);
  if (option.is_required) made->required();
  if (option.is_hidden) made->group("");
  if (option.shows_default) made->capture_default_str();
  const bool positional = option.names.front() != '-';
  const bool many = std::holds_alternative<std::vector<std::string>*>(option.target);
  // One value an occurrence: a value may be the file that follows.
  if (!positional && (many || option.is_repeated)) made->take_all()->allow_extra_args(false);
  std::visit(Overloaded{[](std::monostate) {},
                        [&](auto limits) { made->check(CLI::Range(limits.first, limits.second)); }},
             option.limits);
  std::visit(
      Overloaded{[](std::monostate) {}, [&](const auto& values) { made->check(CLI::IsMember(values)); }},
      option.choices);
  return made;
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

/// Of the tool, and of a verb that has only verbs.
void refuse_unknown_verb(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining();
  if (rest.empty() || rest.front().empty() || rest.front().front() == '-' || app.get_prefix_command()) return;
  const std::string& word = rest.front();
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  if (std::ranges::find(names, word) != names.end()) return;
  const bool is_tool = app.get_parent() == nullptr;
  throw BadInput(fmt::format("'{}' is not a verb{}{} (warploom {}--help lists them)", word,
                             is_tool ? "" : " of " + app.get_name(), did_you_mean(word, names),
                             is_tool ? "" : app.get_name() + " "));
}

}  // namespace

/// Declared commands as CLI11's, and back what was parsed.
class Parser {
 public:
  /// @param prepare  is called with each verb of `app`, before its own options
  void declare_all(CLI::App& app, Command& command, const std::function<void(CLI::App&)>& prepare) {
    commands_[&app] = &command;
    for (const Option& option : command.options_) options_[declare(app, option)] = &option;
    if (command.passes_on_) app.prefix_command();
    if (!command.subs_.empty()) app.require_subcommand(0, 1);
    for (Command::Sub& sub : command.subs_) {
      CLI::App* of = app.add_subcommand(sub.command->name, sub.command->summary);
      prepare(*of);
      subs_.push_back({&app, of, &sub});
      declare_all(*of, *sub.command, [](CLI::App& inner) {
        inner.fallthrough();  // -v and what is unknown are the outer verb's
      });
    }
  }

  /// The innermost verb that was given.
  const Command* asked(const CLI::App& app) const {
    const auto parsed = app.get_subcommands([](const CLI::App* sub) { return sub->parsed(); });
    return parsed.empty() ? commands_.at(&app) : asked(*parsed.front());
  }

  static void give_rest(Command& tool, std::vector<std::string> words) {
    std::ranges::find(tool.subs_, true, &Command::Sub::chosen)->command->rest_ = std::move(words);
  }

  void take(const CLI::App& app, Command& command) const {
    for (const CLI::Option* option : app.parse_order())
      if (const auto found = options_.find(option); found != options_.end())
        command.given_.push_back(found->second);
    command.rest_ = app.remaining();
    for (const auto& [parent, of, sub] : subs_)
      if (parent == &app && (sub->chosen = of->parsed())) take(*of, *sub->command);
  }

 private:
  struct Declared {
    const CLI::App *parent, *app;
    Command::Sub* sub;
  };
  std::map<const CLI::Option*, const Option*> options_;
  std::map<const CLI::App*, const Command*> commands_;
  std::vector<Declared> subs_;
};

void add_common_options(Command& command, CommonOptions& common, bool tool) {
  command.add("-v,--verbose", Count{&common.verbose}, "Say what is done; given twice, every detail");
  command.add("-q,--quiet", &common.quiet, "Say nothing but errors, and show no progress");
  command
      .add(
          "--log-level LEVEL", [&common](const std::string& text) { common.level = parse_log_level(text); },
          "Say what is at least so severe: off, error, warning, info or debug [warning]")
      .suggest({"off", "error", "warning", "info", "debug"});
  if (tool)
    command.add("--version", &common.version,
                "Print the version and stop; with -v also what it was built with and what is here");
}

const Command* parse_command_line(int argc, char** argv, Command& tool, CommonOptions& common) {
  // CLI11 takes what stands behind "--" for positionals.
  const bool takes = argc > 1 && tool.find(argv[1]) != nullptr && tool.find(argv[1])->takes_command_line();
  std::vector<std::string> behind;
  if (const auto dashes = std::find(argv, argv + argc, std::string_view("--"));
      takes && dashes != argv + argc) {
    behind.assign(dashes + 1, argv + argc);
    argc = static_cast<int>(dashes - argv);
  }
  CLI::App app(tool.summary, tool.name);
  app.allow_extras();
  Command of_tool, of_verbs;
  add_common_options(of_tool, common, true);
  add_common_options(of_verbs, common, false);
  Parser parser;
  for (const Option& option : of_tool.options()) declare(app, option);
  parser.declare_all(app, tool, [&](CLI::App& verb) {
    verb.allow_extras();
    for (const Option& option : of_verbs.options()) declare(verb, option);
  });
  bool asks_help = false;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    asks_help = true;
  } catch (const CLI::ParseError& error) {
    throw BadInput(fmt::format("{} (see warploom {}--help)", error.what(), path_of(app)));
  }
  refuse_unknown_verb(app);
  if (asks_help) {
    for (const CLI::App* sub : app.get_subcommands())
      if (!sub->get_subcommands([](const CLI::App*) { return true; }).empty()) refuse_unknown_verb(*sub);
    return parser.asked(app);
  }
  refuse_unknown_options(app);
  for (const CLI::App* sub : app.get_subcommands()) refuse_unknown_options(*sub);
  parser.take(app, tool);
  if (takes) Parser::give_rest(tool, std::move(behind));
  return nullptr;
}

void parse_options(std::string_view text, Command& command) {
  CLI::App app;
  Parser().declare_all(app, command, [](CLI::App&) {});
  app.set_help_flag();
  try {
    app.parse(std::string(text), false);
  } catch (const CLI::ParseError& error) {
    throw BadInput(fmt::format("{} (see warploom {} --help)", error.what(), command.name));
  }
}

}  // namespace warploom::tool
