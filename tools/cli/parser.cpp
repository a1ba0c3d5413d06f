#include "parser.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/version.hpp"

namespace warploom::tool {
namespace {

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string guess = nearest(word, candidates);
  return guess.empty() ? "" : fmt::format("; did you mean {}?", guess);
}

void add_common_options(CLI::App& app, CommonOptions& common) {
  app.add_flag("-v,--verbose", common.verbose, "Say what is done; twice: and every detail");
  app.add_flag("-q,--quiet", common.quiet, "Errors only, no progress");
  app.add_option_function<std::string>(
         "--log-level", [&common](const std::string& text) { common.level = parse_log_level(text); },
         "off, error, warning, info or debug [warning]")
      ->type_name("LEVEL");
}

/// Hands a declared option to CLI11.
struct Declare {
  CLI::App& app;
  const Option& option;

  template <class T>
  CLI::Option* operator()(T* value) const {
    return app.add_option(option.names, *value, option.help);
  }
  CLI::Option* operator()(bool* value) const { return app.add_flag(option.names, *value, option.help); }
  CLI::Option* operator()(const std::function<void()>& act) const {
    return app.add_flag_callback(option.names, act, option.help);
  }
  CLI::Option* operator()(const std::function<void(const std::string&)>& set) const {
    if (!option.is_repeated) return app.add_option_function<std::string>(option.names, set, option.help);
    return app.add_option_function<std::vector<std::string>>(
        option.names, [set](const std::vector<std::string>& all) { std::ranges::for_each(all, set); },
        option.help);
  }
};

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

CLI::Option* declare(CLI::App& app, const Option& option) {
  CLI::Option* made = std::visit(Declare{app, option}, option.target);
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

void refuse_unknown_verb(const std::string& word, const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  if (std::ranges::find(names, word) != names.end()) return;
  throw BadInput(
      fmt::format("'{}' is not a verb{} (warploom --help lists them)", word, did_you_mean(word, names)));
}

}  // namespace

/// Declared commands as CLI11's, and back what was parsed.
class Parser {
 public:
  /// @param prepare  is called with each verb of `app`, before its own options
  void declare_all(CLI::App& app, Command& command, const std::function<void(CLI::App&)>& prepare) {
    for (const Option& option : command.options_) options_[declare(app, option)] = &option;
    if (command.passes_on_) app.prefix_command();
    if (!command.subs_.empty()) app.require_subcommand(0, 1);
    for (Command::Sub& sub : command.subs_) {
      CLI::App* of = app.add_subcommand(sub.name, sub.summary);
      of->footer("Example: " + sub.example);
      prepare(*of);
      subs_.push_back({&app, of, &sub});
      sub.command->name = sub.name;
      declare_all(*of, *sub.command, [](CLI::App& inner) {
        inner.fallthrough();  // -v and what is unknown are the outer verb's
      });
    }
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
  std::vector<Declared> subs_;
};

std::optional<std::string> parse_command_line(int argc, char** argv, Command& tool, CommonOptions& common) {
  CLI::App app("Fits hard, irregular work to many-core processors.", "warploom");
  app.set_version_flag("--version", fmt::format("warploom {}", version()));
  app.footer(
      "Exit codes: 0 done, 1 a finding or a failed check, 2 bad usage or input, 3 internal error, 130 Ctrl-C.\n"
      "Example: warploom devices");
  app.allow_extras();
  add_common_options(app, common);
  Parser parser;
  parser.declare_all(app, tool, [&](CLI::App& verb) {
    verb.allow_extras();
    add_common_options(verb, common);
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    if (dynamic_cast<const CLI::CallForVersion*>(&request) != nullptr)
      return fmt::format("{}\n", request.what());
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    return chosen.empty() ? app.help() : chosen.front()->help("warploom");
  } catch (const CLI::ParseError& error) {
    throw BadInput(fmt::format("{} (see warploom {}--help)", error.what(), path_of(app)));
  }
  if (const std::vector<std::string> rest = app.remaining(); !rest.empty() && rest.front().front() != '-')
    refuse_unknown_verb(rest.front(), app);
  refuse_unknown_options(app);
  for (const CLI::App* sub : app.get_subcommands()) refuse_unknown_options(*sub);
  parser.take(app, tool);
  return std::nullopt;
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
