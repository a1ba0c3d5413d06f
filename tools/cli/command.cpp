#include "command.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "verb.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tool {

Option& Command::add(std::string_view names, Target target, std::string help) {
  const std::size_t blank = names.starts_with('-') ? names.find(' ') : names.npos;
  Option& option = options_.emplace_back();
  option.names = names.substr(0, blank);
  if (blank != names.npos) option.type_name = names.substr(blank + 1);
  option.target = std::move(target);
  option.help = std::move(help);
  return option;
}

void Command::add_json(bool& json) { add("--json", &json, "Print the result as JSON, for machines"); }

void Command::add_device(std::vector<Device>& devices) {
  add(
      "--device DEVICE", [&devices](const std::string& text) { devices = parse_devices(text); },
      "Where to compute: cpu, cuda, cuda:N or auto [auto]");
}

std::function<int()> Command::add_verbs(std::string_view kind, std::span<const Verb> verbs) {
  for (const Verb& verb : verbs) {
    Sub& sub = subs_.emplace_back(Sub{std::string(verb.name),
                                      std::string(verb.summary),
                                      std::string(verb.example),
                                      std::make_unique<Command>(),
                                      {}});
    sub.action = verb.add(*sub.command);
  }
  return [this, kind = std::string(kind)] {
    if (const Sub* sub = chosen()) return sub->action();
    throw BadInput(fmt::format("{0}: no {1} given (warploom {0} --help lists them)", name, kind));
  };
}

bool Command::was_given(std::string_view option) const {
  return std::ranges::any_of(given_, [&](const Option* one) { return one->name() == option; });
}

const Command::Sub* Command::chosen() const {
  const auto found = std::ranges::find(subs_, true, &Sub::chosen);
  return found == subs_.end() ? nullptr : &*found;
}

}  // namespace warploom::tool
