#include "warploom/search/recordings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <system_error>

#include "search/recorded_gains.hpp"
#include "search/turned.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/log.hpp"
#include "warploom/io/table.hpp"
#include "warploom/search/boundaries.hpp"
#include "warploom/search/euclidean.hpp"
#include "warploom/search/in_place.hpp"
#include "warploom/signal/filter.hpp"
#include "warploom/signal/prepare.hpp"

namespace warploom::search {
namespace {

namespace fs = std::filesystem;

/// As find() has them, since some of it is computed before find() is called.
void require(std::string_view option, double value, double least, double most) {
  if (!(value >= least && value <= most))
    throw BadInput(fmt::format("{} is {}: it must be from {} to {}", option, value, least, most));
}

constexpr double kSameRate = 1e-3;  // relative; rates from time columns are no more exact
constexpr std::int64_t kLeastSamples = 4;

/// "...: the query was resampled", of each rate and file once.
std::vector<std::string> remarks_on_rates(std::span<const RecordedQuery> given,
                                          std::span<const RecordedQuery> used) {
  std::vector<std::string> remarks;
  for (std::size_t q = 0; q < given.size(); ++q) {
    if (given[q].rate == used[q].rate) continue;
    std::string remark = fmt::format(
        "the query of {} has {:.6g} Hz and the recording {:.6g} Hz: the query was resampled (`resample` brings both to "
        "a rate of your choice)",
        given[q].file.string(), given[q].rate, used[q].rate);
    if (std::ranges::count(remarks, remark) == 0) remarks.push_back(std::move(remark));
  }
  return remarks;
}

/// What is matched by name.
bool all_named(const std::vector<std::string>& names) {
  return std::ranges::none_of(names, &std::string::empty) &&
         std::set<std::string>(names.begin(), names.end()).size() == names.size();
}

std::vector<std::int32_t> match_channels(const RecordedQuery& query, const io::Recording& recording,
                                         const std::string& file, bool by_number) {
  std::vector<std::string> names;
  for (const io::Channel& channel : recording.channels) names.push_back(channel.name);
  if (!query.names.empty() && query.names.size() != query.samples.size())
    throw BadInput(fmt::format("the query of {} has {} channels and {} names: give all or none",
                               query.file.string(), query.samples.size(), query.names.size()));
  std::vector<std::int32_t> places;
  if (by_number || query.names.empty() || !all_named(names) || !all_named(query.names)) {
    if (query.samples.size() > names.size())
      throw BadInput(fmt::format("{} has {}, the query of {} {}: choose with `query_select` or `select`",
                                 file, signal::channels_text(signal::channel_names(recording)),
                                 query.file.string(), query.samples.size()));
    for (std::size_t c = 0; c < query.samples.size(); ++c) places.push_back(static_cast<std::int32_t>(c));
    return places;
  }
  for (const std::string& name : query.names) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end())
      throw BadInput(fmt::format(
          "{} has no channel '{}' of the query of {}, but {}: choose with `query_select` and `select`, or give `channels_by` number",
          file, name, query.file.string(), signal::channels_text(names)));
    places.push_back(static_cast<std::int32_t>(found - names.begin()));
  }
  return places;
}

std::vector<double> read_weights(const std::string& file, std::size_t channels) {
  const io::Table<double> table = io::parse_table<double>(read_file(file), file);
  const auto wanted = static_cast<std::int64_t>(channels);
  if (table.rows != wanted || table.columns != wanted)
    throw BadInput(
        fmt::format("{}: {} rows of {} weights; the recording has {} channels, and needs as many of each",
                    file, table.rows, table.columns, channels));
  for (std::int64_t row = 0; row < table.rows; ++row)
    for (std::int64_t column = 0; column < table.columns; ++column)
      if (!(table(row, column) >= 0 && std::isfinite(table(row, column))))
        throw BadInput(fmt::format("{}: weight {} in row {}, column {}; weights are finite and not negative",
                                   file, table(row, column), row + 1, column + 1));
  return table.values;
}

SensorAxes parse_sensor(const std::string& text, const std::vector<std::string>& names) {
  if (std::ranges::count(text, ',') != 2)
    throw BadInput(fmt::format("`sensor` {}: three channels are expected, as x,y,z", text));
  std::istringstream words(text + ',');
  const auto axis = [&] {
    std::string word;
    std::getline(words, word, ',');
    return signal::find_channel(word, names, "`sensor`");
  };
  const std::int32_t x = axis(), y = axis();
  return {x, y, axis()};
}

