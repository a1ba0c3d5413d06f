#include "input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <system_error>

#include "cli/verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/io/resample.hpp"
#include "warploom/io/table.hpp"

namespace warploom::tool {
namespace fs = std::filesystem;
namespace {

constexpr double kSameRate = 1e-3;  // relative; rates from time columns are no more exact

/// "walk" of "data/walk.csv.gz", "walk_3" of "data/walk.ts#3".
std::string stem_of(const fs::path& path) {
  const auto [file, series] = io::series_path(path);
  fs::path name = file.filename();
  if (name.extension() == ".gz") name = name.stem();
  return name.stem().string() + (series > 0 ? fmt::format("_{}", series) : "");
}

bool is_ts(const fs::path& path, const io::RecordingOptions& reading) {
  const fs::path plain = path.extension() == ".gz" ? path.stem() : path;
  return reading.format.empty() ? plain.extension() == ".ts" : reading.format == "ts";
}

bool is_recording(const fs::path& path) {
  const fs::path plain = path.extension() == ".gz" ? path.stem() : path;
  std::string ending = plain.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  if (ending == ".dat") return !fs::exists(fs::path(path).replace_extension(".hea"));
  static const std::set<std::string> endings{".csv", ".tsv", ".txt", ".npy", ".f32", ".raw",
                                             ".f64", ".ts",  ".edf", ".bdf", ".hea"};
  return endings.contains(ending);
}

/// The file that was named, of a WFDB record the header, which may be named without an ending or by its
/// samples.
fs::path file_named(const std::string& name) {
  std::error_code error;
  const fs::path path = name, header = fs::path(path).replace_extension(".hea");
  if (path.extension() == ".dat" && fs::exists(header, error)) return header;
  if (!name.empty() && !fs::exists(path, error) && fs::exists(name + ".hea", error)) return name + ".hea";
  return path;
}

std::vector<fs::path> recordings_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->is_regular_file(error) && is_recording(at->path())) files.push_back(at->path());
  if (error) throw BadInput(fmt::format("cannot read the folder {}: {}", folder.string(), error.message()));
  if (files.empty())
    throw BadInput(fmt::format(
        "{}: the folder holds no recording: no .csv .tsv .txt .npy .f32 .raw .f64 .ts .edf .bdf .hea or .dat",
        folder.string()));
  std::ranges::sort(files);
  return files;
}

/// The common name of all channels that have one: what is matched by name.
bool all_named(const std::vector<std::string>& names) {
  return std::ranges::none_of(names, &std::string::empty) &&
         std::set<std::string>(names.begin(), names.end()).size() == names.size();
}

std::vector<std::string> raw_names(const io::Recording& recording) {
  std::vector<std::string> names;
  for (const io::Channel& channel : recording.channels) names.push_back(channel.name);
  return names;
}

/// "3 channels (x, y, z)"
std::string channels_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  const std::size_t shown = std::min(names.size(), kMost);
  const std::string list =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return fmt::format("{} channel{} ({}{})", names.size(), names.size() == 1 ? "" : "s", list,
                     shown < names.size() ? ", ..." : "");
}

