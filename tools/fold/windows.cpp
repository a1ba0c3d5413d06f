#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>

#include "cli/byte_size.hpp"
#include "cli/output_files.hpp"
#include "cli/stopwatch.hpp"
#include "cli/verb.hpp"
#include "model.hpp"
#include "records.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/fold/formats.hpp"
#include "warploom/fold/scan.hpp"
#include "warploom/page/chart.hpp"

namespace warploom::tool {
namespace {

struct Settings : ModelSettings {
  std::string input, output = "-", format = "tsv", shuffle = "dinucleotides", svg;
  fold::WindowOptions windows;
  bool json = false, force = false;
  std::uint64_t max_memory = kMaxFileBytes;
  Run run;
};

using Record = io::SequenceRecord;

std::int64_t begin_of(const Settings& s, std::size_t k) {
  return 1 + static_cast<std::int64_t>(k) * s.windows.step;
}

void add_rows(const Settings& s, const Record& record, const fold::Windows& w, std::string& text) {
  const std::string_view name = record.name.empty() ? "." : std::string_view(record.name);
  const auto out = std::back_inserter(text);
  for (std::size_t k = 0; k < w.energies.size(); ++k) {
    const std::int64_t begin = begin_of(s, k);
    fmt::format_to(out, "{}\t{}\t{}\t{}", name, begin, begin + s.windows.window - 1,
                   fold::kcal(w.energies[k]));
    if (!w.means.empty())
      fmt::format_to(out, "\t{:.3f}\t{:.3f}\t{:.3f}\t{:.4f}", w.means[k], w.deviations[k], w.z_scores[k],
                     w.p_values[k]);
    if (!w.structures.empty()) fmt::format_to(out, "\t{}", w.structures[k]);
    text += '\n';
  }
}

/// A value for the bases in the middle of each window, a step of them, since those of a bedGraph may not
/// overlap. It counts from 0 and its ends are the first bases behind.
void add_bedgraph(const Settings& s, const Record& record, const fold::Windows& w, std::string& text) {
  const std::string_view name = record.name.empty() ? "." : std::string_view(record.name);
  const std::int64_t wide = std::min(s.windows.step, s.windows.window),
                     before = (s.windows.window - wide) / 2;
  for (std::size_t k = 0; k < w.energies.size(); ++k) {
    const std::int64_t begin = begin_of(s, k) - 1 + before;
    fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\n", name, begin, begin + wide,
                   w.z_scores.empty() ? fold::kcal(w.energies[k]) : fmt::format("{:.3f}", w.z_scores[k]));
  }
}

Json as_json(const Record& record, const fold::Windows& w) {
  Json energies = Json::array();
  for (const std::int32_t energy : w.energies) energies.push_back(energy / 100.);
  Json one = {{"name", record.name},
              {"description", record.description},
              {"length", record.sequence.size()},
              {"energies", std::move(energies)}};
  const auto add = [&](const char* key, const auto& values) {
    if (values.empty()) return;
    Json all = Json::array();
    for (const auto& value : values) all.push_back(value);
    one[key] = std::move(all);
  };
  add("means", w.means), add("deviations", w.deviations), add("z_scores", w.z_scores);
  add("p_values", w.p_values), add("structures", w.structures);
  return one;
}

/// Points of a curve: of more windows the least of those side by side.
constexpr std::size_t kPoints = 250;
std::size_t windows_a_point(std::size_t count) { return (count + kPoints - 1) / kPoints; }

/// At the middle of the window that has the least value.
template <class Value>
std::vector<std::pair<double, double>> least_along(const Settings& s, std::size_t count, const Value& value) {
  std::vector<std::pair<double, double>> points;
  const std::size_t each = windows_a_point(count);
  for (std::size_t from = 0; from < count; from += each) {
    std::size_t best = from;
    for (std::size_t k = from; k < std::min(count, from + each); ++k)
      if (value(k) < value(best)) best = k;
    points.emplace_back(
        static_cast<double>(begin_of(s, best)) + static_cast<double>(s.windows.window - 1) / 2, value(best));
  }
  return points;
}

std::string picture(const Settings& s, const Record& record, const fold::Windows& w) {
  const std::size_t count = w.energies.size();
  std::vector<page::Panel> panels = {
      {.title = "free energy",
       .x = {.title = "middle of the window [bases]", .from_zero = false},
       .y = {.title = "kcal/mol"},
       .series = {{.points = least_along(s, count, [&](std::size_t k) { return w.energies[k] / 100.; })}}}};
  if (!w.z_scores.empty())
    panels.push_back(
        {.title = "z-score",
         .x = {.title = "middle of the window [bases]", .from_zero = false},
         .y = {.title = "deviations from the shuffles' mean"},
         .series = {{.points = least_along(s, count, [&](std::size_t k) { return w.z_scores[k]; })}},
         .rule = -2.,
         .rule_label = "-2"});
  const std::size_t each = windows_a_point(count);
  const std::string least = each > 1 ? fmt::format("; of each {} side by side the least", each) : "";
  return page::svg(record.name.empty() ? "windows" : record.name,
                   fmt::format("{} windows of {} bases{}", count, s.windows.window, least), panels);
}

int run(Settings& s) {
  if (s.json || s.output.ends_with(".json")) s.format = "json";
  s.windows.shuffle =
      s.shuffle == "dinucleotides" ? fold::Shuffle::dinucleotides : fold::Shuffle::mononucleotides;
  if (!s.reactivities.empty()) throw BadInput("--shape with fold windows: windows have no pseudo-energies");
  fold::count_windows(0, s.windows);  // refuses what no record can have
  const RunScope scope(s.run);
  OutputFiles files;
  if (s.output != "-") files.add(s.output, s.force);
  if (!s.svg.empty()) {
    if (!s.svg.ends_with(".svg")) throw BadInput(fmt::format("--svg {}: the name must end in .svg", s.svg));
    files.add(s.svg, s.force);
  }
  if (s.format == "bedgraph" && s.windows.structures)
    throw BadInput("--structures with --format bedgraph: it has numbers alone; tsv and json have both");
  const fold::Model model = model_of(s);
  Records records = read_records(s.input, s.max_memory, [](const Record&) {});
  if (!s.svg.empty() && records.good.size() != 1)
    throw BadInput(fmt::format("--svg {}: a picture is of one sequence; {} has {}", s.svg,
                               input_name(s.input), records.good.size()));
  std::string text;
  if (s.format == "tsv") {
    text = "name\tbegin\tend\tenergy";
    if (s.windows.shuffles > 0) text += "\tmean\tdeviation\tz_score\tp_value";
    text += s.windows.structures ? "\tstructure\n" : "\n";
  }
  Json list = Json::array();
  const Stopwatch watch;
  for (const Record& record : records.good) {
    try {
      if (fold::count_windows(std::ssize(record.sequence), s.windows) == 0)
        throw BadInput(fmt::format("the sequence has {} bases, a window {} (--window)",
                                   record.sequence.size(), s.windows.window));
      const fold::Windows windows = fold::fold_windows(record.sequence, s.windows, model);
      if (s.format == "tsv") add_rows(s, record, windows, text);
      if (s.format == "bedgraph") add_bedgraph(s, record, windows, text);
      if (s.format == "json") list.push_back(as_json(record, windows));
      if (!s.svg.empty()) files.write(s.svg, picture(s, record, windows));
    } catch (const BadInput& error) {
      // What is wrong with the options is wrong with every record.
      if (model.circular) throw;
      ++records.bad;
      refuse_record(s.input, record, error);
    }
  }
  if (s.format == "json") {
    Json shuffles = nullptr;
    if (s.windows.shuffles > 0)
      shuffles = {{"each", s.windows.shuffles}, {"keep", s.shuffle}, {"seed", s.windows.seed}};
    text = json_text({{"unit", "kcal/mol"},
                      {"model", folding_model_json(s)},
                      {"window", s.windows.window},
                      {"step", s.windows.step},
                      {"shuffles", std::move(shuffles)},
                      {"records", std::move(list)},
                      {"skipped", {{"empty", records.empty}, {"refused", records.bad}}},
                      {"seconds", watch.seconds()}});
  }
  if (s.output != "-") files.write(s.output, text);
  files.commit();
  if (s.output == "-") print(text);
  return records.bad > 0 ? kFinding : kDone;
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command
      .add("GENOME", &s->input,
           "Sequences as FASTA, FASTQ or one a line, perhaps gzipped; '-' for standard input. T is U")
      .required();
  command.group("Windows");
  command.add("-w,--window N", &s->windows.window, "Bases of a window [120]")
      .range(std::int64_t{1}, std::int64_t{100'000});
  command.add("-s,--step N", &s->windows.step, "Bases from one window's first to the next one's [1]")
      .range(std::int64_t{1}, std::int64_t{1'000'000'000});
  command.add("--structures", &s->windows.structures, "Each window's structure, too");
  command.group("Shuffled windows");
  command
      .add(
          "-r,--shuffles N", &s->windows.shuffles,
          "Fold N shuffles of each window, too, and tell the mean and the deviation of their energies, the "
          "z-score (energy - mean) / deviation and the p-value (1 + shuffles not above it) / (1 + N); 0: none [0]")
      .range(std::int64_t{0}, fold::kMostShuffles);
  command
      .add(
          "--shuffle KIND", &s->shuffle,
          "What shuffles keep: dinucleotides (how often each two letters stand side by side) or mononucleotides "
          "[dinucleotides]")
      .among(std::vector<std::string>{"dinucleotides", "mononucleotides"});
  command.add("--seed N", &s->windows.seed, "Of the shuffles: the same seed gives the same [1]");
  add_model_options(command, *s);
  add_pair_options(command, *s);
  command.group("Output");
  command.add("-o,--output FILE", &s->output,
              "Result to write, as JSON if it ends in .json; '-' for standard output [-]");
  command
      .add(
          "--format FORMAT", &s->format,
          "Of the result: tsv, a line a window; bedgraph, the z-score (without shuffles the energy) of the middle "
          "of each window; or json [tsv]")
      .among(std::vector<std::string>{"tsv", "bedgraph", "json"});
  command.add("--svg FILE", &s->svg, "Picture to write, of one sequence: energy and z-score along it (.svg)");
  add_max_memory(command, s->max_memory, "Refuse a file that has more, or unpacks to more; as 8G [2G]");
  command.add_json(s->json);
  command.add_force(s->force);
  command.add_run(s->run);
  return [s] { return naming_max_memory(s->max_memory, [&] { return run(*s); }); };
}

}  // namespace

Verb fold_windows() {
  return {
      "windows", "Fold every window of long sequences, and tell how unlike its shuffles it is",
      "warploom fold windows genome.fa --window 120 --step 1 -o windows.tsv\n"
      "  warploom fold windows genome.fa --shuffles 100 --seed 7 --svg z.svg -o z.tsv\n"
      "  warploom fold windows genome.fa -r 100 --format bedgraph -o z.bedgraph\n"
      "Each window's energy is that of fold of the window alone. Positions count from 1, in a bedGraph from 0.\n"
      "Exit codes: 0 done, 1 some records could not be folded (the others were), 2 bad usage or input, 130 Ctrl-C.",
      &add};
}

}  // namespace warploom::tool
