#include "warploom/signal/prepare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <sstream>

#include "warploom/core/error.hpp"
#include "warploom/core/parse.hpp"
#include "warploom/signal/filter.hpp"

namespace warploom::signal {

void prepare(io::Recording& recording, const PrepareOptions& options, const std::string& name) {
  if (recording.channels.empty()) throw BadInput(fmt::format("{}: it has no channels", name));
  if (options.resample && !recording.timed)
    throw BadInput(
        fmt::format("{}: its rate is not known, so that `resample` cannot change it; give `rate`", name));
  // Also where all have it: they end with the shortest.
  resample(recording, options.resample.value_or(common_rate(recording)));
  if (recording.channels[0].samples.empty()) throw BadInput(fmt::format("{}: it has no samples", name));
  if ((options.low || options.high) && !recording.timed)
    throw BadInput(
        fmt::format("{}: its rate is not known, and corners of a filter are in Hz; give `rate`", name));
  try {
    for (io::Channel& channel : recording.channels) {
      filter(channel, options.low, options.high);
      if (options.detrend) detrend(channel);
    }
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{}: {}", name, error.what()));
  }
}

io::Recording read_prepared(const std::filesystem::path& path, const io::RecordingOptions& reading,
                            const PrepareOptions& options) {
  io::Recording recording = io::read_recording(path, reading);
  prepare(recording, options, path.string());
  return recording;
}

io::Recording cut(const io::Recording& recording, double from, double to, const std::string& what) {
  std::vector<std::span<const float>> values;
  for (const io::Channel& channel : recording.channels) values.emplace_back(channel.samples);
  return cut(recording, values, from, to, what);
}

io::Recording cut(const io::Recording& recording, std::span<const std::span<const float>> values, double from,
                  double to, const std::string& what) {
  if (recording.channels.empty()) throw BadInput(fmt::format("{}: the recording has no channels", what));
  if (values.size() != recording.channels.size())
    throw BadInput(fmt::format("{}: samples of {} channels, and the recording has {}", what, values.size(),
                               recording.channels.size()));
  const double rate = recording.channels[0].rate;
  const auto samples = std::ssize(values[0]);
  for (std::size_t c = 0; c < values.size(); ++c)
    if (recording.channels[c].rate != rate || std::ssize(values[c]) != samples)
      throw BadInput(
          fmt::format("{}: channels of {} and {} samples, at {} and {} Hz: prepare the recording first", what,
                      samples, values[c].size(), rate, recording.channels[c].rate));
  const double whole = static_cast<double>(samples) / rate;
  const std::string unit = recording.timed ? " s" : " samples";
  if (!(from >= 0 && from < whole) || !(to <= whole + 0.5 / rate))
    throw BadInput(fmt::format("{}'s range, {:g}{} to {:g}{}, does not lie in the file, which ends at {:g}{}",
                               what, from, unit, to, unit, whole, unit));
  const std::int64_t first = std::min<std::int64_t>(samples, std::llround(from * rate)),
                     last = std::clamp<std::int64_t>(std::llround(std::max(to, from) * rate), first, samples);
  io::Recording part{recording.name, {}, {}, recording.timed, 0};
  for (std::size_t c = 0; c < values.size(); ++c) {
    const auto begin = values[c].begin();
    part.channels.push_back(
        {recording.channels[c].name, recording.channels[c].unit, rate, {begin + first, begin + last}});
  }
  part.begin = recording.begin;
  if (part.begin) part.begin->nanoseconds += std::llround(static_cast<double>(first) / rate * 1e9);
  const double begin = static_cast<double>(first) / rate, end = static_cast<double>(last) / rate;
  for (const auto& [onset, duration, label] : recording.annotations)
    if (onset >= begin && onset < end) part.annotations.push_back({onset - begin, duration, label});
  return part;
}

std::string channel_name(const std::string& name, std::size_t index) {
  return name.empty() ? fmt::format("channel {}", index + 1) : name;
}

std::vector<std::string> channel_names(const io::Recording& recording) {
  std::vector<std::string> names;
  for (const io::Channel& channel : recording.channels)
    names.push_back(channel_name(channel.name, names.size()));
  return names;
}

std::string channels_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  return fmt::format("{} channel{} ({}{})", names.size(), names.size() == 1 ? "" : "s",
                     fmt::join(std::span(names).first(std::min(names.size(), kMost)), ", "),
                     names.size() > kMost ? ", ..." : "");
}

std::int32_t find_channel(const std::string& word, const std::vector<std::string>& names,
                          const std::string& what) {
  if (const auto named = std::ranges::find(names, word); named != names.end())
    return static_cast<std::int32_t>(named - names.begin());
  std::int32_t number = 0;
  if (parse_whole(word, number) && number >= 1 && number <= std::ssize(names)) return number - 1;
  throw BadInput(fmt::format("{}: '{}' is none of {}", what, word, channels_text(names)));
}

std::vector<std::vector<std::int32_t>> parse_adjacency(std::string_view text, const std::string& file,
                                                       const std::vector<std::string>& names) {
  std::vector<std::set<std::int32_t>> beside(names.size());
  for (std::size_t c = 0; c < names.size(); ++c) beside[c].insert(static_cast<std::int32_t>(c));
  std::istringstream lines{std::string(text)};
  unsigned number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line.resize(std::min(line.find('#'), line.size()));
    std::vector<std::int32_t> listed;
    std::istringstream words(line);
    for (std::string word; std::getline(words, word, ',');) {
      const std::size_t begin = word.find_first_not_of(" \t\r");
      if (begin == word.npos) continue;
      word = word.substr(begin, word.find_last_not_of(" \t\r") + 1 - begin);
      listed.push_back(find_channel(word, names, fmt::format("{}:{}", file, number)));
    }
    if (!listed.empty()) beside[static_cast<std::size_t>(listed[0])].insert(listed.begin(), listed.end());
  }
  std::vector<std::vector<std::int32_t>> adjacency;
  for (const auto& channels : beside) adjacency.emplace_back(channels.begin(), channels.end());
  return adjacency;
}

}  // namespace warploom::signal
