#include "verb.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <system_error>
#include <utility>

#include "warploom/core/demangle.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/sim/launch_text.hpp"

namespace warploom::tool {
namespace {

bool reader_gone = false;  // standard output is a pipe that nobody reads any more

void check_output(bool written) {
  if (written) return;
  if (errno != EPIPE)
    throw BadInput(fmt::format("cannot write standard output: {}", std::generic_category().message(errno)));
  reader_gone = true;
}

// Levenshtein's distance: insertions, deletions and replacements of one character.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

/// "a, b and 7 others".
std::string listed(std::span<const std::string> names, std::string_view last) {
  constexpr std::size_t kMost = 12;
  if (names.size() <= kMost) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} {} {} others", fmt::join(names.first(kMost), ", "), last, names.size() - kMost);
}

}  // namespace

std::function<int()> add_verbs(CLI::App& app, std::string_view kind, std::span<const Verb> verbs) {
  app.require_subcommand(0, 1);
  std::vector<std::pair<CLI::App*, std::function<int()>>> actions;
  for (const Verb& verb : verbs) {
    CLI::App* sub = app.add_subcommand(std::string(verb.name), std::string(verb.summary));
    sub->fallthrough();  // -v and what is unknown are the outer verb's
    sub->footer("Example: " + std::string(verb.example));
    actions.emplace_back(sub, verb.add(*sub));
  }
  return [actions,
          none = fmt::format("{0}: no {1} given (warploom {0} --help lists them)", app.get_name(), kind)] {
    for (const auto& [sub, action] : actions)
      if (sub->parsed()) return action();
    throw BadInput(none);
  };
}

void add_json_flag(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "Print the result as JSON, for machines");
}

void add_device_option(CLI::App& app, std::vector<Device>& devices) {
  app.add_option_function<std::string>(
         "--device", [&devices](const std::string& text) { devices = parse_devices(text); },
         "Where to compute: cpu, cuda, cuda:N or auto [auto]")
      ->type_name("DEVICE");
}

std::string read_input(const std::string& path) {
  return path == "-" ? read_standard_input() : read_file(path);
}

std::string input_name(const std::string& path) { return path == "-" ? "<stdin>" : path; }

void write_output(const std::string& path, std::string_view content) {
  if (path == "-") return print(content);
  write_file_atomically(path, content);
}

void print(std::string_view text) {
  if (reader_gone) return;
  check_output(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

void print_json(const nlohmann::ordered_json& json) {
  // A kernel may print, and a path may hold, bytes that are no UTF-8.
  print(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void finish_output() {
  if (!reader_gone) check_output(std::fflush(stdout) == 0);
}

std::string byte_text(std::uint64_t bytes) {
  constexpr std::uint64_t kKiB = 1024, kMiB = kKiB * kKiB, kGiB = kMiB * kKiB;
  if (bytes >= kGiB) return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / kGiB);
  if (bytes >= kMiB) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMiB);
  if (bytes > 0 && bytes % kKiB == 0) return fmt::format("{} KiB", bytes / kKiB);
  return fmt::format("{} bytes", bytes);
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = word.size() / 3 + 2;  // further off it is another word, not a slip
  for (const std::string& candidate : candidates)
    if (const std::size_t distance = edit_distance(word, candidate); distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  return best;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::array<std::uint32_t, 3> parse_block(std::string_view text) {
  const sim::Dim block = sim::parse_block(text);
  return {block.x, block.y, block.z};
}

std::string kernel_name(const ptx::Module& module, const std::string& asked) {
  const std::vector<std::string> symbols = ptx::kernels_named(module, "");
  const std::string there = symbols.empty() ? "the file has none" : "there is " + listed(symbols, "and");
  if (asked.empty() && symbols.size() == 1) return symbols.front();
  if (asked.empty())
    throw BadInput(fmt::format("{}: which kernel? --kernel is missing; {}", module.file, there));
  const std::vector<std::string> found = ptx::kernels_named(module, asked);
  if (found.size() == 1) return found.front();
  if (found.size() > 1)
    throw BadInput(fmt::format("{}: --kernel '{}' could be {}; give more of the name", module.file, asked,
                               listed(found, "or")));
  std::vector<std::string> spellings = symbols;
  for (const std::string& symbol : symbols) spellings.push_back(function_name(symbol));
  const std::string guess = nearest(asked, spellings);
  throw BadInput(fmt::format("{}: there is no kernel '{}'{}; {}", module.file, asked,
                             guess.empty() ? "" : fmt::format(", did you mean {}?", guess), there));
}

}  // namespace warploom::tool