/// Channels without a sample match nothing; a recording of nothing else is a mistake.
std::vector<std::string> remarks_on(const io::Recording& recording, const Signal& samples,
                                    const std::string& file) {
  const std::vector<std::string> names = signal::channel_names(recording);
  std::vector<std::string> remarks;
  for (std::size_t c = 0; c < names.size(); ++c)
    if (std::ranges::none_of(samples[c], [](float x) { return std::isfinite(x); }))
      remarks.push_back(fmt::format("{} has no samples, only missing ones", names[c]));
  if (remarks.size() == names.size())
    throw BadInput(fmt::format("{}: no channel has any samples, only missing ones", file));
  return remarks;
}

/// "switched: arch in ball, ball in arch"
std::string reading_text(const Tried& tried, const RecordedQuery& query,
                         const std::vector<std::string>& names, double rate, bool timed) {
  std::vector<std::string> parts;
  const Reading& reading = tried.reading;
  for (std::size_t c = 0; c < reading.channels.size(); ++c) {
    const std::string name = query.channel(static_cast<std::int32_t>(c));
    if (reading.channels[c] < 0) {
      parts.push_back("no " + name);
      continue;
    }
    std::string part;
    if (reading.channels[c] != reading.places[c]) part += " in " + names[reading.channels[c]];
    if (reading.negated[c]) part += " negated";
    if (reading.lags[c] > 0)
      part += timed ? fmt::format(" +{:.3g} s", static_cast<double>(reading.lags[c]) / rate)
                    : fmt::format(" +{}", reading.lags[c]);
    if (!part.empty()) parts.push_back(name + part);
  }
  if (reading.rotated()) parts.push_back("sensors in another orientation");
  if (reading.stretched) parts.push_back("lengths of 0.8 to 1.25 times the query's");
  constexpr std::size_t kMost = 6;
  if (const std::size_t all = parts.size(); all > kMost) {
    parts.resize(kMost);
    parts.push_back(fmt::format("{} more", all - kMost));
  }
  return fmt::format("{}: {}", tried.name, fmt::join(parts, ", "));
}

/// What find_automatic() chose, and by how much.
std::string remark_on(const FoundAs& found, const RecordedQuery& query, const io::Recording& recording) {
  constexpr double kAlike = 0.05;  // that is worth a word
  const Tried& chosen = found.chosen();
  std::string text;
  if (chosen.reading.in_place()) {
    text =
        "the recording is read in place: each channel of the query in the channel of its name or number, all at "
        "one onset";
    const Tried* nearest = nullptr;
    for (const Tried& one : found.tried)
      if (!one.chosen && (nearest == nullptr || one.nearer / one.price > nearest->nearer / nearest->price))
        nearest = &one;
    if (nearest != nullptr)
      text +=
          fmt::format("; {} it would be {:.2f} times as near{}", nearest->name, nearest->nearer,
                      nearest->price > 1
                          ? fmt::format(", and queries that are not there gain {:.2f} times", nearest->price)
                          : "");
  } else if (chosen.reading.own) {
    text = fmt::format(
        "no one reading explains the recording: each match has channels, signs and lags of its own; the best is "
        "{:.2f} times as near as in place, and the levels of channels are {:.2f} of 1 more alike",
        chosen.nearer, chosen.levels);
  } else {
    text = fmt::format(
        "the recording is read as {}; its best places are {:.2f} times as near as in place{}, where "
        "queries that are not there gain {:.2f} times",
        reading_text(chosen, query, signal::channel_names(recording), recording.channels[0].rate,
                     recording.timed),
        chosen.nearer,
        chosen.levels > kAlike
            ? fmt::format(", and the levels of channels are {:.2f} of 1 more alike", chosen.levels)
            : "",
        chosen.price);
  }
  constexpr double kChance = 0.05;
  const auto better = std::ranges::count_if(
      found.matches, [](const Match& match) { return match.chance.value_or(1) <= kChance; });
  return text + fmt::format("; {} of {} matches are so near that fewer than {} of the kind come by chance",
                            better, found.matches.size(), kChance);
}

