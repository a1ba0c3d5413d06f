#pragma once

#include <functional>
#include <map>
#include <string>

#include "result.hpp"

namespace warploom::tool {

/// The folder that a search writes to: files of each recording, as soon as it is finished, and ranking.csv
/// over all. A recording's files get their names together, NAME.matches.jsonl last, so that where it stands
/// all is complete.
class SearchOutput {
 public:
  /// Makes the folder.
  /// @throws BadInput (it cannot be made or written to; outputs exist and neither --resume nor --force was
  /// given; with
  ///         --resume one was made with other options, queries or of another file, naming the difference)
  SearchOutput(const SearchSettings& settings, const std::vector<RecordedQuery>& queries,
               const std::vector<io::RecordingFile>& recordings);

  /// With --resume, what an earlier run found in it, if that is complete.
  const SearchResult* finished(const io::RecordingFile& recording) const;

  /// What the results depend on: the recording's bytes, options and queries.
  Json stamp(const std::filesystem::path& recording) const;

  /// @param page  its HTML, called if it is wanted
  /// @param stamp  of before the recording was read, so that one that changed meanwhile is not taken for
  /// finished
  void write(const SearchResult& result, const Json& stamp, const std::function<std::string()>& page) const;
  void write_ranking(const std::vector<SearchResult>& results) const;

 private:
  std::filesystem::path path(const std::string& name, const std::string& ending) const;
  void load(const io::RecordingFile& recording);

  const SearchSettings& settings_;
  const std::vector<RecordedQuery>& queries_;
  std::map<std::string, SearchResult> finished_;  // by name
};

}  // namespace warploom::tool