/// The samples of [from, to) as a query. @param number  of the example, for messages
LoadedQuery cut(const io::Recording& recording, const fs::path& file, const std::string& label, double from,
                double to) {
  LoadedQuery query;
  query.label = label;
  query.file = file;
  query.rate = recording.channels.at(0).rate;
  query.timed = recording.timed;
  query.names = raw_names(recording);
  const auto samples = std::ssize(recording.channels[0].samples);
  const double whole = static_cast<double>(samples) / query.rate;
  const std::string unit = query.timed ? " s" : " samples";
  if (from >= whole || to > whole + 0.5 / query.rate)
    throw BadInput(
        fmt::format("{}: the query's range, {:g}{} to {:g}{}, does not lie in the file, which ends at {:g}{}",
                    file.string(), from, unit, to, unit, whole, unit));
  const std::int64_t first = std::llround(from * query.rate),
                     last = std::min<std::int64_t>(samples, std::llround(to * query.rate));
  constexpr std::int64_t kLeastSamples = 4;
  if (last - first < kLeastSamples)
    throw BadInput(fmt::format("{}: the query, {:g}{} to {:g}{}, has {} samples; {} are the least",
                               file.string(), from, unit, to, unit, std::max<std::int64_t>(last - first, 0),
                               kLeastSamples));
  query.from = static_cast<double>(first) / query.rate;
  query.to = static_cast<double>(last) / query.rate;
  const std::vector<std::string> names = channel_names(recording);
  for (std::size_t c = 0; c < recording.channels.size(); ++c) {
    const std::vector<float>& all = recording.channels[c].samples;
    auto& part = query.samples.emplace_back(all.begin() + first, all.begin() + last);
    const auto missing = std::ranges::find_if(part, [](float x) { return !std::isfinite(x); });
    if (missing == part.end()) continue;
    const bool empty = std::ranges::none_of(part, [](float x) { return std::isfinite(x); });
    const double at = static_cast<double>(first + (missing - part.begin())) / query.rate;
    throw BadInput(
        fmt::format("{}: the query's {} {}; choose another range, or leave it out with --query-select",
                    file.string(), names[c],
                    empty ? "has no samples at all, only missing ones"
                          : fmt::format("lacks samples, the first at {:g}{}", at, unit)));
  }
  return query;
}

/// Of --adjacency: a line a channel and those beside it.
std::vector<std::vector<std::int32_t>> read_adjacency(const std::string& file,
                                                      const std::vector<std::string>& names) {
  std::vector<std::vector<std::int32_t>> adjacency(names.size());
  for (std::size_t c = 0; c < names.size(); ++c) adjacency[c].push_back(static_cast<std::int32_t>(c));
  const std::string text = read_file(file);
  unsigned number = 0;
  for (std::string line : split(text, '\n')) {
    ++number;
    line.resize(std::min(line.find('#'), line.size()));
    std::vector<std::int32_t> listed;
    for (std::string word : split(line, ',')) {
      const std::size_t begin = word.find_first_not_of(" \t\r");
      if (begin == word.npos) continue;
      word = word.substr(begin, word.find_last_not_of(" \t\r") + 1 - begin);
      listed.push_back(find_channel(word, names, fmt::format("{}:{}", file, number)));
    }
    if (listed.empty()) continue;
    auto& beside = adjacency[static_cast<std::size_t>(listed[0])];
    for (const std::int32_t channel : listed)
      if (std::ranges::count(beside, channel) == 0) beside.push_back(channel);
  }
  for (auto& beside : adjacency) std::ranges::sort(beside);
  return adjacency;
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

search::SensorAxes parse_sensor(const std::string& text, const std::vector<std::string>& names) {
  const std::vector<std::string> axes = split(text, ',');
  if (axes.size() != 3)
    throw BadInput(fmt::format("--sensor {}: three channels are expected, as x,y,z", text));
  return {find_channel(axes[0], names, "--sensor"), find_channel(axes[1], names, "--sensor"),
          find_channel(axes[2], names, "--sensor")};
}

}  // namespace

std::string LoadedQuery::channel(std::int32_t index) const {
  const std::string& name = names[static_cast<std::size_t>(index)];
  return name.empty() ? fmt::format("channel {}", index + 1) : name;
}

std::string LoadedQuery::source() const {
  return fmt::format("{}, {:g} to {:g} {}", file.filename().string(), from, to, timed ? "s" : "samples");
}

search::Query LoadedQuery::view(std::vector<std::int32_t> places) const {
  return {label, {samples.begin(), samples.end()}, std::move(places), names};
}

