#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/verb.hpp"
#include "warploom/io/recording.hpp"
#include "warploom/search/recordings.hpp"
#include "warploom/signal/prepare.hpp"

namespace warploom::tool {

using io::kAllSeries;

/// Where a query is taken from.
struct QuerySource {
  std::string label;  ///< empty: the file's name without its ending
  std::string file;
  std::optional<double> from, to;  ///< [s] of the file; none: its begin, its end
};

/// What `warploom search` was asked to do.
struct SearchSettings : search::SearchOptions {
  std::vector<std::string>
      inputs;  ///< as given: the query's file unless `queries` names some, then recordings
  std::vector<QuerySource> queries;
  std::optional<double> from, to;     ///< [s] of the query's file
  std::vector<std::string> examples;  ///< labels of the query's file whose annotations are queries
  bool stream = false;
  std::optional<search::MatchBy> match_by;  ///< as given; else free where an option of it is given

  io::RecordingOptions reading;
  std::vector<std::string> query_select;
  signal::PrepareOptions prepare;

  std::string output;
  bool html = false, resume = false, force = false, json = false;
};

Verb search_evaluate();

/// Declares every option; `settings` has to outlive the parser.
void add_search_options(Command& command, SearchSettings& settings);
/// Those of them that tell how recordings are read.
void add_reading_options(Command& command, io::RecordingOptions& reading);

/// What shows only when all options are known; takes the query's file out of `inputs`.
/// @throws BadInput (options that contradict each other, nothing to search)
void check_together(SearchSettings& settings);

/// "walk=a.csv@12.4-14.1". @throws BadInput (no file, an end before its begin)
QuerySource parse_query(const std::string& text);

/// A finite number of [least, most]. @throws BadInput naming the option, the text and the limits
double parse_number(const std::string& option, const std::string& text, double least, double most);

/// "in-place", "free" or "auto".
std::string match_text(search::MatchBy match);

/// What results depend on, for --resume, and for people: "band": 0.05...
std::vector<std::pair<std::string, std::string>> described(const SearchSettings& settings);

}  // namespace warploom::tool