/// One query in one recording, as `options.match` says.
FoundAs find_one(Index& index, const Query& query, const FindOptions& find_options,
                 const SearchOptions& options) {
  FoundAs found;
  switch (options.match) {
    case MatchBy::free:
      static_cast<Found&>(found) = find(index, query, find_options);
      break;
    case MatchBy::in_place: {
      InPlaceOptions in_place;
      in_place.limit = find_options.limit;
      in_place.band = find_options.band;
      in_place.exclusion = find_options.exclusion;
      in_place.scales = find_options.scales;
      in_place.max_distance = find_options.max_distance;
      found.matches = find_in_place(index, query, in_place);
      found.pairs = std::ssize(query.channels);
      found.candidates = std::ssize(found.matches);
      break;
    }
    case MatchBy::automatic:
      found = find_automatic(index, query, find_options);
      break;
    default:
      throw BadInput("`match` is neither in-place nor free nor auto");
  }
  return found;
}

Signal signal_of(const io::Recording& recording) {
  Signal signal;
  for (const io::Channel& channel : recording.channels) signal.push_back(channel.samples);
  return signal;
}

/// Matches of all queries, whose numbers they bear. @param extra  more than the limit
Found find_all(const SearchOptions& options, std::span<const RecordedQuery> queries,
               std::span<const Query> views, const io::Recording& recording, const Signal& signal,
               std::int64_t extra, const fs::path& file, SearchResult& result, ComparedQueries& compared) {
  Found found;
  const auto append = [&](Found part, std::size_t query) {
    for (Match& match : part.matches) {
      match.query = static_cast<std::int32_t>(query);
      found.matches.push_back(std::move(match));
    }
    for (std::string& remark : part.remarks)
      if (std::ranges::count(found.remarks, remark) == 0) found.remarks.push_back(std::move(remark));
    found.pairs += part.pairs;
    found.candidates += part.candidates;
  };
  if (options.euclidean) {
    for (std::size_t q = 0; q < views.size(); ++q) {
      const auto exclusion =
          static_cast<std::int64_t>(options.find.exclusion * static_cast<double>(views[q].length()));
      const std::int64_t limit = options.find.limit + extra;
      append({find_euclidean(signal, views[q], options.normalization, limit, exclusion), 0, 0, {}}, q);
    }
  } else {
    Index index(signal, options);
    const auto options_for = [&](const RecordedQuery& query) {
      FindOptions one = find_options(options, query, recording);
      one.limit += extra;
      return one;
    };
    if (options.labels) {
      for (const RecordedQuery& query : queries)  // a lag would be a different share of each
        if (options.lag_in_seconds && query.length() != queries[0].length())
          throw BadInput(fmt::format(
              "`max_lag` in seconds and `labels` with queries of {} and {} samples do not go together: give a share of their length",
              queries[0].length(), query.length()));
      found = find_labels(index, views, options_for(queries[0]));
    }
    for (std::size_t q = 0; q < views.size() && !options.labels; ++q) {
      FindOptions of_query = options_for(queries[q]);
      if (options.match == MatchBy::automatic)
        of_query.gains = known_gains(options, queries[q], views[q].places, recording, file);
      FoundAs part = find_one(index, views[q], of_query, options);
      for (const Tried& one : part.tried)
        result.readings.push_back(
            {static_cast<std::int32_t>(q), one.name, one.nearer, one.price, one.chosen});
      if (!part.tried.empty()) part.remarks.push_back(remark_on(part, queries[q], recording));
      if (std::ranges::any_of(part.gains, [](double gain) { return gain != 1; })) {
        compared.scale(static_cast<std::int32_t>(q), part.gains);
        for (std::string& remark : remarks_on_gains(part.gains, of_query.gains, queries[q]))
          part.remarks.push_back(std::move(remark));
      }
      if (!part.gains.empty()) result.gains.push_back(part.gains);
      if (!part.tried.empty() && part.chosen().reading.rotated())
        compared.turn(static_cast<std::int32_t>(q),
                      of_query.sensors.empty() ? sensors_by_name(views[q].names) : of_query.sensors,
                      part.chosen().reading.turns);
      if (options.only_significant)
        std::erase_if(part.matches, [&](const Match& match) {
          return match.chance && *match.chance > options.find.significance;
        });
      append(std::move(part), q);
    }
    const Effort& effort = index.effort();
    if (effort.skipped > 0)
      found.remarks.push_back(
          fmt::format("{} of {} windows, of all pairs of channels, touch missing samples and were skipped",
                      effort.skipped, effort.windows));
    log(LogLevel::info, effort.choice);
    if (options.labels) return found;
  }
  std::ranges::stable_sort(found.matches, ranked_before);
  return found;
}