std::vector<RecordingFile> list_recordings(const SearchSettings& settings) {
  std::vector<RecordingFile> recordings;
  std::error_code error;
  const auto add = [&](const fs::path& file) {
    if (settings.reading.series != kAllSeries || !is_ts(file, settings.reading))
      return recordings.push_back({file, stem_of(file)});
    const std::vector<fs::path> all = io::series_of(file);
    if (all.empty()) throw BadInput(fmt::format("{}: it holds no series", file.string()));
    for (const fs::path& path : all) recordings.push_back({path, stem_of(path)});
  };
  for (const std::string& input : settings.inputs) {
    if (fs::is_directory(input, error)) {
      for (const fs::path& path : recordings_of(input)) add(path);
      continue;
    }
    const fs::path file = file_named(input);
    if (!fs::exists(io::series_path(file).file, error))
      throw BadInput(fmt::format("cannot read {}: {}", input.empty() ? "''" : input,
                                 error ? error.message() : "there is no such file"));
    add(file);
  }
  std::map<std::string, int> count;
  for (const RecordingFile& recording : recordings) ++count[recording.name];
  for (RecordingFile& recording : recordings)  // sub1/walk.csv and sub2/walk.csv
    if (count[recording.name] > 1 && recording.path.has_parent_path())
      recording.name = fs::absolute(recording.path).parent_path().filename().string() + "_" + recording.name;
  std::map<std::string, fs::path> seen;
  for (const RecordingFile& recording : recordings)
    if (const auto [other, added] = seen.emplace(recording.name, recording.path); !added)
      throw BadInput(fmt::format("{} and {} would both be reported as '{}': search them one after the other",
                                 other->second.string(), recording.path.string(), recording.name));
  return recordings;
}

io::Recording read_prepared(const fs::path& path, const io::RecordingOptions& reading,
                            const SearchSettings& settings) {
  io::Recording recording = io::read_recording(path, reading);
  const std::string file = path.string();
  if (recording.channels.empty()) throw BadInput(fmt::format("{}: it has no channels", file));
  const double common = io::common_rate(recording);
  if (settings.resample) {
    if (!recording.timed)
      throw BadInput(
          fmt::format("{}: its rate is not known, so that --resample cannot change it; give --rate", file));
    io::resample(recording, *settings.resample);
  } else if (std::ranges::any_of(recording.channels,
                                 [&](const auto& channel) { return channel.rate != common; })) {
    io::resample(recording, common);
  }
  std::size_t shortest = recording.channels[0].samples.size();
  for (const io::Channel& channel : recording.channels) shortest = std::min(shortest, channel.samples.size());
  for (io::Channel& channel : recording.channels) channel.samples.resize(shortest);
  if (shortest == 0) throw BadInput(fmt::format("{}: it has no samples", file));
  if ((settings.low || settings.high) && !recording.timed)
    throw BadInput(
        fmt::format("{}: its rate is not known, and corners of a filter are in Hz; give --rate", file));
  try {
    for (io::Channel& channel : recording.channels) {
      if (settings.low || settings.high) io::filter(channel, settings.low, settings.high);
      if (settings.detrend) io::detrend(channel);
    }
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{}: {}", file, error.what()));
  }
  return recording;
}

std::vector<LoadedQuery> load_queries(const SearchSettings& settings) {
  io::RecordingOptions reading = settings.reading;
  if (!settings.query_select.empty()) reading.select = settings.query_select;
  std::vector<LoadedQuery> queries;
  io::Recording recording;
  fs::path read;
  for (const QuerySource& source : settings.queries) {
    const fs::path file = file_named(source.file);
    if (reading.series == kAllSeries && is_ts(file, reading))
      throw BadInput(
          fmt::format("{}: --series all is for recordings, and a query is one series: say which, as {}#1",
                      file.string(), file.filename().string()));
    if (read != file) recording = read_prepared(read = file, reading, settings);
    if (settings.examples.empty()) {
      queries.push_back(cut(recording, file, source.label.empty() ? stem_of(file) : source.label,
                            source.from.value_or(0), source.to.value_or(recording.seconds())));
      continue;
    }
    for (const std::string& label : settings.examples) {
      const std::size_t before = queries.size();
      std::set<std::string> there;
      for (const io::Annotation& annotation : recording.annotations) {
        there.insert(annotation.label);
        if (annotation.label == label)
          queries.push_back(
              cut(recording, file, label, annotation.onset, annotation.onset + annotation.duration));
      }
      if (queries.size() == before)
        throw BadInput(fmt::format("{}: no annotation '{}'; {}", source.file, label,
                                   there.empty()
                                       ? "it has none: --label-column names a column that holds them"
                                       : fmt::format("there are {}", fmt::join(there, ", "))));
    }
  }
  return queries;
}

