#include "record.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <system_error>

#include "cli/content_hash.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/json/json.hpp"

namespace warploom::tool {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFormat = "warploom cohort 1";

Json as_json(const std::vector<RecordedFile>& files) {
  Json all = Json::array();
  for (const RecordedFile& file : files)
    all.push_back({{"path", file.path.string()},
                   {"bytes", file.bytes},
                   {"modified", file.modified},
                   {"xxh64", file.hash}});
  return all;
}

std::vector<RecordedFile> files_of(const Json& json) {
  std::vector<RecordedFile> files;
  for (const Json& file : json.elements())
    files.push_back({file.at("path").get<std::string>(), file.at("bytes").get<std::uint64_t>(),
                     file.at("modified").get<std::int64_t>(), file.at("xxh64").get<std::string>()});
  return files;
}

/// Written under a name that only this claim has, then renamed.
void replace(const fs::path& path, const std::string& text, const std::string& tag) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  const fs::path staged = path.parent_path() / fmt::format(".{}.json", tag);
  std::ofstream file(staged, std::ios::binary);
  file << text;
  file.close();
  if (file) fs::rename(staged, path, error);
  if (!file || error) {
    std::error_code ignored;
    fs::remove(staged, ignored);
    throw BadInput(
        fmt::format("cannot write {}: {}", path.string(), error ? error.message() : "is the disk full?"));
  }
}

std::int64_t modified(const fs::path& file) {
  std::error_code error;
  return static_cast<std::int64_t>(fs::last_write_time(file, error).time_since_epoch().count());
}

}  // namespace

std::optional<CohortRecord> CohortRecords::read(const std::string& item) const {
  std::error_code error;
  if (!fs::exists(record_path(item), error)) return std::nullopt;
  try {
    const Json json = Json::parse(read_file(record_path(item)));
    if (json.at("format").get<std::string>() != kFormat) return std::nullopt;
    return CohortRecord{item,
                        json.at("command").get<std::vector<std::string>>(),
                        json.at("version").get<std::string>(),
                        files_of(json.at("inputs")),
                        files_of(json.at("outputs")),
                        json.at("seconds").get<double>(),
                        json.at("host").get<std::string>(),
                        json.at("worker").get<std::string>(),
                        json.at("error").get<std::string>()};
  } catch (const Error&) {
    return std::nullopt;  // of another version, or damaged: the item is done again
  }
}

void CohortRecords::write(const CohortRecord& record, const std::string& tag) const {
  replace(record_path(record.item),
          Json({{"format", kFormat},
                {"item", record.item},
                {"command", record.words},
                {"version", record.version},
                {"inputs", as_json(record.inputs)},
                {"outputs", as_json(record.outputs)},
                {"seconds", record.seconds},
                {"host", record.host},
                {"worker", record.worker},
                {"error", record.error}})
                  .dump(2) +
              "\n",
          tag);
}

void CohortRecords::write_intent(const std::string& item, const std::vector<fs::path>& outputs,
                                 const std::string& tag) const {
  Json paths = Json::array();
  for (const fs::path& path : outputs) paths.push_back(path.string());
  replace(intent_path(item), paths.dump(2) + "\n", tag);
}

std::vector<fs::path> CohortRecords::intent(const std::string& item) const {
  std::vector<fs::path> paths;
  if (!has_intent(item)) return paths;
  try {
    for (const std::string& path : Json::parse(read_file(intent_path(item))).get<std::vector<std::string>>())
      paths.emplace_back(path);
  } catch (const Error&) {
    // It got its name before it was complete only if the machine went down.
  }
  return paths;
}

bool CohortRecords::has_intent(const std::string& item) const {
  std::error_code error;
  return fs::exists(intent_path(item), error);
}

void CohortRecords::remove_intent(const std::string& item) const {
  std::error_code error;
  fs::remove(intent_path(item), error);
}

RecordedFile recorded(const fs::path& file) {
  std::error_code error;
  const std::int64_t time = modified(file);
  const std::uint64_t bytes = fs::file_size(file, error);
  return {file, bytes, time, content_hash_of(file)};
}

bool is_unchanged(const RecordedFile& file, const fs::path& now) {
  std::error_code error;
  const std::uint64_t bytes = fs::file_size(now, error);
  if (error || bytes != file.bytes) return false;
  return modified(now) == file.modified || content_hash_of(now) == file.hash;
}

}  // namespace warploom::tool
