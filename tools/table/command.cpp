#include "command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cli/verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/page/chart.hpp"

namespace warploom::tool {

void add_table_options(Command& command, TableSettings& settings) {
  command.group("Output and device");
  command.add("-o,--output FILE", &settings.output,
              "Result to write, as JSON if it ends in .json; '-' for standard output [-]");
  command
      .add("--threads-per-block N", &settings.table.threads_per_block,
           "Threads of a block on a GPU, a multiple of 32 [the best known]")
      .range(32, 1024);
  command.add_json(settings.json);
  command.add_force(settings.force);
  command.add_run(settings.table.run);
}

TableRun::TableRun(const TableSettings& settings, const std::vector<std::string>& others)
    : settings_(settings), scope_(settings.table.run) {
  if (settings.output != "-") files_.add(settings.output, settings.force);
  for (const std::string& other : others)
    if (!other.empty()) files_.add(other, settings.force);
  if (settings.svg.empty()) return;
  if (!settings.svg.ends_with(".svg"))
    throw BadInput(fmt::format("--svg {}: the name must end in .svg", settings.svg));
  files_.add(settings.svg, settings.force);
}

void TableRun::write_svg(const std::function<std::string()>& picture) {
  if (settings_.svg.empty()) return;
  files_.write(settings_.svg, [&](const auto& staged) { write_file_atomically(staged, picture()); });
}

bool TableRun::as_json() const { return settings_.json || settings_.output.ends_with(".json"); }

int TableRun::finish(const std::string& text, const Json& json) {
  const bool to_file = settings_.output != "-";
  // Lines of a file and names of records may hold bytes that are no UTF-8.
  const std::string result = as_json() ? json_text(json) : text;
  if (to_file)
    files_.write(settings_.output, [&](const auto& staged) { write_file_atomically(staged, result); });
  files_.commit();
  if (!to_file) print(result);
  return kDone;
}

std::uint64_t parse_count(std::string_view option, std::string_view text, std::uint64_t least,
                          std::uint64_t most) {
  std::uint64_t count = 0;
  bool good = false;
  if (text.starts_with("2^")) {
    unsigned exponent = 0;
    good = parse_whole(text.substr(2), exponent) && exponent < 64;
    if (good) count = std::uint64_t{1} << exponent;
  } else {
    good = parse_whole(text, count);
  }
  if (!good || count < least || count > most)
    throw BadInput(fmt::format("{} {}: a whole number from {} to {} is expected, perhaps as 2^20", option,
                               text, least, most));
  return count;
}

std::vector<std::uint64_t> parse_counts(std::string_view option, std::string_view text, std::uint64_t least,
                                        std::uint64_t most) {
  std::vector<std::uint64_t> counts;
  for (const std::string& word : split(text, ',')) {
    const std::size_t dots = word.find("..");
    const std::string_view low = std::string_view(word).substr(0, dots);
    counts.push_back(parse_count(option, low, least, most));
    if (dots == word.npos) continue;
    const std::uint64_t high = parse_count(option, std::string_view(word).substr(dots + 2), least, most);
    if (high < counts.back())
      throw BadInput(fmt::format("{} {}: the second number of a range is the greater", option, word));
    while (counts.back() <= high / 2) counts.push_back(2 * counts.back());
  }
  return counts;
}

namespace {

/// Up to where hardly anything follows.
std::string kmer_histogram_svg(const std::vector<std::uint64_t>& histogram, int k) {
  std::uint64_t different = 0, beyond = 0;
  for (const std::uint64_t count : histogram) different += count;
  std::size_t bins = histogram.size();
  while (bins > 20 && 500 * (beyond + histogram[bins - 1]) <= different) beyond += histogram[--bins];
  page::Series series{.label = "", .points = {}, .filled = true};
  for (std::size_t bin = 0; bin < bins; ++bin)
    if (histogram[bin] > 0)
      series.points.emplace_back(static_cast<double>(bin + 1), static_cast<double>(histogram[bin]));
  return page::svg(
      fmt::format("{}-mers by how often they come", k),
      fmt::format("{} different{}", grouped(different),
                  beyond > 0 ? fmt::format(", {} of them more often than {}", grouped(beyond), bins) : ""),
      {{.title = "",
        .x = {.title = "times"},
        .y = {.title = "different k-mers", .base = 10},
        .series = {std::move(series)}}});
}

}  // namespace

std::string kmer_histogram_text(const std::vector<std::uint64_t>& histogram, std::string_view file, int k) {
  if (file.ends_with(".svg")) return kmer_histogram_svg(histogram, k);
  std::string text;
  for (std::size_t bin = 0; bin < histogram.size(); ++bin)
    if (histogram[bin] > 0) text += fmt::format("{} {}\n", bin + 1, histogram[bin]);
  return text;
}

std::string seconds_text(double seconds) {
  constexpr std::pair<double, std::string_view> kUnits[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}};
  for (const auto& [unit, name] : kUnits)
    if (seconds < 999.5 * unit) return fmt::format("{:.3g} {}", seconds / unit, name);
  return fmt::format("{:.2f} s", seconds);
}

std::string rate_text(double per_second) {
  if (per_second >= 999.5e6) return fmt::format("{:.2f} G/s", per_second * 1e-9);
  if (per_second >= 999.5e3) return fmt::format("{:.3g} M/s", per_second * 1e-6);
  return fmt::format("{:.3g} k/s", per_second * 1e-3);
}

std::string columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t k = 0; k < row.size(); ++k)
      line += k == 0 ? fmt::format("{:<{}}", row[k], widths[k]) : fmt::format("  {:>{}}", row[k], widths[k]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace warploom::tool
