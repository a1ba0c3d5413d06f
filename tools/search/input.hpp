#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "options.hpp"
#include "warploom/search/evaluate.hpp"

namespace warploom::tool {

/// A query's samples and where they come from.
struct LoadedQuery {
  std::string label;
  std::filesystem::path file;
  double rate = 1;                          ///< [Hz]
  bool timed = false;                       ///< the rate is known
  double from = 0, to = 0;                  ///< [s] of the file
  std::vector<std::string> names;           ///< [channels], empty where the file has none
  std::vector<std::vector<float>> samples;  ///< [channels, m]

  std::int64_t length() const { return static_cast<std::int64_t>(samples.at(0).size()); }
  /// Its channel's name, or "channel 2".
  std::string channel(std::int32_t index) const;
  /// "walk.csv, 12.4 s to 14.1 s"
  std::string source() const;
  /// Its channels belong to `places` of a recording.
  search::Query view(std::vector<std::int32_t> places) const;
};

/// A file to be searched.
struct RecordingFile {
  std::filesystem::path path;
  std::string name;  ///< of its outputs: without ending, different from all others
};

/// The recordings that were named: files as they are, folders searched through, by name. Of WFDB records the
/// header is taken, of .ts files, with --series all, each series.
/// @throws BadInput (missing, a folder without recordings, two whose outputs would have the same name)
std::vector<RecordingFile> list_recordings(const SearchSettings& settings);

/// A recording with channels of one rate and length, filtered as asked for. @throws BadInput
io::Recording read_prepared(const std::filesystem::path& path, const io::RecordingOptions& reading,
                            const SearchSettings& settings);

/// All queries: ranges of files, and annotations taken as examples. A file is read once.
/// @throws BadInput (as read_recording; a range outside the file, missing samples, too few samples, no
/// annotation of
///         a label)
std::vector<LoadedQuery> load_queries(const SearchSettings& settings);

/// Checks that rates agree. A recording without one gets the queries'.
/// @throws BadInput (they differ by more than 0.1 %)
void match_rates(const std::vector<LoadedQuery>& queries, io::Recording& recording, const std::string& file);

/// The channel of the recording that each of the query's belongs to.
/// @throws BadInput (one is not there, naming those that are)
std::vector<std::int32_t> match_channels(const LoadedQuery& query, const io::Recording& recording,
                                         const std::string& file, bool by_number);

/// The stretches of this file that queries came from; labels are those of the queries.
std::vector<search::Interval> sources_in(const std::vector<LoadedQuery>& queries,
                                         const std::filesystem::path& file);

/// The options with what depends on the recording's channels: --adjacency, --alpha FILE, --sensor, --max-lag.
search::FindOptions find_options(const SearchSettings& settings, const LoadedQuery& query,
                                 const io::Recording& recording);

/// A channel by name or number from 1. @throws BadInput saying `what` is wrong and which there are
std::int32_t find_channel(const std::string& word, const std::vector<std::string>& names,
                          const std::string& what);

/// Names of a recording's channels, "channel 2" where it has none.
std::vector<std::string> channel_names(const io::Recording& recording);

}  // namespace warploom::tool
