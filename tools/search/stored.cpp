#include "stored.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "cli/verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/json/json.hpp"

namespace warploom::tool {
namespace {

using search::StoredMatches;

search::Interval interval_of(const Json& json) {
  search::Interval interval{json.at("onset").get<double>(), json.at("duration").get<double>(),
                            json.at("label").get<std::string>()};
  if (!std::isfinite(interval.onset) || !(interval.duration >= 0) || !std::isfinite(interval.duration))
    throw BadInput("no time");
  return interval;
}

StoredMatches read_lines(const std::string& text, const std::string& file) {
  StoredMatches stored;
  unsigned line = 0;
  std::size_t promised = 0;
  try {
    for (const std::string& row : split(text, '\n')) {
      ++line;
      if (row.empty()) continue;
      const Json json = Json::parse(row);
      if (line > 1) {
        stored.matches.push_back(interval_of(json));
        continue;
      }
      stored.name = json.at("recording").get<std::string>();
      stored.file = json.at("file").get<std::string>();
      promised = json.at("matches").get<std::size_t>();
      for (const Json& query : json.at("stamp").at("queries").elements())
        stored.labels.push_back(query.at("label").get<std::string>());
      for (const Json& source : json.at("sources").elements()) stored.sources.push_back(interval_of(source));
    }
  } catch (const Error&) {
    throw ParseError(
        {file, line, 1},
        line == 1 ? "its first line is not one that warploom search writes in NAME.matches.jsonl"
                  : "this is no match as warploom search writes it; search again, or give the file as CSV "
                    "with columns onset, duration and label");
  }
  if (stored.matches.size() != promised)
    throw BadInput(fmt::format("{}: {} matches, where its first line says {}: it was cut off", file,
                               stored.matches.size(), promised));
  return stored;
}

/// The fields of a CSV row, quoted or not.
std::vector<std::string> fields_of(const std::string& row) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t k = 0; k < row.size(); ++k) {
    const char c = row[k];
    if (c == '"' && quoted && k + 1 < row.size() && row[k + 1] == '"')
      fields.back() += row[++k];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else if (c != '\r')
      fields.back() += c;
  }
  return fields;
}

StoredMatches read_csv(const std::string& text, const std::string& file) {
  const std::vector<std::string> rows = split(text, '\n');
  const std::vector<std::string> header = fields_of(rows[0]);
  const auto column = [&](std::string_view name) -> std::optional<std::size_t> {
    const auto found = std::ranges::find(header, name);
    if (found == header.end()) return std::nullopt;
    return static_cast<std::size_t>(found - header.begin());
  };
  const auto onset = column("onset"), duration = column("duration"), label = column("label"),
             rank = column("rank"), self = column("self");
  if (!onset || !duration || !label)
    throw BadInput(
        fmt::format("{}: no results: its first line names no columns onset, duration and label", file));
  if (column("recording"))
    throw BadInput(fmt::format("{}: it is about several recordings; give the files of each", file));
  StoredMatches stored;
  std::string last_rank;
  for (std::size_t k = 1; k < rows.size(); ++k) {
    if (rows[k].empty() || rows[k] == "\r") continue;
    const std::vector<std::string> fields = fields_of(rows[k]);
    const TextPosition where{file, static_cast<unsigned>(k + 1), 1};
    if (fields.size() != header.size())
      throw ParseError(where,
                       fmt::format("{} fields, where the first line has {}", fields.size(), header.size()));
    search::Interval match;
    match.label = fields[*label];
    if (!parse_whole(fields[*onset], match.onset) || !parse_whole(fields[*duration], match.duration) ||
        !std::isfinite(match.onset) || !(match.duration >= 0) || !std::isfinite(match.duration))
      throw ParseError(where, fmt::format("onset '{}' and duration '{}' are no times in seconds",
                                          fields[*onset], fields[*duration]));
    if (self && fields[*self] != "0") continue;
    if (rank && !stored.matches.empty() && fields[*rank] == last_rank) continue;
    if (rank) last_rank = fields[*rank];
    stored.matches.push_back(std::move(match));
  }
  return stored;
}

}  // namespace

search::StoredMatches read_matches(const std::filesystem::path& path) {
  const std::string text = read_file(path), file = path.string();
  StoredMatches stored = text.starts_with('{') ? read_lines(text, file) : read_csv(text, file);
  if (!stored.name.empty()) return stored;
  stored.name = path.filename().string();
  for (const std::string_view ending : {".matches.csv", ".annotations.csv", ".csv"})
    if (stored.name.ends_with(ending)) {
      stored.name.resize(stored.name.size() - ending.size());
      break;
    }
  return stored;
}

}  // namespace warploom::tool