/// Onset and end of all matches.
void refine(std::vector<Match>& matches, std::span<const RecordedQuery> queries,
            const io::Recording& recording, const Signal& signal, const SearchOptions& options,
            ComparedQueries& compared) {
  std::vector<FindOptions> find;
  for (const RecordedQuery& query : queries) find.push_back(find_options(options, query, recording));
  std::vector<const Query*> of_matches;
  for (const Match& match : matches)
    of_matches.push_back(&compared.of(match, find[static_cast<std::size_t>(match.query)]));
  const RunScope scope(options.run);
  refine_all(signal, of_matches, matches, options.normalization,
             {.exclusion = options.find.exclusion, .shared = options.labels});
}

}  // namespace

std::string RecordedQuery::channel(std::int32_t index) const {
  const auto place = static_cast<std::size_t>(index);
  if (index < 0 || place >= names.size())
    throw BadInput(fmt::format("there is no channel {} of the query of {}: it has {}, counted from 0", index,
                               file.string(), names.size()));
  return signal::channel_name(names[place], place);
}

std::vector<std::string> RecordedQuery::channels() const {
  std::vector<std::string> all;
  for (const std::string& name : names) all.push_back(signal::channel_name(name, all.size()));
  return all;
}

std::string RecordedQuery::source() const {
  return fmt::format("{}, {:g} to {:g} {}", file.filename().string(), from, to, timed ? "s" : "samples");
}

RecordedQuery query_of_range(const io::Recording& recording, const fs::path& file, const std::string& label,
                             double from, double to) {
  return query_of_range(recording, signal_of(recording), file, label, from, to);
}

RecordedQuery query_of_range(const io::Recording& recording, const Signal& samples_of, const fs::path& file,
                             const std::string& label, double from, double to) {
  io::Recording part = signal::cut(recording, samples_of, from, to, file.string() + ": the query");
  const std::string unit = part.timed ? " s" : " samples";
  const auto count = std::ssize(part.channels[0].samples);
  if (count < kLeastSamples)
    throw BadInput(fmt::format("{}: the query, {:g}{} to {:g}{}, has {} samples; {} are the least",
                               file.string(), from, unit, to, unit, count, kLeastSamples));
  const double rate = part.channels[0].rate;
  const std::int64_t first = std::llround(from * rate);
  RecordedQuery query{label,
                      file,
                      rate,
                      part.timed,
                      static_cast<double>(first) / rate,
                      static_cast<double>(first + count) / rate,
                      {},
                      {}};
  for (io::Channel& channel : part.channels) {
    query.names.push_back(std::move(channel.name));
    query.units.push_back(std::move(channel.unit));
    const std::vector<float>& samples = query.samples.emplace_back(std::move(channel.samples));
    const auto missing = std::ranges::find_if(samples, [](float x) { return !std::isfinite(x); });
    if (missing == samples.end()) continue;
    const bool empty = std::ranges::none_of(samples, [](float x) { return std::isfinite(x); });
    const double at = static_cast<double>(first + (missing - samples.begin())) / rate;
    throw BadInput(
        fmt::format("{}: the query's {} {}; choose another range, or leave it out with `query_select`",
                    file.string(), query.channels().back(),
                    empty ? "has no samples at all, only missing ones"
                          : fmt::format("lacks samples, the first at {:g}{}", at, unit)));
  }
  return query;
}

std::vector<RecordedQuery> queries_labelled(const io::Recording& recording, const fs::path& file,
                                            const std::string& label, const std::string& name) {
  std::vector<RecordedQuery> queries;
  std::set<std::string> there;
  for (const auto& [onset, duration, other] : recording.annotations) {
    there.insert(other);
    if (other == label) queries.push_back(query_of_range(recording, file, label, onset, onset + duration));
  }
  if (!queries.empty()) return queries;
  throw BadInput(fmt::format("{}: no annotation '{}'; {}", name, label,
                             there.empty() ? "it has none: `label_column` names a column that holds them"
                                           : fmt::format("there are {}", fmt::join(there, ", "))));
}

