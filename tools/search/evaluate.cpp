#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <system_error>

#include "command.hpp"
#include "stored.hpp"
#include "table/command.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom::tool {
namespace fs = std::filesystem;
namespace {

struct Settings {
  std::vector<std::string> results, annotations;
  std::string label;
  std::int64_t at = 20;
  search::Relevance relevance;
  io::RecordingOptions reading;
  bool json = false;
};

std::vector<search::Interval> read_truth(const fs::path& file, const io::RecordingOptions& reading) {
  std::vector<io::Annotation> annotations;
  // A recording's file, or onset,duration,label.
  constexpr std::string_view kHeader = "onset,duration,label";
  if (file.extension() == ".csv" && reading.label_column.empty()) {
    const std::string text = read_file(file);
    if (text.find(kHeader) > 3)  // behind a byte order mark at most
      throw BadInput(
          fmt::format("{}: no annotations: expected the header line {}, or --label-column for a recording",
                      file.string(), kHeader));
    annotations = io::parse_annotations(text, file.string());
  } else {
    annotations = io::read_recording(file, reading).annotations;
    if (annotations.empty())
      throw BadInput(
          fmt::format("{}: it holds no annotations; --label-column names a column that does", file.string()));
  }
  std::vector<search::Interval> truth;
  for (const io::Annotation& annotation : annotations)
    truth.push_back({annotation.onset, annotation.duration, annotation.label});
  return truth;
}

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

struct Judged {
  std::string name;
  search::Evaluation evaluation;
  std::string no_events;  // why there are none, if the annotations have other labels only
};

Judged judge(const Settings& s, std::size_t k) {
  StoredMatches stored = read_matches(s.results[k]);
  if (!s.label.empty())
    for (search::Interval& match : stored.matches) match.label = s.label;
  const fs::path file = truth_for(s, stored, k);
  std::set<std::string> searched(stored.labels.begin(), stored.labels.end()), there;
  if (!s.label.empty()) searched = {s.label};
  for (const search::Interval& match : stored.matches) searched.insert(match.label);
  std::vector<search::Interval> truth;
  for (search::Interval& event : read_truth(file, s.reading)) {
    there.insert(event.label);
    if (searched.contains(event.label)) truth.push_back(std::move(event));  // others are not missing
  }
  std::string wrong;
  if (there.empty())
    wrong = fmt::format("{}: it holds no annotations", file.string());
  else if (truth.empty())
    wrong = fmt::format(
        "{}: none of its annotations ({}) is of the results' label '{}'; --label says what they are",
        file.string(), fmt::join(there, ", "), fmt::join(searched, "', '"));
  return {stored.name, search::evaluate(stored.matches, truth, stored.sources, s.at, s.relevance), wrong};
}

struct Measure {
  std::string_view name;
  double search::Evaluation::*value;
  bool of_events;  // means nothing where there are none
};
constexpr Measure kMeasures[] = {{"nDCG", &search::Evaluation::ndcg, true},
                                 {"precision", &search::Evaluation::precision, false},
                                 {"recall", &search::Evaluation::recall, true},
                                 {"coverage", &search::Evaluation::coverage, true}};

std::optional<double> value_of(const search::Evaluation& evaluation, const Measure& measure) {
  if (measure.of_events && evaluation.events == 0) return std::nullopt;
  return evaluation.*measure.value;
}

search::Mean mean_of(const std::vector<Judged>& all, const Measure& measure) {
  std::vector<double> values;
  for (const Judged& judged : all)
    if (const auto value = value_of(judged.evaluation, measure)) values.push_back(*value);
  return search::mean_with_confidence(values);
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
    print(as_text(all, s));
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
      "What is true: CSV onset,duration,label [s] or a recording's file; one for all results, one each, "
      "in "
      "their order, or a folder that holds NAME.annotations.csv, NAME.csv or the recording of each [the "
      "recording that was searched]");
  command.add("--label LABEL", &s->label, "Results are judged as if they bore this label [their own]");
  command.add("--at K", &s->at, "Judge so many results, the best [20]")
      .range(std::int64_t{1}, std::int64_t{1'000'000});
  command.add(
      "--overlap SHARE",
      [s](const std::string& text) { s->relevance.overlap = parse_number("--overlap", text, 0, 1); },
      "A result is relevant if this share of it is annotated with its label [0.5]");
  add_reading_options(command, s->reading);
  command.add_json(s->json);
  return [s] { return run(*s); };
}

}  // namespace

Verb search_evaluate() {
  return {
      "evaluate", "Judge results against annotations: nDCG, precision, recall, coverage",
      "warploom search evaluate found/monday.matches.jsonl --annotations truth.csv\n"
      "  warploom search evaluate found/*.jsonl --annotations truths/ --at 50 --json\n"
      "  warploom search evaluate found/*.jsonl --label-column activity --label 2\n"
      "Matches that lie where the query came from do not count, and neither does what is annotated there. "
      "Precision: relevant results over results. Recall: annotated events that a relevant result touches, "
      "over "
      "events. Coverage: annotated time within relevant results, over annotated time. Several results: means "
      "and "
      "95 % confidence intervals by Student's t.",
      &add};
}

}  // namespace warploom::tool
