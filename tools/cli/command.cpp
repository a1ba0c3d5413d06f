#include "command.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/overloaded.hpp"

namespace warploom::tool {
namespace {

constexpr std::string_view kCommon = "Common options";

}  // namespace

bool Option::is_flag() const {
  return std::holds_alternative<bool*>(target) || std::holds_alternative<Count>(target) ||
         std::holds_alternative<std::function<void()>>(target);
}

std::string Option::value_name() const {
  if (is_flag()) return "";
  if (!type_name.empty()) return type_name;
  const bool is_text = std::holds_alternative<std::string*>(target) ||
                       std::holds_alternative<std::vector<std::string>*>(target) ||
                       std::holds_alternative<std::function<void(const std::string&)>>(target);
  return is_text ? "TEXT" : "N";
}

std::vector<std::string> Option::values() const {
  std::vector<std::string> all = suggested;
  std::visit(Overloaded{[](std::monostate) {}, [&](const std::vector<std::string>& texts) { all = texts; },
                        [&](const std::vector<int>& numbers) {
                          all.clear();
                          for (const int number : numbers) all.push_back(std::to_string(number));
                        }},
             choices);
  return all;
}

Option& Command::add(std::string_view names, Target target, std::string help) {
  const std::size_t blank = names.starts_with('-') ? names.find(' ') : names.npos;
  Option& option = options_.emplace_back();
  option.names = names.substr(0, blank);
  if (blank != names.npos) option.type_name = names.substr(blank + 1);
  option.target = std::move(target);
  option.help = std::move(help);
  option.group = group_;
  return option;
}

void Command::add_json(bool& json) {
  add("--json", &json, "Print the result as JSON, for other programs").group = kCommon;
}

void Command::add_force(bool& force) {
  add("--force", &force, "Replace output files that exist").group = kCommon;
}

void Command::add_device(std::vector<Device>& devices) {
  add(
      "--device DEVICE", [&devices](const std::string& text) { devices = parse_devices(text); },
      "Where to compute: cpu, cuda, cuda:N, cuda:0,1, cuda:all or auto [auto]")
      .suggest({"auto", "cpu", "cuda", "cuda:all"})
      .group = kCommon;
}

void Command::add_threads(unsigned& threads) {
  static constexpr unsigned kMost = 4096;
  add(
      "--threads N",
      [&threads](const std::string& text) {
        if (unsigned value = 0; parse_whole(text, value) && value >= 1 && value <= kMost)
          threads = value;
        else
          throw BadInput(fmt::format("--threads: '{}' is not a whole number from 1 to {}", text, kMost));
      },
      "CPU threads; the result does not depend on them [one per processor]")
      .group = kCommon;
}

void Command::add_run(Run& run) {
  add_device(run.devices);
  add_threads(run.threads);
}

const Command* Command::find(std::string_view sub) const {
  const auto found = std::ranges::find_if(subs_, [&](const Sub& one) { return one.command->name == sub; });
  return found == subs_.end() ? nullptr : found->command.get();
}

std::function<int()> Command::add_verbs(std::string_view kind, std::span<const Verb> verbs) {
  for (const Verb& verb : verbs) {
    Sub& sub = subs_.emplace_back();
    sub.command = std::make_unique<Command>();
    sub.command->name = verb.name;
    sub.command->summary = verb.summary;
    sub.command->example = verb.example;
    sub.command->parent = this;
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
