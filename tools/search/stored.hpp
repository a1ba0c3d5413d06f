#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "warploom/search/evaluate.hpp"

namespace warploom::tool {

/// Matches of one recording as files have them, with where their queries came from.
struct StoredMatches {
  std::string name;                       ///< of the recording
  std::string file;                       ///< that was searched; empty if not known
  std::vector<std::string> labels;        ///< that were searched for, as far as known
  std::vector<search::Interval> matches;  ///< best first
  std::vector<search::Interval> sources;  ///< of queries, in this recording
};

/// Reads NAME.matches.jsonl, or CSV with columns onset and duration [s] and label, best first. In CSV rows of
/// equal `rank` are one match, and rows whose `self` is not 0 are none, if there are such columns.
/// @throws BadInput, ParseError
StoredMatches read_matches(const std::filesystem::path& path);

}  // namespace warploom::tool
