// How good the search is: nDCG, precision and recall of the method beside the Euclidean baseline, on
// annotated recordings, as the dissertation's Tables 11 to 14. Deterministic: all that is drawn has a seed.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "../json_records.hpp"
#include "quality_data.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/search/euclidean.hpp"
#include "warploom/search/find.hpp"

namespace {

using namespace warploom;
using namespace warploom::bench;

constexpr std::int64_t kRank = 20;

struct Experiment {
  std::string name;
  Corpus corpus;
  search::FindOptions options;
  search::Relevance relevance;
  bool across = false;  ///< examples are searched in the recordings of others only
};

using Method = std::function<std::vector<search::Match>(search::Index&, const search::Query&)>;

std::map<std::string, Method> methods(const search::FindOptions& base) {
  const auto ours = [](const search::FindOptions& options) {
    return [options](search::Index& index, const search::Query& query) {
      return search::find(index, query, options).matches;
    };
  };
  const auto euclidean = [](search::Normalization normalization) {
    return [normalization](search::Index& index, const search::Query& query) {
      return search::find_euclidean(index.signal(), query, normalization, kRank, query.length() / 2);
    };
  };
  search::FindOptions segments = base, exhaust = base, both = base, chapter = base;
  segments.segments = both.segments = 3;
  exhaust.exhaust = both.exhaust = {.2, .3};
  return {{"EDT", euclidean(search::Normalization::none)},
          {"EDT z", euclidean(search::Normalization::z)},
          {"MD-DTW", ours(base)},
          {"MD-DTW segments", ours(segments)},
          {"MD-DTW exhaust", ours(exhaust)},
          {"MD-DTW segments exhaust", ours(both)}};
}

std::string mean_text(const std::vector<double>& values) {
  const search::Mean mean = search::mean_with_confidence(values);
  return json_number(mean.value) + ", " + json_number(mean.half_width);
}

struct Scores {
  std::vector<double> ndcg, precision, recall, coverage;
};

void run(const Experiment& experiment, JsonRecords& records) {
  for (const Disturbance disturbance : kDisturbances) {
    if (disturbance == Disturbance::rotated && experiment.corpus.recordings[0].sensor_axes.empty()) continue;
    std::map<std::string, std::map<std::string, Scores>> scores;  // label, method
    std::uint64_t seed = 1;
    for (const Annotated& original : experiment.corpus.recordings) {
      const Annotated recording = disturbed(original, disturbance, seed++);
      search::IndexOptions index_options;
      index_options.run.devices = {Device::cpu};
      search::Index index(signal_of(recording.samples), index_options);
      for (const Example& example : experiment.corpus.examples) {
        if (experiment.across && example.recording == recording.name) continue;
        search::Query query{example.label, signal_of(example.samples), {}};
        for (std::size_t c = 0; c < example.samples.size(); ++c)
          query.places.push_back(static_cast<std::int32_t>(c));
        std::vector<search::Interval> source;
        if (example.recording == recording.name) source.push_back(example.source);
        for (const auto& [method, search_with] : methods(experiment.options)) {
          std::vector<search::Interval> results;
          for (const search::Match& match : search_with(index, query))
            results.push_back({static_cast<double>(match.first) / recording.rate,
                               static_cast<double>(match.last - match.first) / recording.rate,
                               example.label});
          std::vector<search::Interval> annotations;
          for (const search::Interval& interval : recording.intervals)
            if (interval.label == example.label) annotations.push_back(interval);
          const search::Evaluation judged =
              search::evaluate(results, annotations, source, kRank, experiment.relevance);
          Scores& score = scores[example.label][method];
          score.ndcg.push_back(judged.ndcg);
          score.precision.push_back(judged.precision);
          score.recall.push_back(judged.recall);
          score.coverage.push_back(judged.coverage);
        }
      }
    }
    for (const auto& [label, of_methods] : scores)
      for (const auto& [method, score] : of_methods)
        records.add("{\"experiment\": \"" + experiment.name + "\", \"disturbance\": \"" + name(disturbance) +
                    "\", \"label\": \"" + label + "\", \"method\": \"" + method + "\", \"searches\": " +
                    std::to_string(score.ndcg.size()) + ", \"ndcg20\": [" + mean_text(score.ndcg) +
                    "], \"precision\": [" + mean_text(score.precision) + "], \"recall\": [" +
                    mean_text(score.recall) + "], \"coverage\": [" + mean_text(score.coverage) + "]}");
  }
}

std::vector<Experiment> experiments(const std::string& data) {
  std::vector<Experiment> all;
  search::FindOptions options;
  options.limit = kRank;
  options.neighbours = 2;
  options.band = .1;
  all.push_back({"activities", basic_motions(data, 11), options, {}, false});
  for (const char* place : {"ankle", "thigh", "trunk"})
    all.push_back({std::string("walking, ") + place, walking(data, place, 5, 12), options, {}, true});
  options.neighbours = 2;
  all.push_back({"freezing", freezing(data), options, {}, false});
  options.neighbours = 3;
  search::Relevance stride;
  stride.overlap = .75;
  all.push_back({"strides", strides(data, 1, 13), options, stride, false});
  return all;
}

}  // namespace

// search_quality [--benchmark_out=FILE] [EXPERIMENT...]
int main(int argc, char** argv) {
  try {
    std::string out;
    std::vector<std::string> wanted;
    for (int k = 1; k < argc; ++k) {
      const std::string argument = argv[k];
      if (argument.starts_with("--benchmark_out="))
        out = argument.substr(16);
      else if (!argument.starts_with("--"))
        wanted.push_back(argument);
    }
    const char* data = std::getenv("WARPLOOM_DATA");
    const std::string directory = data != nullptr ? data : WARPLOOM_BENCH_DATA;
    if (!std::filesystem::is_directory(directory + "/activity")) {
      std::printf("no recordings in %s: nothing measured\n", directory.c_str());
      return 0;
    }
    JsonRecords records;
    records.list("quality");
    for (const Experiment& experiment : experiments(directory))
      if (wanted.empty() || std::find(wanted.begin(), wanted.end(), experiment.name) != wanted.end())
        run(experiment, records);
    if (!out.empty()) write_file_atomically(out, records.text());
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
