#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include "cli/stopwatch.hpp"
#include "cli/verb.hpp"
#include "command.hpp"
#include "output.hpp"
#include "page.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/search/euclidean.hpp"

namespace warploom::tool {
namespace {

std::vector<search::Query> views_of(const std::vector<LoadedQuery>& queries, const io::Recording& recording,
                                    const std::string& file, bool by_number) {
  std::vector<search::Query> views;
  for (const LoadedQuery& query : queries)
    views.push_back(query.view(match_channels(query, recording, file, by_number)));
  return views;
}

void check_lengths(const std::vector<LoadedQuery>& queries, const io::Recording& recording,
                   const std::string& file) {
  const auto samples = std::ssize(recording.channels[0].samples);
  for (const LoadedQuery& query : queries)
    if (query.length() > samples)
      throw BadInput(fmt::format(
          "{} has {} samples, and the query of {} {}: a query must not be longer than the recording", file,
          samples, query.file.string(), query.length()));
}

/// Channels without a sample match nothing; a recording of nothing else is a mistake.
std::vector<std::string> remarks_on(const io::Recording& recording, const std::string& file) {
  const std::vector<std::string> names = channel_names(recording);
  std::vector<std::string> remarks;
  for (std::size_t c = 0; c < names.size(); ++c)
    if (std::ranges::none_of(recording.channels[c].samples, [](float x) { return std::isfinite(x); }))
      remarks.push_back(fmt::format("{} has no samples, only missing ones", names[c]));
  if (remarks.size() == names.size())
    throw BadInput(fmt::format("{}: no channel has any samples, only missing ones", file));
  return remarks;
}

/// Queries that share options cannot have a lag in seconds that is a different share of each.
void check_one_length(const SearchSettings& settings, const std::vector<LoadedQuery>& queries) {
  for (const LoadedQuery& query : queries)
    if (settings.lag_in_seconds && query.length() != queries[0].length())
      throw BadInput(
          fmt::format("--max-lag in seconds and --labels with queries of {} and {} samples do not go "
                      "together: give a share of their length",
                      queries[0].length(), query.length()));
}

/// Matches of all queries, whose numbers they bear.
search::Found find_all(const SearchSettings& settings, const std::vector<LoadedQuery>& queries,
                       const std::vector<search::Query>& views, const io::Recording& recording,
                       std::int64_t extra) {
  search::Signal signal;
  for (const io::Channel& channel : recording.channels) signal.push_back(channel.samples);
  search::Found found;
  const auto append = [&](search::Found part, std::size_t query) {
    for (search::Match& match : part.matches) {
      match.query = static_cast<std::int32_t>(query);
      found.matches.push_back(std::move(match));
    }
    for (std::string& remark : part.remarks)
      if (std::ranges::count(found.remarks, remark) == 0) found.remarks.push_back(std::move(remark));
    found.pairs += part.pairs;
    found.candidates += part.candidates;
  };
  if (settings.euclidean) {
    for (std::size_t q = 0; q < views.size(); ++q) {
      const auto exclusion =
          static_cast<std::int64_t>(settings.find.exclusion * static_cast<double>(views[q].length()));
      search::Found part;
      part.matches = search::find_euclidean(signal, views[q], settings.normalization,
                                            settings.find.limit + extra, exclusion);
      append(std::move(part), q);
    }
  } else {
    search::Index index(
        signal, {.run = settings.run, .normalization = settings.normalization, .prune = settings.prune});
    const auto options_for = [&](const LoadedQuery& query) {
      search::FindOptions options = find_options(settings, query, recording);
      options.limit += extra;
      return options;
    };
    if (settings.labels) {
      check_one_length(settings, queries);
      found = search::find_labels(index, views, options_for(queries[0]));
    }
    for (std::size_t q = 0; q < views.size() && !settings.labels; ++q)
      append(search::find(index, views[q], options_for(queries[q])), q);
    const search::Effort& effort = index.effort();
    if (effort.skipped > 0)
      found.remarks.push_back(
          fmt::format("{} of {} windows, of all pairs of channels, touch missing samples and were "
                      "skipped",
                      effort.skipped, effort.windows));
    log(LogLevel::info, effort.choice);
    if (settings.labels) return found;
  }
  std::ranges::stable_sort(found.matches, search::ranked_before);
  return found;
}

/// Searches one recording and writes its files.
SearchResult search_recording(const SearchSettings& settings, const std::vector<LoadedQuery>& queries,
                              const RecordingFile& file, const SearchOutput* output) {
  const std::string path = file.path.string();
  io::Recording recording = read_prepared(file.path, settings.reading, settings);
  match_rates(queries, recording, path);
  check_lengths(queries, recording, path);
  const std::vector<search::Query> views = views_of(queries, recording, path, settings.by_number);
  const std::vector<search::Interval> sources = sources_in(queries, file.path);

  SearchResult result;
  result.remarks = remarks_on(recording, path);
  result.name = file.name;
  result.path = path;
  result.rate = recording.channels[0].rate;
  result.timed = recording.timed;
  result.samples = std::ssize(recording.channels[0].samples);
  result.channels = channel_names(recording);

  // Results that overlap a source begin in it or less than a query before it, half a query apart at most.
  const std::int64_t extra = settings.exclude_self ? 4 * std::ssize(sources) * settings.find.alternatives : 0;
  const Stopwatch watch;
  search::Found found = find_all(settings, queries, views, recording, extra);
  result.seconds = watch.seconds();
  result.remarks.insert(result.remarks.end(), found.remarks.begin(), found.remarks.end());
  result.hits = make_hits(std::move(found.matches), result.rate, sources, settings);
  if (output == nullptr) return result;
  output->write(result, [&] {
    found.matches.clear();
    for (const Hit& hit : result.hits) found.matches.push_back(hit.match);
    found.remarks = result.remarks;
    SearchPage page;
    page.recording = &recording;
    page.queries = views;
    page.found = &found;
    page.normalization = settings.normalization;
    if (!settings.euclidean) page.options = find_options(settings, queries[0], recording);
    for (const LoadedQuery& query : queries) page.query_sources.push_back(query.source());
    for (const auto& [name, value] : described(settings)) page.settings.push_back(name + " " + value);
    return search_page(page);
  });
  return result;
}

struct Failure {
  std::string file, message;
};

/// What is wrong with one recording of many does not stop the others.
class Failures {
 public:
  void add(const RecordingFile& file, std::string message) {
    if (message.find(file.path.string()) == message.npos) message = file.path.string() + ": " + message;
    constexpr std::size_t kShown = 10;
    if (all_.size() < kShown) log(LogLevel::error, message);
    all_.push_back({file.path.string(), std::move(message)});
  }
  /// @throws BadInput if there are some
  void finish(std::size_t recordings) const {
    if (!all_.empty())
      throw BadInput(
          fmt::format("{} of {} recordings could not be searched; see above", all_.size(), recordings));
  }
  const std::vector<Failure>& all() const { return all_; }

