#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "item.hpp"

namespace warploom::tool {

/// A file of which a record tells what it held.
struct RecordedFile {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;  ///< as its file system counts
  std::string hash;           ///< content_hash_of(); empty of outputs of an item that failed
};

/// How an item ended.
struct CohortRecord {
  std::string item = {};
  std::vector<std::string> words = {};  ///< of the command, with braces
  std::string version = {};
  std::vector<RecordedFile> inputs = {}, outputs = {};
  double seconds = 0;
  std::string host = {}, worker = {};
  std::string error = {};  ///< what the verb said against it; empty: it is done
  bool done() const { return error.empty(); }
};

/// What lasts of a cohort, in the hidden folder .warploom of its results.
class CohortRecords {
 public:
  explicit CohortRecords(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// None if there is none, or it cannot be read.
  std::optional<CohortRecord> read(const std::string& item) const;
  /// @param tag  of the claim: nobody else writes under it
  void write(const CohortRecord& record, const std::string& tag) const;

  /// Before results get their names: those that do not all have theirs, when somebody comes after us, are
  /// ours.
  void write_intent(const std::string& item, const std::vector<std::filesystem::path>& outputs,
                    const std::string& tag) const;
  std::vector<std::filesystem::path> intent(const std::string& item) const;
  bool has_intent(const std::string& item) const;
  void remove_intent(const std::string& item) const;

  std::filesystem::path claims() const { return folder_ / "claims"; }
  std::filesystem::path folder() const { return folder_; }

 private:
  std::filesystem::path record_path(const std::string& item) const {
    return folder_ / "records" / (item + ".json");
  }
  std::filesystem::path intent_path(const std::string& item) const {
    return folder_ / "intents" / (item + ".json");
  }

  std::filesystem::path folder_;
};

/// Size, time and content. @throws BadInput (it cannot be read)
RecordedFile recorded(const std::filesystem::path& file);
/// Is the file as it was? Its content is read only where its time is another.
bool is_unchanged(const RecordedFile& file, const std::filesystem::path& now);

}  // namespace warploom::tool