void match_rates(const std::vector<LoadedQuery>& queries, io::Recording& recording, const std::string& file) {
  for (const LoadedQuery& query : queries) {
    const double rate = recording.channels[0].rate;
    if (!recording.timed && query.timed) {
      for (io::Channel& channel : recording.channels) channel.rate = query.rate;
      recording.timed = true;
    } else if (recording.timed && query.timed && std::abs(query.rate - rate) > kSameRate * rate) {
      throw BadInput(fmt::format("{} has {:.6g} Hz and the query of {} {:.6g} Hz; give --resample {:.6g}",
                                 file, rate, query.file.string(), query.rate, std::max(rate, query.rate)));
    }
  }
}

std::vector<std::int32_t> match_channels(const LoadedQuery& query, const io::Recording& recording,
                                         const std::string& file, bool by_number) {
  const std::vector<std::string> names = raw_names(recording);
  std::vector<std::int32_t> places;
  if (by_number || !all_named(names) || !all_named(query.names)) {
    if (query.names.size() > names.size())
      throw BadInput(fmt::format("{} has {}, the query of {} {}: choose with --query-select or --select",
                                 file, channels_text(channel_names(recording)), query.file.string(),
                                 query.names.size()));
    for (std::size_t c = 0; c < query.names.size(); ++c) places.push_back(static_cast<std::int32_t>(c));
    return places;
  }
  for (const std::string& name : query.names) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end())
      throw BadInput(
          fmt::format("{} has no channel '{}' of the query of {}, but {}: choose with --query-select and "
                      "--select, or give --channels-by number",
                      file, name, query.file.string(), channels_text(names)));
    places.push_back(static_cast<std::int32_t>(found - names.begin()));
  }
  return places;
}

std::vector<search::Interval> sources_in(const std::vector<LoadedQuery>& queries, const fs::path& file) {
  std::vector<search::Interval> sources;
  std::error_code error;
  const auto searched = io::series_path(file);
  for (const LoadedQuery& query : queries)
    if (const auto [source, series] = io::series_path(query.file);
        std::max(1, series) == std::max(1, searched.series) && fs::equivalent(source, searched.file, error))
      sources.push_back({query.from, query.to - query.from, query.label});
  return sources;
}

search::FindOptions find_options(const SearchSettings& settings, const LoadedQuery& query,
                                 const io::Recording& recording) {
  search::FindOptions options = settings.find;
  const std::vector<std::string> names = channel_names(recording);
  if (!settings.adjacency.empty()) options.adjacency = read_adjacency(settings.adjacency, names);
  if (!settings.weights.empty()) options.weights = read_weights(settings.weights, names.size());
  if (settings.lag_in_seconds) {
    if (!recording.timed)
      throw BadInput(
          fmt::format("--max-lag {}s: the rate is not known; give --rate, or a share of the query's length",
                      options.max_lag));
    options.max_lag *= recording.channels[0].rate / static_cast<double>(query.length());
  }
  std::vector<std::string> query_names;
  for (std::size_t c = 0; c < query.names.size(); ++c)
    query_names.push_back(query.channel(static_cast<std::int32_t>(c)));
  for (const std::string& sensor : settings.sensors)
    options.sensors.push_back(parse_sensor(sensor, query_names));
  if (options.rotations > 0 && options.sensors.empty()) {
    if (query_names.size() != 3)
      throw BadInput(
          fmt::format("--rotations: the query has {} channels; name a sensor's three with --sensor x,y,z",
                      query_names.size()));
    options.sensors.push_back({0, 1, 2});
  }
  return options;
}

std::int32_t find_channel(const std::string& word, const std::vector<std::string>& names,
                          const std::string& what) {
  if (const auto named = std::ranges::find(names, word); named != names.end())
    return static_cast<std::int32_t>(named - names.begin());
  std::int32_t number = 0;
  if (parse_whole(word, number) && number >= 1 && number <= std::ssize(names)) return number - 1;
  throw BadInput(fmt::format("{}: '{}' is none of {}", what, word, channels_text(names)));
}

std::vector<std::string> channel_names(const io::Recording& recording) {
  std::vector<std::string> names = raw_names(recording);
  for (std::size_t c = 0; c < names.size(); ++c)
    if (names[c].empty()) names[c] = fmt::format("channel {}", c + 1);
  return names;
}

}  // namespace warploom::tool