 private:
  std::vector<Failure> all_;
};

int run(SearchSettings& settings) {
  check_together(settings);
  const RunScope scope(settings.run);
  // An absent device is better known before the recordings are read.
  choose_device(one_device(settings.run.devices, "a search"));
  if (settings.stream) return search_stream(settings);
  const std::vector<RecordingFile> files = list_recordings(settings);
  const std::vector<LoadedQuery> queries = load_queries(settings);
  std::optional<SearchOutput> output;
  if (!settings.output.empty()) output.emplace(settings, queries, files);

  std::vector<SearchResult> results;
  Failures failures;
  try {
    Progress progress("searching", files.size(), "recordings");
    for (const RecordingFile& file : files) {
      if (const SearchResult* finished = output ? output->finished(file) : nullptr) {
        results.push_back(*finished);
      } else {
        try {
          results.push_back(search_recording(settings, queries, file, output ? &*output : nullptr));
        } catch (const BadInput& error) {
          if (files.size() == 1) throw;
          failures.add(file, error.what());
        } catch (const OutOfMemory& error) {
          if (files.size() == 1) throw;
          failures.add(file, error.what());
        }
      }
      progress.advance();
    }
  } catch (const Interrupted&) {
    if (!output || results.empty()) throw;
    log(LogLevel::error,
        fmt::format("interrupted; {} of {} recordings are finished in {}, and --resume goes on",
                    results.size(), files.size(), settings.output));
    return kInterrupted;
  }
  if (output && !results.empty()) output->write_ranking(results);
  if (settings.json) {
    Json document = as_json(results, queries, settings);
    document["failed"] = Json::array();
    for (const Failure& failure : failures.all())
      document["failed"].push_back({{"file", failure.file}, {"error", failure.message}});
    print_json(document);
  } else if (!results.empty()) {
    print(as_text(results, queries, static_cast<std::size_t>(settings.find.limit)));
  }
  failures.finish(files.size());
  return kDone;
}

std::function<int()> add(Command& command) {
  auto settings = std::make_shared<SearchSettings>();
  add_search_options(command, *settings);
  const std::function<int()> run_verb = command.add_verbs("command", std::array{search_evaluate()});
  return [settings, run_verb, &command] {
    if (command.chosen() == nullptr) return run(*settings);
    for (const Option* option : command.given())
      throw BadInput(fmt::format("{} is not an option of search evaluate", option->name()));
    return run_verb();
  };
}

}  // namespace

Verb search_verb() {
  return {
      "search",
      "Find where in recordings a pattern of several channels occurs, whatever its channels' lag, scale or "
      "order, and even if some are missing",
      "warploom search walk.csv monday.csv\n"
      "  warploom search monday.edf --from 12.4 --to 14.1 monday.edf --exclude-self --html -o found\n"
      "  warploom search step.csv recordings/ --scales 0.8:1.25:5 --segments 2 -o found --resume\n"
      "  warploom search --query walk=a.csv@12.4-14.1 --query run=b.csv day.csv --labels --json\n"
      "  warploom search a.csv --label-column activity --label walk b.csv c.csv -o found\n"
      "  warploom search evaluate found/*.jsonl --annotations truth.csv\n"
      "A match has channels of the query found in different channels of the recording, at most --max-lag "
      "apart. "
      "More channels rank before fewer, then less distance before more.\n"
      "A recording named evaluate is written ./evaluate.\n"
      "Exit codes: 0 done, 2 bad usage or input, also of some recordings of many, 130 Ctrl-C; what was "
      "finished "
      "in --output is kept.",
      &add};
}

}  // namespace warploom::tool
