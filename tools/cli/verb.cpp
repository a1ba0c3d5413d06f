#include "verb.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <numeric>
#include <system_error>
#include <utility>

#include "captured_output.hpp"
#include "warploom/core/demangle.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/version.hpp"

namespace warploom::tool {
namespace {

thread_local CapturedOutput* captured = nullptr;

bool reader_gone = false;  // standard output is a pipe that nobody reads any more

void check_output(bool written) {
  if (written) return;
  if (errno != EPIPE)
    throw BadInput(fmt::format("cannot write standard output: {}", std::generic_category().message(errno)));
  reader_gone = true;
}

thread_local std::string command_path;  // of the verb that runs

// Insertions, deletions and replacements of one character, and exchanges of two neighbours (Damerau's
// distance, each letter moved once).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
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

std::string read_input(const std::string& path) {
  return path == "-" ? read_standard_input() : read_file(path);
}

std::string input_name(const std::string& path) { return path == "-" ? "<stdin>" : path; }

CapturedOutput::CapturedOutput() : outer_(std::exchange(captured, this)) {}
CapturedOutput::~CapturedOutput() { captured = outer_; }

void print(std::string_view text) {
  if (captured != nullptr) {
    captured->out += text;
    return;
  }
  if (reader_gone) return;
  check_output(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

void print_error(std::string_view text) {
  if (captured != nullptr) {
    captured->error += text;
    return;
  }
  std::fwrite(text.data(), 1, text.size(), stderr);  // where it fails, nobody could be told
  std::fflush(stderr);
}

void remark(std::string_view text) {
  if (log_enabled(LogLevel::warning)) print_error(fmt::format("warploom: {}\n", text));
}

void set_command_path(std::string path) { command_path = std::move(path); }

std::string json_text(const Json& result) {
  Json all = {{"schema", fmt::format("warploom.{}/1", command_path.substr(0, command_path.find(' ')))},
              {"version", version()},
              {"command", command_path}};
  for (const auto& [key, value] : result.items())
    if (!all.contains(key)) all[key] = value;
  return all.dump(2) + "\n";
}

void print_json(const Json& result) { print(json_text(result)); }

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

std::string without_controls(std::string text) {
  for (std::size_t k = 0; k < text.size(); ++k) {
    const auto byte = static_cast<unsigned char>(text[k]);
    const auto next = static_cast<unsigned char>(k + 1 < text.size() ? text[k + 1] : '\0');
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) text[k] = '?';
    if (byte == 0xC2 && next >= 0x80 && next < 0xA0) text.replace(k, 2, "?");  // U+0080 to U+009F
  }
  return text;
}

std::string without_long_words(std::string_view message) {
  constexpr std::size_t kLongest = 300, kShown = 60;  // names of files may be long, too
  std::string out;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find_first_of(" \n\t"), message.size());
    std::size_t shown = end <= kLongest ? end : kShown;
    while (end > kLongest && shown > 0 && (static_cast<unsigned char>(message[shown]) & 0xC0) == 0x80)
      --shown;  // no part of a character
    out += message.substr(0, shown);
    if (end > kLongest) out += "...";
    message.remove_prefix(end);
    const std::size_t blanks = std::min(message.find_first_not_of(" \n\t"), message.size());
    out += message.substr(0, blanks);
    message.remove_prefix(blanks);
  }
  return without_controls(std::move(out));
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const auto bare = [](std::string_view text) {
    return text.substr(std::min(text.find_first_not_of('-'), text.size()));
  };
  const std::string_view asked = bare(word);
  std::string best;
  std::size_t best_distance =
      std::max(asked.size() / 3, std::size_t{1}) + 1;  // further off it is another word
  for (const std::string& candidate : candidates) {
    const bool begun = asked.size() >= 2 && bare(candidate).starts_with(asked);
    const std::size_t distance = begun ? 1 : edit_distance(asked, bare(candidate));
    if (distance < best_distance && distance < bare(candidate).size()) {
      best = candidate;
      best_distance = distance;
    }
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
