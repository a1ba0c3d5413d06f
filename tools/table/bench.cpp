#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>

#include "cli/verb.hpp"
#include "command.hpp"
#include "measure.hpp"
#include "warploom/core/error.hpp"
#include "warploom/page/chart.hpp"

namespace warploom::tool {
namespace {

using page::Axis;
using page::Series;
using table::Distribution;

struct Settings : TableSettings {
  Experiment experiment;  // what does not vary
  std::string batches = "2^18", tables = "1", preload = "2^18", universe = "0", buckets = "0", capacity,
              search, mix, variances = "0.05";
};

std::vector<double> parse_variances(const std::string& text) {
  std::vector<double> variances;
  for (const std::string& word : split(text, ',')) {
    double variance = 0;
    if (!parse_whole(word, variance) || !(variance > 0 && variance <= 1e6))
      throw BadInput(
          fmt::format("--variance {}: numbers above 0 are expected, up to 10^6, of keys in [0, 1)", text));
    variances.push_back(variance);
  }
  return variances;
}

std::vector<table::Mix> parse_mixes(const Settings& s) {
  if (!s.mix.empty() && !s.search.empty())
    throw BadInput("--mix and --search say the same; give one of them");
  if (s.mix.empty()) {
    std::vector<table::Mix> mixes;
    for (const std::uint64_t share : parse_counts("--search", s.search.empty() ? "33" : s.search, 0, 100))
      mixes.push_back(table::mix_of_find(static_cast<int>(share)));
    return mixes;
  }
  int shares[3] = {};
  const std::vector<std::string> words = split(s.mix, ',');
  bool good = words.size() == 3;
  for (std::size_t k = 0; good && k < 3; ++k)
    good = parse_whole(words[k], shares[k]) && shares[k] >= 0 && shares[k] <= 100;
  if (!good || shares[0] + shares[1] + shares[2] != 100)
    throw BadInput(
        fmt::format("--mix {}: three whole numbers of sum 100 are expected, as INSERT,ERASE,FIND", s.mix));
  return {{.insert = shares[0], .erase = shares[1]}};
}

/// Every combination of what has several values.
std::vector<Experiment> experiments(Settings& s) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 32;
  Experiment base = s.experiment;
  base.table = s.table;
  base.workload.preload = parse_count("--preload", s.preload, 0, kMost);
  base.workload.universe = parse_count("--universe", s.universe, 0, kMost);
  base.table.buckets = static_cast<std::uint32_t>(parse_count("--buckets", s.buckets, 0, kMost - 1));
  base.table.capacity = s.capacity.empty() ? std::max<std::uint64_t>(base.workload.preload, 1)
                                           : parse_count("--capacity", s.capacity, 1, kMost);
  const std::vector<std::uint64_t> batches = parse_counts("--batch", s.batches, 1, std::uint64_t{1} << 30);
  std::vector<Experiment> all;
  for (const std::uint64_t tables : parse_counts("--tables", s.tables, 1, 1 << 20))
    for (const double variance : parse_variances(s.variances))
      for (const table::Mix mix : parse_mixes(s))
        for (const std::uint64_t batch : batches) {
          Experiment e = base;
          e.table.tables = static_cast<std::uint32_t>(tables);
          e.workload.normals = {{.deviation = std::sqrt(variance)}};
          e.workload.mix = mix;
          e.batch = batch;
          all.push_back(e);
        }
  return all;
}

double variance_of(const Experiment& e) { return std::pow(e.workload.normals.front().deviation, 2); }

/// What several values may be given of: a column of the text, an axis or a word of the plot.
struct Field {
  std::string title, words;  // words: "n = {}"
  std::string (*text)(const Experiment&);
  double (*value)(const Experiment&);
};
const Field kFields[] = {
    {"batch", "batches of {}", [](const Experiment& e) { return grouped(e.batch); },
     [](const Experiment& e) { return static_cast<double>(e.batch); }},
    {"tables", "n = {}", [](const Experiment& e) { return std::to_string(e.table.tables); },
     [](const Experiment& e) { return static_cast<double>(e.table.tables); }},
    {"variance", "variance {}", [](const Experiment& e) { return fmt::format("{:.4g}", variance_of(e)); },
     [](const Experiment& e) { return variance_of(e); }},
    {"finds", "{} finds", [](const Experiment& e) { return fmt::format("{} %", e.workload.mix.find()); },
     [](const Experiment& e) { return static_cast<double>(e.workload.mix.find()); }},
};
bool applies(const Field& field, const Experiment& e) {
  return field.title != "variance" || e.workload.distribution == Distribution::normal;
}

bool varies(const std::vector<Measurement>& results, const Field& field) {
  return std::ranges::any_of(results, [&](const Measurement& m) {
    return field.value(m.experiment) != field.value(results.front().experiment);
  });
}

/// Structure and device; the rest of the description differs between the experiments.
std::string device_text(const Measurement& m) { return m.description.substr(0, m.description.rfind(", ")); }

std::string workload_text(const Experiment& e) {
  const table::WorkloadOptions& w = e.workload;
  std::string text = fmt::format("{} preloaded, keys {}", grouped(w.preload), name(w.distribution));
  if (w.distribution == Distribution::zipf) text += fmt::format(" {:g}", w.exponent);
  if (w.distribution == Distribution::zipf || w.distribution == Distribution::half)
    text += fmt::format(" of {}", grouped(w.universe));
  return text + fmt::format(", {} + {} bits", e.key_bits, e.value_bits);
}

std::string as_text(const std::vector<Measurement>& results) {
  const Experiment& first = results.front().experiment;
  std::vector<std::vector<std::string>> rows{{}};
  std::vector<const Field*> fields;
  for (const Field& field : kFields) {
    if (!applies(field, first)) continue;
    fields.push_back(&field);
    rows[0].push_back(field.title);
  }
  for (const char* title : {"rate", "us a batch", "transfer", "wall", "retries", "inserted", "erased", "hits",
                            "pairs", "longest", "fullest"})
    rows[0].push_back(title);
  for (const Measurement& m : results) {
    const auto us = [](double seconds) { return fmt::format("{:.1f}", 1e6 * seconds); };
    rows.emplace_back();
    for (const Field* field : fields) rows.back().push_back(field->text(m.experiment));
    for (const std::string& text :
         {rate_text(m.rate()), us(m.kernel_seconds()), us(m.transfer_seconds()), us(m.wall_seconds()),
          fmt::format("{:.4f}", m.retries_per_operation()), share_text(m.inserts), share_text(m.erases),
          share_text(m.finds), grouped(m.statistics.pairs), grouped(m.longest_chain()),
          fmt::format("{:.2f}", m.fullest_table())})
      rows.back().push_back(text);
  }
  const Measurement& last = results.back();
  const table::Statistics& t = last.statistics;
  std::string text = fmt::format(
      "{}\n{}\n\n{}\n"
      "rate: operations over the time of the operations alone; us: medians of {} batches; wall: with "
      "transfers;\nretries: a operation; inserted, erased, hits: of the insertions, erasures, finds; longest: "
      "pairs of the\nlongest chain; fullest: pairs of the fullest table over the mean. The last row's chains:\n\n",
      device_text(last), workload_text(first), columns(rows), last.rounds.size());
  text += chains_text(t) + occupancy_text(t);
  return text + fmt::format("{} pairs: {} of directory, {} of nodes, {} free\n", grouped(t.pairs),
                            byte_text(t.bytes_directory), byte_text(t.bytes_nodes), byte_text(t.bytes_free));
}

std::string picture(const std::vector<Measurement>& results) {
  const Field* x = &kFields[0];
  for (const Field& field : kFields)
    if (varies(results, field)) {
      x = &field;
      break;
    }
  std::vector<Series> series;
  std::map<std::string, std::size_t> places;
  for (const Measurement& m : results) {
    std::string label;
    for (const Field& field : kFields)
      if (&field != x && varies(results, field))
        label +=
            (label.empty() ? "" : ", ") + fmt::format(fmt::runtime(field.words), field.text(m.experiment));
    const auto [place, added] = places.try_emplace(label, series.size());
    if (added) series.push_back({.label = label, .points = {}});
    series[place->second].points.emplace_back(x->value(m.experiment), m.rate());
  }
  for (Series& one : series) std::ranges::sort(one.points);
  const auto range = [&](auto value) {
    const auto [low, high] = std::ranges::minmax(results, {}, value);
    return std::invoke(value, high) / std::max(std::invoke(value, low), 1e-9);
  };
  const auto x_of = [&](const Measurement& m) { return x->value(m.experiment); };
  const auto rate = [](const Measurement& m) { return m.rate(); };
  const Axis x_axis{.title = x == &kFields[0]   ? "operations a batch"
                             : x == &kFields[1] ? "tables, n"
                                                : x->title,
                    .base = range(x_of) >= 8 && x != &kFields[3] ? 2.0 : 0.0,
                    .binary = x == &kFields[0]};
  const Axis y_axis{.title = "operations a second", .base = range(rate) > 20 ? 10.0 : 0.0};
  const Experiment& first = results.front().experiment;
  std::string subtitle = workload_text(first);
  for (const Field& field : kFields)
    if (applies(field, first) && !varies(results, field))
      subtitle += ", " + fmt::format(fmt::runtime(field.words), field.text(first));
  return page::svg(device_text(results.front()), subtitle,
                   {{.title = "", .x = x_axis, .y = y_axis, .series = std::move(series)}});
}

int run(Settings& s) {
  const std::vector<Experiment> all = experiments(s);
  TableRun run(s);
  std::vector<Measurement> results;
  Json list = Json::array();
  for (const Experiment& experiment : all) {
    results.push_back(table::measure(experiment));
    list.push_back(as_json(results.back()));
  }
  run.write_svg([&] { return picture(results); });
  return run.finish(as_text(results), {{"benchmark", "warploom table bench"}, {"results", std::move(list)}});
}

template <class Choice>
void add_choice(Command& command, const std::string& option, const std::string& help, Choice take) {
  command.add(option + " WHICH", std::move(take), help);
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  Experiment& e = s->experiment;
  command.group("Table");
  add_choice(command, "--structure",
             "lines (nodes of 14 pairs) or list (the dissertation's, a node a pair) [lines]",
             [s](const std::string& text) {
               if (text != "lines" && text != "list")
                 throw BadInput(fmt::format("--structure {}: it is lines or list", text));
               s->table.structure = text == "list" ? table::Structure::list : table::Structure::lines;
             });
  command.group("Workload");
  add_choice(
      command, "--distribution",
      "Of the keys: half (half of a universe of keys is there: half of updates succeed, half of finds hit), "
      "zipf (the same universe, skewed), uniform or normal (fractions of [0, 1), which seldom repeat) [half]",
      [&e](const std::string& text) { e.workload.distribution = table::parse_distribution(text); });
  command.add("--variance V,...", &s->variances, "Of normal keys, mean 0.5; several with commas [0.05]");
  command.add("--exponent S", &e.workload.exponent, "Of Zipf's distribution [0.99]");
  command.add("--universe N", &s->universe, "Different keys of half and zipf [twice the preload]");
  command.add("--search P,...", &s->search,
              "Finds [%]; the rest is half insertions, half erasures; several with commas [33]");
  command.add("--mix INSERT,ERASE,FIND", &s->mix, "Shares [%] in place of --search");
  command.add("--preload N", &s->preload, "Pairs put in before [2^18]");
  command.add("--batch N,...", &s->batches,
              "Operations a batch; several with commas, or A..B by doubling [2^18]");
  command.group("Table");
  command.add("--tables N,...", &s->tables, "n, the tables that keys are spread over; several likewise [1]");
  command.add("--buckets N", &s->buckets, "m, buckets of each table [by the capacity]");
  command.add("--capacity N", &s->capacity, "Pairs to make room for at first [the preload]");
  add_choice(command, "--hash", "Bucket of a key: mix, or of the dissertation dek, sdbm, pjw [mix]",
             [s](const std::string& text) { s->table.hash = table::parse_hash(text); });
  add_choice(command, "--assignment",
             "Table of a key: mix, or the dissertation's decimal, k 10^6 mod n [mix]",
             [s](const std::string& text) { s->table.assignment = table::parse_assignment(text); });
  command.add("--key-bits BITS", &e.key_bits, "32 or 64 [32]").among({32, 64});
  command.add("--value-bits BITS", &e.value_bits, "32 or 64 [32]").among({32, 64});
  command.group("Measurement");
  command.add("--rounds N", &e.rounds, "Batches that are timed, after one that is not [9]").range(1, 1000000);
  command.add("--seed N", &e.workload.seed, "Of the random numbers [2013]");
  command.add("--svg FILE", &s->svg,
              "Plot to write (.svg): throughput by batch, or by what has several values, first batch, then "
              "tables, variance, search; a curve for each of the others");
  add_table_options(command, *s);
  return [s] { return run(*s); };
}

}  // namespace

Verb table_bench() {
  return {
      "bench", "Measure the throughput of finds, insertions and erasures, mixed in batches, under a workload",
      "warploom table bench --batch 2^12..2^18 --search 33,50,60,80,90 --svg throughput.svg\n"
      "  warploom table bench --structure list --distribution normal --buckets 1024 --hash dek --assignment decimal --tables 1,320\n"
      "The second is the dissertation's GPU_BASIC and GPU_PH, or with --device cpu its CPU_BASIC and "
      "CPU_PH. JSON: all rounds, chains by length, pairs by table.",
      &add};
}

}  // namespace warploom::tool
