#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "warploom/core/device.hpp"
#include "warploom/io/recording.hpp"
#include "warploom/search/find.hpp"

namespace CLI {
class App;
}

namespace warploom::tool {

/// Where a query is taken from.
struct QuerySource {
  std::string label;  ///< empty: the file's name without its ending
  std::string file;
  std::optional<double> from, to;  ///< [s] of the file; none: its begin, its end
};

/// RecordingOptions::series where every series of .ts files is searched.
inline constexpr std::int32_t kAllSeries = 0;

/// What `warploom search` was asked to do.
struct SearchSettings {
  std::vector<std::string>
      inputs;  ///< as given: the query's file unless `queries` names some, then recordings
  std::vector<QuerySource> queries;
  std::optional<double> from, to;     ///< [s] of the query's file
  std::vector<std::string> examples;  ///< labels of the query's file whose annotations are queries
  bool labels = false;                ///< one result a place, of the query that fits best
  bool exclude_self = false, stream = false;

  io::RecordingOptions reading;
  std::vector<std::string> query_select;
  bool by_number = false;           ///< channels are matched by number even where all have names
  std::optional<double> resample;   ///< [Hz]
  std::optional<double> low, high;  ///< corners that frequencies are kept between [Hz]
  bool detrend = false;

  bool euclidean = false;
  search::Normalization normalization = search::Normalization::z;
  search::FindOptions find;          ///< but for what is kept below until the channels are known
  bool lag_in_seconds = false;       ///< find.max_lag is [s]
  std::string adjacency, weights;    ///< files
  std::vector<std::string> sensors;  ///< "x,y,z" each

  Run run;
  search::Prune prune = search::Prune::automatic;

  std::string output;
  bool html = false, resume = false, force = false, json = false;
};

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

/// What results depend on, for --resume, and for people: "band": 0.05...
std::vector<std::pair<std::string, std::string>> described(const SearchSettings& settings);

}  // namespace warploom::tool
