#include "warploom/search/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <optional>

#include "command.hpp"
#include "result.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::tool {
namespace {

/// Rows of numbers as they come: which column is which channel is settled by the first line.
class Rows {
 public:
  explicit Rows(const SearchSettings& settings) : settings_(settings) {}

  /// The first line: a header, or numbers. @return whether it was a header
  bool begin(const std::string& line) {
    separator_ = line.find(',') != line.npos    ? ','
                 : line.find(';') != line.npos  ? ';'
                 : line.find('\t') != line.npos ? '\t'
                                                : ' ';
    const std::vector<std::string> fields = fields_of(line);
    double number = 0;
    const bool header =
        std::ranges::any_of(fields, [&](const auto& f) { return !f.empty() && !parse_whole(f, number); });
    columns_ = fields.size();
    std::optional<std::size_t> time;
    if (!settings_.reading.time_column.empty() && settings_.reading.time_column != "none")
      time = find_channel(settings_.reading.time_column, header ? fields : std::vector<std::string>(columns_),
                          "--time-column");
    for (std::size_t c = 0; header && settings_.reading.time_column.empty() && c < columns_; ++c) {
      std::string name = fields[c].substr(0, fields[c].find_first_of(" [("));
      std::ranges::transform(name, name.begin(), [](unsigned char x) { return std::tolower(x); });
      if (!time && (name == "time" || name == "t" || name == "timestamp")) time = c;
    }
    std::vector<std::string> names;
    std::vector<std::size_t> places;
    for (std::size_t c = 0; c < columns_; ++c)
      if (c != time) {
        names.push_back(header ? fields[c] : "");
        places.push_back(c);
      }
    const std::vector<std::string>& select = settings_.reading.select;
    if (select.empty()) {
      names_ = names;
      used_ = places;
    }
    for (const std::string& word : select) {
      const auto index = static_cast<std::size_t>(find_channel(word, names, "--select"));
      names_.push_back(names[index]);
      used_.push_back(places[index]);
    }
    return header;
  }

  const std::vector<std::string>& names() const { return names_; }

  /// A row's samples; empty fields and what is not finite are missing.
  void parse(const std::string& line, std::int64_t number, std::vector<float>& samples) const {
    const std::vector<std::string> fields = fields_of(line);
    const auto where = [&] { return TextPosition{"<stdin>", static_cast<unsigned>(number), 1}; };
    if (fields.size() != columns_)
      throw ParseError(where(),
                       fmt::format("{} fields, where the first line has {}", fields.size(), columns_));
    samples.clear();
    for (const std::size_t column : used_) {
      double value = std::numeric_limits<double>::quiet_NaN();
      if (!fields[column].empty() && !parse_whole(fields[column], value))
        throw ParseError(where(), fmt::format("'{}' is no number", fields[column]));
      const auto sample = static_cast<float>(value);
      samples.push_back(std::isfinite(sample) ? sample : std::numeric_limits<float>::quiet_NaN());
    }
  }

 private:
  std::vector<std::string> fields_of(const std::string& line) const {
    std::vector<std::string> fields;
    for (const std::string& word : split(line, separator_)) {
      const std::size_t begin = word.find_first_not_of(" \t\r\"");
      if (begin == word.npos) {
        if (separator_ != ' ') fields.emplace_back();
        continue;
      }
      fields.push_back(word.substr(begin, word.find_last_not_of(" \t\r\"") + 1 - begin));
    }
    return fields;
  }

  const SearchSettings& settings_;
  char separator_ = ',';
  std::size_t columns_ = 0;
  std::vector<std::size_t> used_;  // columns that are channels
  std::vector<std::string> names_;
};

}  // namespace

int search_stream(const SearchSettings& settings) {
  const std::vector<LoadedQuery> queries = load_queries(settings);
  if (queries.size() > 1)
    throw BadInput(fmt::format("--stream takes one query, and there are {}", queries.size()));
  const LoadedQuery& query = queries[0];
  Rows rows(settings);
  std::optional<search::Stream> stream;
  SearchResult result;  // what matches are written with
  std::size_t rank = 0;
  const auto print_all = [&](std::vector<search::Match> matches) {
    for (Hit& hit : make_hits(std::move(matches), result.rate, {}, settings))
      print(as_json(hit, ++rank, result, queries).dump() + "\n");
    finish_output();
  };

  std::vector<float> samples;
  std::string line;
  for (std::int64_t number = 1; std::getline(std::cin, line); ++number) {
    check_interrupt();
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    if (!stream) {
      const bool header = rows.begin(line);
      io::Recording recording;
      for (const std::string& name : rows.names())
        recording.channels.push_back({name, "", settings.reading.rate.value_or(1), {}});
      recording.timed = settings.reading.rate.has_value();
      match_rates(queries, recording, "<stdin>");
      result.rate = recording.channels.at(0).rate;
      result.timed = recording.timed;
      result.channels = channel_names(recording);
      stream.emplace(
          static_cast<std::int32_t>(rows.names().size()),
          query.view(match_channels(query, recording, "<stdin>", settings.by_number)),
          find_options(settings, query, recording),
          search::IndexOptions{
              .run = settings.run, .normalization = settings.normalization, .prune = settings.prune});
      if (header) continue;
    }
    rows.parse(line, number, samples);
    search::Signal signal;
    for (const float& sample : samples) signal.emplace_back(&sample, 1);
    print_all(stream->push(signal));
  }
  check_interrupt();
  if (stream) print_all(stream->finish());
  return kDone;
}

}  // namespace warploom::tool
