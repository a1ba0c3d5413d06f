#include <fmt/format.h>

#include <array>
#include <atomic>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>

#include "cli/option_names.hpp"
#include "cli/verb.hpp"
#include "core/several_devices.hpp"
#include "output.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/search/page.hpp"
#include "warploom/search/stream.hpp"

namespace warploom::tool {
namespace {

/// All queries: ranges of files, and annotations taken as examples. A file is read once.
std::vector<search::RecordedQuery> load_queries(const SearchSettings& settings) {
  io::RecordingOptions reading = settings.reading;
  if (!settings.query_select.empty()) reading.select = settings.query_select;
  std::vector<search::RecordedQuery> queries;
  io::Recording recording;
  std::filesystem::path read;
  for (const auto& [label, name, from, to] : settings.queries) {
    const std::filesystem::path file = io::recording_file(name);
    if (reading.series == kAllSeries && io::holds_series(file, reading))
      throw BadInput(
          fmt::format("{}: --series all is for recordings, and a query is one series: say which, as {}#1",
                      file.string(), file.filename().string()));
    if (read != file) recording = signal::read_prepared(read = file, reading, settings.prepare);
    if (settings.examples.empty())
      queries.push_back(search::query_of_range(recording, file,
                                               label.empty() ? io::recording_stem(file) : label,
                                               from.value_or(0), to.value_or(recording.seconds())));
    for (const std::string& example : settings.examples)
      std::ranges::move(search::queries_labelled(recording, file, example, name),
                        std::back_inserter(queries));
  }
  return queries;
}

/// Standard input until it ends.
int search_input(const SearchSettings& settings) {
  const std::vector<RecordedQuery> queries = load_queries(settings);
  if (queries.size() > 1)
    throw BadInput(fmt::format("--stream takes one query, and there are {}", queries.size()));
  search::LineStream stream(queries[0], settings, settings.reading, "<stdin>");
  std::size_t rank = 0;
  const auto print_all = [&](const std::vector<Hit>& hits) {
    for (const Hit& hit : hits) print(as_json(hit, ++rank, stream.recording(), queries).dump() + "\n");
    finish_output();
  };
  for (std::string line; std::getline(std::cin, line);) {
    check_interrupt();
    print_all(stream.push(line));
  }
  check_interrupt();
  print_all(stream.finish());
  return kDone;
}

/// Searches one recording and writes its files.
SearchResult search_file(const SearchSettings& settings, const std::vector<RecordedQuery>& queries,
                         const io::RecordingFile& file, const SearchOutput* output) {
  const Json stamp = output == nullptr ? Json() : output->stamp(file.path);
  io::Recording recording = signal::read_prepared(file.path, settings.reading, settings.prepare);
  SearchResult result = search::search_recording(recording, file.path, queries, settings);
  result.name = file.name;
  for (std::string& remark : result.remarks) remark = with_option_names(remark);
  if (output == nullptr) return result;
  output->write(result, stamp, [&] {
    search::Found found{{}, result.pairs, result.candidates, result.remarks};
    for (const Hit& hit : result.hits) found.matches.push_back(hit.match);
    const std::vector views = search::placed(result.compared, recording, result.path, settings.by_number);
    search::SearchPage page;
    page.recording = &recording;
    page.queries = views;
    page.found = &found;
    page.normalization = settings.normalization;
    if (!settings.euclidean) page.options = search::find_options(settings, result.compared[0], recording);
    for (const RecordedQuery& query : queries) page.query_sources.push_back(query.source());
    for (const auto& [name, value] : described(settings)) page.settings.push_back(name + " " + value);
    return search::search_page(page);
  });
  result.compared.clear();  // of many recordings
  return result;
}

struct Failure {
  std::string file, message;
};

int run(SearchSettings& settings) {
  check_together(settings);
  const RunScope scope(settings.run);
  // An absent device is better known before the recordings are read.
  if (settings.run.devices.empty()) choose_device(Device::best);
  for (const Device device : settings.run.devices) choose_device(device);
  if (settings.stream) return search_input(settings);
  const std::vector<io::RecordingFile> files = io::list_recordings(settings.inputs, settings.reading);
  const std::vector<RecordedQuery> queries = load_queries(settings);
  std::optional<SearchOutput> output;
  if (!settings.output.empty()) output.emplace(settings, queries, files);

  std::vector<std::optional<SearchResult>> found(files.size());
  std::vector<std::optional<Failure>> failed(files.size());
  std::atomic<std::size_t> failures_said = 0;
  const auto search_one = [&](const SearchSettings& with, std::size_t k) {
    const io::RecordingFile& file = files[k];
    // In a handler: what is wrong with one recording of many does not stop the others.
    const auto fail = [&](std::string message) {
      if (files.size() == 1) throw;
      if (message.find(file.path.string()) == message.npos) message = file.path.string() + ": " + message;
      constexpr std::size_t kShown = 10;
      if (failures_said++ < kShown) log(LogLevel::error, message);
      failed[k] = {file.path.string(), std::move(message)};
    };
    if (const SearchResult* finished = output ? output->finished(file) : nullptr) {
      found[k] = *finished;
      return;
    }
    try {
      with_option_names([&] {
        found[k] = search_file(with, queries, file, output ? &*output : nullptr);
        return kDone;
      });
    } catch (const BadInput& error) {
      fail(error.what());
    } catch (const OutOfMemory& error) {
      fail(error.what());
    }
  };
  std::vector<SearchResult> results;
  const auto take_results = [&] {
    for (std::optional<SearchResult>& one : found)
      if (one) results.push_back(std::move(*one));
  };
  try {
    Progress progress("searching", files.size(), "recordings");
    // Many recordings are dealt out to the devices, each as a whole; few are searched by all of them
    // together.
    constexpr std::size_t kMany = 4;  // a device
    const std::vector<Device>& devices = settings.run.devices;
    if (devices.size() > 1 && files.size() >= kMany * devices.size()) {
      std::atomic<std::size_t> next = 0;
      on_devices(devices, [&](std::size_t d) {
        SearchSettings own = settings;
        own.run.devices = {devices[d]};
        for (std::size_t k; (k = next++) < files.size(); progress.advance()) {
          check_interrupt();
          search_one(own, k);
        }
      });
    } else {
      for (std::size_t k = 0; k < files.size(); ++k, progress.advance()) search_one(settings, k);
    }
    take_results();
  } catch (const Interrupted&) {
    take_results();
    if (!output || results.empty()) throw;
    log(LogLevel::error,
        fmt::format("interrupted; {} of {} recordings are finished in {}, and --resume goes on",
                    results.size(), files.size(), settings.output));
    return kInterrupted;
  }
  std::vector<Failure> failures;
  for (std::optional<Failure>& one : failed)
    if (one) failures.push_back(std::move(*one));
  if (output && !results.empty()) output->write_ranking(results);
  if (settings.json) {
    Json document = as_json(results, queries, settings);
    document["failed"] = Json::array();
    for (const Failure& failure : failures)
      document["failed"].push_back({{"file", failure.file}, {"error", failure.message}});
    print_json(document);
  } else if (!results.empty()) {
    print(without_controls(as_text(results, queries, static_cast<std::size_t>(settings.find.limit))));
  }
  if (failures.empty()) return kDone;
  throw BadInput(
      fmt::format("{} of {} recordings could not be searched; see above", failures.size(), files.size()));
}

std::function<int()> add(Command& command) {
  auto settings = std::make_shared<SearchSettings>();
  add_search_options(command, *settings);
  const std::function<int()> run_verb = command.add_verbs("command", std::array{search_evaluate()});
  return [settings, run_verb, &command] {
    if (command.chosen() == nullptr) return with_option_names([&] { return run(*settings); });
    for (const Option* option : command.given())
      throw BadInput(fmt::format("{} is not an option of search evaluate", option->name()));
    return run_verb();
  };
}

}  // namespace

Verb search_verb() {
  return {
      "search", "Find where a pattern of several channels occurs in recordings",
      "warploom search walk.csv monday.csv\n"
      "  warploom search monday.edf --from 12.4 --to 14.1 monday.edf --exclude-self --html -o found\n"
      "  warploom search step.csv recordings/ --scales 0.8:1.25:5 --segments 2 -o found --resume\n"
      "  warploom search --query walk=a.csv@12.4-14.1 --query run=b.csv day.csv --labels --json\n"
      "  warploom search a.csv --label-column activity --label walk b.csv c.csv -o found\n"
      "  warploom search evaluate found/*.jsonl --annotations truth.csv\n"
      "The pattern is found whatever its channels' lag, scale or order, and even if some are missing. "
      "A match has channels of the query found in different channels of the recording, at most --max-lag apart. "
      "More channels rank before fewer, then less distance before more.\n"
      "A recording named evaluate is written ./evaluate.\n"
      "Exit codes: 0 done, 2 bad usage or input, also of some recordings of many, 130 Ctrl-C; what was finished in --output is kept.",
      &add};
}

}  // namespace warploom::tool