std::vector<RecordedQuery> at_rate_of(const io::Recording& recording,
                                      std::span<const RecordedQuery> queries) {
  if (recording.channels.empty()) throw BadInput(fmt::format("{}: it has no channels", recording.name));
  const double rate = recording.channels[0].rate;
  std::vector<RecordedQuery> all(queries.begin(), queries.end());
  for (RecordedQuery& query : all) {
    if (!recording.timed || !query.timed || std::abs(query.rate - rate) <= kSameRate * rate) continue;
    io::Recording part;
    for (const std::vector<float>& samples : query.samples)
      part.channels.push_back({"", "", query.rate, samples});
    signal::resample(part, rate);
    for (std::size_t c = 0; c < part.channels.size(); ++c)
      query.samples[c] = std::move(part.channels[c].samples);
    query.rate = rate;
    if (query.length() < kLeastSamples)
      throw BadInput(
          fmt::format("the query of {} has {} samples at {:.6g} Hz, the rate of the recording; {} are the "
                      "least: give `resample` with a higher rate",
                      query.file.string(), query.length(), rate, kLeastSamples));
  }
  return all;
}

void match_rates(std::span<const RecordedQuery> queries, io::Recording& recording, const std::string& file) {
  if (recording.channels.empty()) throw BadInput(fmt::format("{}: it has no channels", file));
  for (const RecordedQuery& query : queries) {
    const double rate = recording.channels[0].rate;
    if (!recording.timed && query.timed) {
      for (io::Channel& channel : recording.channels) channel.rate = query.rate;
      recording.timed = true;
    } else if (recording.timed && query.timed && std::abs(query.rate - rate) > kSameRate * rate) {
      throw BadInput(fmt::format("{} has {:.6g} Hz and the query of {} {:.6g} Hz; give `resample` {:.6g}",
                                 file, rate, query.file.string(), query.rate, std::max(rate, query.rate)));
    }
  }
}

std::vector<Query> placed(std::span<const RecordedQuery> queries, const io::Recording& recording,
                          const std::string& file, bool by_number) {
  std::vector<Query> views;
  for (const RecordedQuery& query : queries)
    views.push_back({query.label,
                     {query.samples.begin(), query.samples.end()},
                     match_channels(query, recording, file, by_number),
                     query.names});
  return views;
}

std::vector<Interval> sources_in(std::span<const RecordedQuery> queries, const fs::path& file) {
  std::vector<Interval> sources;
  std::error_code error;
  const auto searched = io::series_path(file);
  for (const RecordedQuery& query : queries)
    if (const auto [source, series] = io::series_path(query.file);
        std::max(1, series) == std::max(1, searched.series) && fs::equivalent(source, searched.file, error))
      sources.push_back({query.from, query.to - query.from, query.label});
  return sources;
}

FindOptions find_options(const SearchOptions& options, const RecordedQuery& query,
                         const io::Recording& recording) {
  FindOptions find = options.find;
  const std::vector<std::string> names = signal::channel_names(recording), query_names = query.channels();
  if (!options.adjacency.empty())
    find.adjacency = signal::parse_adjacency(read_file(options.adjacency), options.adjacency, names);
  if (!options.weights.empty()) find.weights = read_weights(options.weights, names.size());
  if (options.lag_in_seconds) {
    if (!recording.timed || recording.channels.empty())
      throw BadInput(
          fmt::format("`max_lag` {}s: the rate is not known; give `rate`, or a share of the query's length",
                      find.max_lag));
    find.max_lag *= recording.channels[0].rate / static_cast<double>(query.length());
  }
  for (const std::string& sensor : options.sensors) find.sensors.push_back(parse_sensor(sensor, query_names));
  if (find.rotations > 0 && find.sensors.empty()) {
    if (query_names.size() != 3)
      throw BadInput(
          fmt::format("`rotations`: the query has {} channels; name a sensor's three with `sensor` x,y,z",
                      query_names.size()));
    find.sensors.push_back({0, 1, 2});
  }
  return find;
}

std::vector<Hit> make_hits(std::vector<Match> matches, double rate, std::span<const Interval> sources,
                           const SearchOptions& options) {
  constexpr double kSelfShare = Relevance().self_overlap;
  std::vector<Hit> hits;
  std::map<std::int32_t, std::int64_t> count;
  for (Match& match : matches) {
    Hit hit{std::move(match), 0, 0, false};
    const auto [first, last] = hit.match.boundaries();
    hit.onset = static_cast<double>(first) / rate;
    hit.duration = (static_cast<double>(last) - static_cast<double>(first)) / rate;
    for (const Interval& source : sources) {
      const double shared =
          std::min(hit.onset + hit.duration, source.end()) - std::max(hit.onset, source.onset);
      if (source.label == hit.match.label && shared > kSelfShare * hit.duration) hit.self = true;
    }
    if (hit.self && options.exclude_self) continue;
    if (++count[options.labels ? 0 : hit.match.query] > options.find.limit) continue;
    hits.push_back(std::move(hit));
  }
  return hits;
}

