#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>

#include "cli/parser.hpp"
#include "cli/verb.hpp"
#include "warploom/core/demangle.hpp"
#include "warploom/core/error.hpp"
#include "warploom/ptx/module.hpp"
#include "warploom/sim/arguments.hpp"

namespace warploom::tool {
namespace {

using reuse::PlacementMethod;
using reuse::When;

constexpr std::int64_t kMaxPlacementTime = 3'600'000;  // [ms] an hour

template <typename Enum>
Enum parse_choice(std::string_view option, std::string_view text, std::initializer_list<Enum> values) {
  std::vector<std::string_view> names;
  for (const Enum value : values) {
    if (name(value) == text) return value;
    names.push_back(name(value));
  }
  throw BadInput(fmt::format("{}: '{}' is not one of {}", option, text, fmt::join(names, ", ")));
}

/// The names in a variable, separated by ';' (a C++ declaration has commas).
std::vector<std::string> names_in(const char* variable) {
  const char* text = std::getenv(variable);
  std::vector<std::string> names = split(text == nullptr ? "" : text, ';');
  std::erase(names, "");
  return names;
}

void add_launches(reuse::Options& options, const std::string& path) {
  for (const sim::LaunchText& launch : sim::parse_launches(read_input(path), input_name(path)))
    options.launches.push_back(
        {launch.kernel, {launch.block.x, launch.block.y, launch.block.z}, launch.dynamic_shared});
}

}  // namespace

void add_reuse_options(Command& command, const std::shared_ptr<reuse::Options>& options) {
  command.group("Rewriting");
  command
      .add(
          "--when WHEN",
          [options](const std::string& text) {
            options->when = parse_choice("--when", text, {When::occupancy, When::always, When::fits});
          },
          "Rewrite a kernel: occupancy: if more blocks become resident or it would not launch otherwise; always: "
          "if bytes are saved; fits: if it would not launch otherwise [occupancy]")
      .suggest({"occupancy", "always", "fits"});
  command
      .add(
          "--placement METHOD",
          [options](const std::string& text) {
            options->placement.method =
                parse_choice("--placement", text,
                             {PlacementMethod::paper, PlacementMethod::greedy, PlacementMethod::optimal});
          },
          "How objects are placed: paper, greedy or optimal [optimal]")
      .suggest({"paper", "greedy", "optimal"});
  command.add(
      "--placement-time MS",
      [options](const std::string& text) {
        std::int64_t limit = 0;
        if (!parse_whole(text, limit) || limit < 0 || limit > kMaxPlacementTime)
          throw BadInput(fmt::format("--placement-time: '{}' is not a number of milliseconds from 0 to {}",
                                     text, kMaxPlacementTime));
        options->placement.time_limit = std::chrono::milliseconds(limit);
      },
      "Time for --placement optimal [ms a kernel], then the best found is taken [1000]");
  command.add("--strict", &options->strict, "Do not assume that no uninitialised shared memory is read");
  command.add(
      "--whole-program", &options->whole_program,
      "No other module is linked with this one: .visible shared arrays, as Numba and NVRTC make them, "
      "may share storage");
  command.add(
      "--assume-parts", &options->assume_parts,
      "Take accesses of a dynamic array that parameters divide to keep to their part where that is not "
      "proved; the report says which, --assumption-test tests it");
  command.add(
      "--no-barriers", [options] { options->insert_barriers = false; },
      "Insert no barriers: use those that are there");
  command.add(
      "--block X,Y,Z", [options](const std::string& text) { options->block = parse_block(text); },
      "Block size [threads] of kernels that do not say theirs; written into the output as .reqntid");
  command
      .add(
          "--launches FILE", [options](const std::string& path) { add_launches(*options, path); },
          "How kernels are launched, as for warploom sim: a line is --kernel NAME --grid X,Y,Z --block X,Y,Z "
          "[--dynamic-shared BYTES]; decides whether rewriting pays; repeatable")
      .repeated();
  command.add("--arch ARCH", &options->architecture,
              "Architecture, sm_70 to sm_121, whose occupancy decides [the PTX's target]");
  command
      .add(
          "--pool KIND",
          [options](const std::string& text) {
            if (text != "static" && text != "dynamic")
              throw BadInput(fmt::format("--pool: '{}' is not one of static, dynamic", text));
            options->dynamic_pool = text == "dynamic";
          },
          "What becomes of the arrays: static: one array; dynamic: one extern array, whose bytes the launch has to give, above 48 KB too [static]")
      .suggest({"static", "dynamic"});
  command.group("Kernels and passes");
  // One value an occurrence: a value may be the file that follows.
  command
      .add("--kernel NAME", &options->only,
           "Only this kernel: its name in the PTX, or a part of its C++ declaration; repeatable")
      .repeated();
  command.add("--except NAME", &options->except, "Not this kernel; repeatable").repeated();
  command
      .add("--disable PASS", &options->disabled,
           "Leave out a pass (privacy, barriers, occupancy, check, ptxas); repeatable")
      .repeated();
  command.add(
      "--no-ptxas", [options] { options->assemble = false; }, "Do not run ptxas on the result");
}

reuse::Options reuse_options_of_environment() {
  auto options = std::make_shared<reuse::Options>();
  if (const char* flags = std::getenv("WARPLOOM_REUSE_FLAGS"); flags != nullptr && *flags != '\0') {
    Command command;
    command.name = "reuse";
    add_reuse_options(command, options);
    try {
      parse_options(flags, command);
    } catch (const BadInput& error) {
      throw BadInput(fmt::format("WARPLOOM_REUSE_FLAGS='{}': {}", flags, error.what()));
    }
    if (options->dynamic_pool)
      throw BadInput(
          "WARPLOOM_REUSE_FLAGS: --pool dynamic needs launches that pass the bytes, which a build does not change; leave it out");
  }
  for (std::string& name : names_in("WARPLOOM_ONLY")) options->only.push_back(std::move(name));
  for (std::string& name : names_in("WARPLOOM_EXCEPT")) options->except.push_back(std::move(name));
  return *options;
}

bool rewriting_disabled() {
  const char* value = std::getenv("WARPLOOM_DISABLE");
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

std::vector<std::string> resolve_kernel_names(reuse::Options& options, const std::string& ptx,
                                              const std::string& file) {
  std::vector<std::string> unknown;
  if (options.only.empty() && options.except.empty()) return unknown;
  const ptx::Module module = ptx::parse(ptx, file);
  std::vector<std::pair<std::string, std::string>> kernels;  // symbol, declaration
  for (const ptx::Function& f : module.functions)
    if (f.entry && f.has_body) kernels.emplace_back(f.name, demangle(f.name));
  for (std::vector<std::string>* names : {&options.only, &options.except}) {
    std::vector<std::string> symbols;
    for (const std::string& name : *names) {
      const std::size_t before = symbols.size();
      for (const auto& [symbol, declaration] : kernels)
        if (symbol == name) symbols.push_back(symbol);
      if (symbols.size() == before)
        for (const auto& [symbol, declaration] : kernels)
          if (declaration.find(name) != declaration.npos) symbols.push_back(symbol);
      if (symbols.size() == before) unknown.push_back(name);
    }
    *names = std::move(symbols);
  }
  return unknown;
}

}  // namespace warploom::tool
