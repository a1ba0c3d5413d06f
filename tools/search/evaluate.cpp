#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "cli/option_names.hpp"
#include "options.hpp"
#include "stored.hpp"
#include "table/command.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom::tool {
namespace fs = std::filesystem;
namespace {

using search::Judged;
using search::kMeasures;
using search::Measure;
using search::StoredMatches;

struct Settings {
  std::vector<std::string> results, annotations;
  std::string label;
  std::int64_t at = 20;
  search::Relevance relevance;
  io::RecordingOptions reading;
  bool json = false;
};

/// The annotations for results number k: one file for all, one each, a folder's NAME.*, or the recording's
/// own.
fs::path truth_for(const Settings& s, const StoredMatches& stored, std::size_t k) {
  if (s.annotations.empty()) {
    if (stored.file.empty())
      throw BadInput(
          fmt::format("{}: it does not say which recording was searched; give --annotations", s.results[k]));
    return stored.file;
  }
  std::error_code error;
  if (s.annotations.size() > 1) return s.annotations[k];
  const fs::path only = s.annotations[0];
  if (!fs::is_directory(only, error)) return only;
  for (const char* ending :
       {".annotations.csv", ".csv", ".edf", ".bdf", ".hea", ".txt", ".csv.gz", ".txt.gz", ".ts"})
    if (const fs::path file = only / (stored.name + ending); fs::exists(file, error)) return file;
  throw BadInput(fmt::format("{}: the folder holds no annotations of '{}', as {}.annotations.csv would be",
                             only.string(), stored.name, stored.name));
}

Judged judge(const Settings& s, std::size_t k) {
  const StoredMatches stored = read_matches(s.results[k]);
  const fs::path file = truth_for(s, stored, k);
  return search::judge(stored, search::read_truth(file, s.reading), file.string(), s.label, s.at,
                       s.relevance);
}

std::string as_text(const std::vector<Judged>& all, const Settings& s) {
  std::vector<std::vector<std::string>> rows{{"recording", "results", "relevant", "events", "found"}};
  for (const Measure& measure : kMeasures)
    rows[0].push_back(measure.name == "nDCG" ? fmt::format("nDCG@{}", s.at) : std::string(measure.name));
  for (const Judged& judged : all) {
    const search::Evaluation& e = judged.evaluation;
    rows.push_back({judged.name, std::to_string(e.results), std::to_string(e.relevant),
                    std::to_string(e.events), std::to_string(e.events_found)});
    for (const Measure& measure : kMeasures) {
      const auto value = value_of(e, measure);
      rows.back().push_back(value ? fmt::format("{:.3f}", *value) : "-");
    }
  }
  if (all.size() > 1) {
    rows.push_back({"mean", "", "", "", ""});
    rows.push_back({"+- (95 %)", "", "", "", ""});
    for (const Measure& measure : kMeasures) {
      const search::Mean mean = mean_of(all, measure);
      rows[rows.size() - 2].push_back(fmt::format("{:.3f}", mean.value));
      rows.back().push_back(std::isfinite(mean.half_width) ? fmt::format("{:.3f}", mean.half_width) : "-");
    }
  }
  return columns(rows);
}

Json as_json(const std::vector<Judged>& all, const Settings& s) {
  const auto key = [](const Measure& measure) {
    return measure.name == "nDCG" ? "ndcg" : std::string(measure.name);
  };
  Json recordings = Json::array(), means = Json::object();
  for (const Judged& judged : all) {
    const search::Evaluation& e = judged.evaluation;
    Json& recording = recordings.push_back({{"recording", judged.name},
                                            {"results", e.results},
                                            {"relevant", e.relevant},
                                            {"events", e.events},
                                            {"events_found", e.events_found}});
    for (const Measure& measure : kMeasures) {
      const auto value = value_of(e, measure);
      recording[key(measure)] = value ? Json(*value) : Json(nullptr);
    }
  }
  for (const Measure& measure : kMeasures) {
    const search::Mean mean = mean_of(all, measure);
    means[key(measure)] = {
        {"mean", mean.value},
        {"half_width", std::isfinite(mean.half_width) ? Json(mean.half_width) : Json(nullptr)}};
  }
  return {{"at", s.at},
          {"overlap", s.relevance.overlap},
          {"recordings", std::move(recordings)},
          {"means", std::move(means)}};
}

int run(const Settings& s) {
  if (s.annotations.size() > 1 && s.annotations.size() != s.results.size())
    throw BadInput(
        fmt::format("--annotations: {} files for {} results; give one for all, one each, or a folder",
                    s.annotations.size(), s.results.size()));
  std::vector<Judged> all;
  for (std::size_t k = 0; k < s.results.size(); ++k) all.push_back(judge(s, k));
  if (std::ranges::all_of(all, [](const Judged& judged) { return judged.evaluation.events == 0; }))
    throw BadInput(all[0].no_events.empty()
                       ? fmt::format("{}: all annotations lie where queries came from", s.results[0])
                       : all[0].no_events);
  if (s.json)
    print_json(as_json(all, s));
  else
    print(without_controls(as_text(all, s)));
  return kDone;
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command
      .add("RESULTS", &s->results,
           "NAME.matches.jsonl, or CSV with columns onset, duration and label, best first")
      .required();
  command.add(
      "--annotations FILE", &s->annotations,
      "What is true: CSV onset,duration,label [s] or a recording's file; one for all results, one each, in "
      "their order, or a folder that holds NAME.annotations.csv, NAME.csv or the recording of each [the recording that was searched]");
  command.add("--label LABEL", &s->label, "Results are judged as if they bore this label [their own]");
  command.add("--at K", &s->at, "Judge so many results, the best [20]")
      .range(std::int64_t{1}, std::int64_t{1'000'000});
  command.add(
      "--overlap SHARE",
      [s](const std::string& text) { s->relevance.overlap = parse_number("--overlap", text, 0, 1); },
      "A result is relevant if this share of it is annotated with its label [0.5]");
  add_reading_options(command, s->reading);
  command.group("Output");
  command.add_json(s->json);
  return [s] { return with_option_names([s] { return run(*s); }); };
}

}  // namespace

Verb search_evaluate() {
  return {
      "evaluate", "Judge results against annotations: nDCG, precision, recall, coverage",
      "warploom search evaluate found/monday.matches.jsonl --annotations truth.csv\n"
      "  warploom search evaluate found/*.jsonl --annotations truths/ --at 50 --json\n"
      "  warploom search evaluate found/*.jsonl --label-column activity --label 2\n"
      "Matches that lie where the query came from do not count, and neither does what is annotated there. "
      "Precision: relevant results over results. Recall: annotated events that a relevant result touches, over "
      "events. Coverage: annotated time within relevant results, over annotated time. Several results: means and "
      "95 % confidence intervals by Student's t.",
      &add};
}

}  // namespace warploom::tool