SearchResult search_recording(io::Recording& recording, const fs::path& file,
                              std::span<const RecordedQuery> given, const SearchOptions& options) {
  return search_recording(recording, signal_of(recording), file, given, options);
}

SearchResult search_recording(io::Recording& recording, const Signal& signal, const fs::path& file,
                              std::span<const RecordedQuery> given, const SearchOptions& options) {
  const std::string path = file.string();
  if (given.empty()) throw BadInput(fmt::format("{}: no query to search it for", path));
  require("limit", static_cast<double>(options.find.limit), 1, 1e9);
  require("exclusion", options.find.exclusion, 0, 1000);
  require("alternatives", options.find.alternatives, 1, 1e9);
  if (options.labels && options.match != MatchBy::free && !options.euclidean)
    throw BadInput("`labels` is of `match` free: give that");
  if (recording.channels.empty()) throw BadInput(fmt::format("{}: it has no channels", path));
  if (signal.size() != recording.channels.size())
    throw BadInput(
        fmt::format("{}: samples of {} channels for {}", path, signal.size(), recording.channels.size()));
  const std::vector<RecordedQuery> queries = at_rate_of(recording, given);
  match_rates(queries, recording, path);
  const auto samples = std::ssize(signal[0]);
  for (const std::span<const float> channel : signal)
    if (std::ssize(channel) != samples)
      throw BadInput(fmt::format("{}: channels of {} and {} samples: prepare the recording first", path,
                                 samples, channel.size()));
  for (const RecordedQuery& query : queries)
    if (query.length() > samples)
      throw BadInput(fmt::format(
          "{} has {} samples, and the query of {} {}: a query must not be longer than the recording", path,
          samples, query.file.string(), query.length()));
  const std::vector<Query> views = placed(queries, recording, path, options.by_number);
  const std::vector<Interval> sources = sources_in(queries, file);
  SearchResult result{"",
                      path,
                      recording.channels[0].rate,
                      recording.timed,
                      recording.begin,
                      samples,
                      signal::channel_names(recording),
                      {},
                      remarks_on_rates(given, queries),
                      {}};
  for (std::string& remark : remarks_on(recording, signal, path)) result.remarks.push_back(std::move(remark));

  // Results that overlap a source begin in it or less than one and a half queries before it, half a query
  // apart at most.
  const std::int64_t extra = options.exclude_self ? 6 * std::ssize(sources) * options.find.alternatives : 0;
  const auto start = std::chrono::steady_clock::now();
  ComparedQueries compared(views);
  Found found = find_all(options, queries, views, recording, signal, extra, file, result, compared);
  if (!options.euclidean) refine(found.matches, queries, recording, signal, options, compared);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.remarks.insert(result.remarks.end(), found.remarks.begin(), found.remarks.end());
  result.pairs = found.pairs;
  result.candidates = found.candidates;
  result.hits = make_hits(std::move(found.matches), result.rate, sources, options);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    RecordedQuery& one = result.compared.emplace_back(queries[q]);
    const Query& as_compared = compared[static_cast<std::int32_t>(q)];
    for (std::size_t c = 0; c < one.samples.size(); ++c)
      one.samples[c].assign(as_compared.channels[c].begin(), as_compared.channels[c].end());
  }
  return result;
}

const Hit& Ranked::operator*() const {
  if (result == nullptr || hit >= result->hits.size())
    throw BadInput(fmt::format(
        "hit {} of {}", hit, result == nullptr ? "no result" : fmt::format("{} hits", result->hits.size())));
  return result->hits[hit];
}

std::vector<Ranked> ranking(std::span<const SearchResult> results) {
  std::vector<Ranked> ranked;
  for (const SearchResult& result : results)
    for (std::size_t k = 0; k < result.hits.size(); ++k) ranked.push_back({&result, k});
  std::ranges::stable_sort(ranked, [](const Ranked& a, const Ranked& b) {
    const Match &x = (*a).match, &y = (*b).match;
    // Earlier means nothing between recordings.
    return x.coverage != y.coverage ? x.coverage > y.coverage : x.distance < y.distance;
  });
  return ranked;
}

}  // namespace warploom::search
