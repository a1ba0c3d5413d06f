#include "output.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <system_error>

#include "cli/content_hash.hpp"
#include "cli/output_files.hpp"
#include "cli/verb.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom::tool {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFormat = "warploom search 3";

std::string line_of(const Json& json) { return json.dump() + "\n"; }

/// The first member in which two stamps differ: "band was 0.1, and is 0.05".
std::string difference(const Json& was, const Json& is) {
  for (const auto& [name, value] : is.items()) {
    if (!was.contains(name)) return fmt::format("{} was not given, and is {}", name, value.dump());
    if (was.at(name) == value) continue;
    if (name == "recording_hash") return "the recording's content changed since, and its size did not";
    if (value.is_object()) return difference(was.at(name), value);
    if (value.is_array()) return fmt::format("other {}", name);
    return fmt::format("{} was {}, and is {}", name, was.at(name).dump(), value.dump());
  }
  for (const auto& [name, value] : was.items())
    if (!is.contains(name)) return fmt::format("{} was {}, and is not given", name, value.dump());
  return "";
}

}  // namespace

fs::path SearchOutput::path(const std::string& name, const std::string& ending) const {
  return fs::path(settings_.output) / (name + ending);
}

Json SearchOutput::stamp(const fs::path& recording) const {
  Json options = Json::object();
  for (const auto& [name, value] : described(settings_)) options[name] = value;
  for (const auto& [name, file] : {std::pair{"adjacency", settings_.adjacency}, {"alpha", settings_.weights}})
    if (!file.empty()) options[name] = content_hash_of(file);
  Json queries = as_json(queries_);
  for (Json& query : queries.elements()) query.erase("file");  // may be named otherwise from another folder
  std::uint64_t bytes = 0;
  ContentHash hash;
  std::error_code error;
  for (const fs::path& part : io::recording_parts(recording, settings_.reading)) {
    if (!fs::is_regular_file(part, error)) continue;  // a pipe can be read once
    const InputFile file(part);
    std::string piece(1 << 20, '\0');
    std::uint64_t at = 0;
    while (const std::size_t count = file.read_at(at, piece)) {
      hash.add(std::string_view(piece).substr(0, count));
      at += count;
    }
    bytes += at;
  }
  return {{"recording_bytes", bytes},
          {"recording_hash", hash.text()},
          {"options", options},
          {"queries", queries}};
}

SearchOutput::SearchOutput(const SearchSettings& settings, const std::vector<RecordedQuery>& queries,
                           const std::vector<io::RecordingFile>& recordings)
    : settings_(settings), queries_(queries) {
  std::error_code error;
  fs::create_directories(settings.output, error);
  if (error || !fs::is_directory(settings.output, error))
    throw BadInput(fmt::format("cannot make the folder {}: {}", settings.output,
                               error ? error.message() : "there is a file of that name"));
  OutputFiles().add(path("ranking", ".csv"), true);  // permission is better known now than later
  for (const io::RecordingFile& recording : recordings)
    if (settings.resume) load(recording);
  if (settings.resume || settings.force) return;
  const auto refuse = [&](const fs::path& file) {
    if (fs::exists(file, error))
      throw BadInput(fmt::format(
          "{} exists; give --resume to go on with what is not finished, --force to replace it, or another folder",
          file.string()));
  };
  for (const io::RecordingFile& recording : recordings)
    for (const char* ending : {".matches.jsonl", ".matches.csv", ".annotations.csv", ".html"})
      refuse(path(recording.name, ending));
  refuse(path("ranking", ".csv"));
}

void SearchOutput::load(const io::RecordingFile& recording) {
  const fs::path file = path(recording.name, ".matches.jsonl");
  std::error_code error;
  if (!fs::exists(file, error)) return;
  const std::vector<std::string> lines = split(read_file(file), '\n');
  const Json now = stamp(recording.path);
  SearchResult result;
  std::string other;
  bool complete = false;
  try {
    const Json head = Json::parse(lines[0]);
    if (head.at("format") != kFormat) throw std::invalid_argument("format");
    other = difference(head.at("stamp"), now);
    result.name = recording.name;
    result.path = recording.path.string();
    result.timed = !head.at("rate").is_null();
    result.rate = result.timed ? head.at("rate").get<double>() : 1;
    if (head.contains("begin") && !head.at("begin").is_null())
      result.begin = io::parse_clock(head.at("begin").get<std::string>());
    head.at("samples").to(result.samples);
    head.at("channels").to(result.channels);
    head.at("seconds").to(result.seconds);
    head.at("remarks").to(result.remarks);
    result.readings = readings_from_json(head.at("readings"));
    if (head.contains("gains")) head.at("gains").to(result.gains);
    for (std::size_t k = 1; other.empty() && k < lines.size(); ++k)
      if (!lines[k].empty()) result.hits.push_back(hit_from_json(Json::parse(lines[k]), result, queries_));
    complete = result.hits.size() == head.at("matches").get<std::size_t>();
  } catch (const std::exception&) {
    throw BadInput(fmt::format("{} is no output of a search; give --force to replace it, or another folder",
                               file.string()));
  }
  if (!other.empty())
    throw BadInput(fmt::format("{} is of another search: {}; give --force to replace it, or another folder",
                               file.string(), other));
  if (complete && (!settings_.html || fs::exists(path(recording.name, ".html"), error)))
    finished_[recording.name] = std::move(result);
}

const SearchResult* SearchOutput::finished(const io::RecordingFile& recording) const {
  const auto found = finished_.find(recording.name);
  return found == finished_.end() ? nullptr : &found->second;
}

void SearchOutput::write(const SearchResult& result, const Json& stamp,
                         const std::function<std::string()>& page) const {
  Json head{{"format", kFormat},
            {"recording", result.name},
            {"file", fs::absolute(result.path).string()},
            {"rate", result.timed ? Json(result.rate) : Json(nullptr)},
            {"begin", result.begin ? Json(io::clock_text(*result.begin, 0)) : Json(nullptr)},
            {"samples", result.samples},
            {"channels", result.channels},
            {"seconds", result.seconds},
            {"remarks", result.remarks},
            {"readings", readings_json(result)},
            {"gains", result.gains},
            {"matches", result.hits.size()},
            {"stamp", stamp}};
  Json sources = Json::array();
  for (const search::Interval& source : search::sources_in(queries_, result.path))
    sources.push_back({{"onset", source.onset}, {"duration", source.duration}, {"label", source.label}});
  head["sources"] = std::move(sources);
  std::string lines = line_of(head);
  for (std::size_t k = 0; k < result.hits.size(); ++k)
    lines += line_of(as_json(result.hits[k], k + 1, result, queries_));

  OutputFiles files;
  const auto put = [&](const std::string& ending, const std::function<std::string()>& content) {
    const fs::path file = path(result.name, ending);
    files.add(file, settings_.resume || settings_.force);
    files.write(file, [&](const fs::path& staged) { write_file_atomically(staged, content()); });
  };
  if (settings_.html) put(".html", page);
  put(".matches.csv", [&] { return pairs_csv(result, queries_); });
  put(".annotations.csv", [&] { return annotations_csv(result); });
  put(".matches.jsonl", [&] { return lines; });
  files.commit();
}

void SearchOutput::write_ranking(const std::vector<SearchResult>& results) const {
  write_file_atomically(path("ranking", ".csv"), ranking_csv(results));
}

}  // namespace warploom::tool
