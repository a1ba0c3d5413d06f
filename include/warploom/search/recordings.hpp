#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "warploom/io/recording.hpp"
#include "warploom/search/evaluate.hpp"
#include "warploom/search/find.hpp"
#include "warploom/search/reading.hpp"

/// Searching recordings: find() for queries that were cut from recordings, in each of many, and one ranking
/// over all. Messages write options as `select`, by their names here, in io::RecordingOptions and in
/// signal::PrepareOptions: a front end may put its own there.
///
///   io::Recording monday = signal::read_prepared("monday.csv", {}, {}), day = signal::read_prepared(...);
///   const std::vector queries{query_of_range(monday, "monday.csv", "step", 12.4, 14.1)};
///   const SearchResult result = search_recording(day, "day.csv", queries, {});
namespace warploom::search {

/// A query's samples and where they come from.
struct RecordedQuery {
  std::string label = {};
  std::filesystem::path file = {};
  double rate = 1;                               ///< [Hz]
  bool timed = false;                            ///< the rate is known
  double from = 0, to = 0;                       ///< [s] of the file; samples where no rate is known
  std::vector<std::string> names = {};           ///< [channels], empty where the file has none
  std::vector<std::vector<float>> samples = {};  ///< [channels, m]
  std::vector<std::string> units = {};           ///< [channels] as the file says, or empty

  /// 0 without channels.
  std::int64_t length() const { return samples.empty() ? 0 : static_cast<std::int64_t>(samples[0].size()); }
  /// Its channel's name, or "channel 2". @throws BadInput (there is no such channel)
  std::string channel(std::int32_t index) const;
  std::vector<std::string> channels() const;
  /// "walk.csv, 12.4 to 14.1 s"
  std::string source() const;
};

/// The samples of [from, to) as a query.
/// @param recording  prepared, see signal::prepare()
/// @throws BadInput (a range outside the recording, missing samples, fewer than four)
RecordedQuery query_of_range(const io::Recording& recording, const std::filesystem::path& file,
                             const std::string& label, double from, double to);
/// The same where the samples lie elsewhere. @param samples  [channels], in place of the channels' own
RecordedQuery query_of_range(const io::Recording& recording, const Signal& samples,
                             const std::filesystem::path& file, const std::string& label, double from,
                             double to);

/// A query of each annotation with this label.
/// @param name  of the file, for messages
/// @throws BadInput as query_of_range(); no such annotation, naming the labels that there are
std::vector<RecordedQuery> queries_labelled(const io::Recording& recording, const std::filesystem::path& file,
                                            const std::string& label, const std::string& name);

/// The queries at the recording's rate: what has another (by more than 0.1 %) is resampled to it, see
/// signal::resample(), its channels ending with their last sample. Where either rate is not known they stay
/// as they are.
/// @throws BadInput (no channels in the recording, fewer than four samples at its rate, no rate at all: 0,
/// infinite)
std::vector<RecordedQuery> at_rate_of(const io::Recording& recording, std::span<const RecordedQuery> queries);

/// Checks that rates agree. A recording without one gets the queries'.
/// @throws BadInput (they differ by more than 0.1 %; no channels)
void match_rates(std::span<const RecordedQuery> queries, io::Recording& recording, const std::string& file);

/// Views of the queries whose channels belong to those of the recording: by name where all have a name of
/// their own, else, or if asked for, by number. Who makes them keeps the queries.
/// @throws BadInput (a channel that is not there, naming those that are)
std::vector<Query> placed(std::span<const RecordedQuery> queries, const io::Recording& recording,
                          const std::string& file, bool by_number);

/// The stretches of this file that queries came from; labels are those of the queries.
std::vector<Interval> sources_in(std::span<const RecordedQuery> queries, const std::filesystem::path& file);

/// The search of one recording; what is inherited is of Index.
struct SearchOptions : IndexOptions {
  bool euclidean = false;  ///< find_euclidean() in place of find(); of `find` it heeds limit and exclusion
  MatchBy match = MatchBy::automatic;  ///< with `labels` it has to be free
  /// Of MatchBy::automatic: leave out matches whose chance is larger than find.significance.
  bool only_significant = false;
  /// Of MatchBy::automatic: what all channels of queries are multiplied by to be in the recording's units.
  /// Where it is not given, units that files name say it, and what they do not say is found out.
  std::optional<double> gain = {};
  FindOptions find;                  ///< but for what depends on the channels of query and recording:
  bool lag_in_seconds = false;       ///< find.max_lag is [s]
  std::string adjacency;             ///< file for find.adjacency, see signal::parse_adjacency(), or empty
  std::string weights;               ///< file for find.weights: a table, a row a channel, or empty
  std::vector<std::string> sensors;  ///< find.sensors by the query's channels: "x,y,z" each
  bool by_number = false;            ///< channels are matched by number even where all have names
  bool labels = false;               ///< one result a place, of the query that fits best: find_labels()
  bool exclude_self = false;         ///< leave out what lies where a query of its label came from
};

/// FindOptions for a query in a recording.
/// @throws BadInput (a file or name that does not fit the channels, a lag in seconds where no rate is known,
///         rotations of a query that has not three channels)
FindOptions find_options(const SearchOptions& options, const RecordedQuery& query,
                         const io::Recording& recording);

/// A match in its recording's time.
struct Hit {
  Match match = {};
  double onset = 0, duration = 0;  ///< of Match::boundaries() [s], or samples where no rate is known
  bool self = false;               ///< lies where a query was taken from
};

/// Marks what lies by more than Relevance::self_overlap where queries of its label came from, or leaves it
/// out; at most find.limit of each query (of all, where they share the places) remain.
std::vector<Hit> make_hits(std::vector<Match> matches, double rate, std::span<const Interval> sources,
                           const SearchOptions& options);

/// A reading of a recording's channels that was tried for a query, as Tried.
struct ReadingTried {
  std::int32_t query = 0;
  std::string name = {};
  double nearer = 1, price = 1;
  bool chosen = false;
};

/// What was found in one recording.
struct SearchResult {
  std::string name = {}, path = {};  ///< of the recording
  double rate = 1;                   ///< [Hz]
  bool timed = false;
  std::optional<io::Clock> begin = {};  ///< of the recording, where its file says so
  std::int64_t samples = 0;
  std::vector<std::string> channels = {};  ///< names
  std::vector<Hit> hits = {};              ///< best first
  std::vector<std::string> remarks = {};
  std::vector<ReadingTried> readings = {};  ///< of MatchBy::automatic
  /// [queries][channels] of MatchBy::automatic: what queries were multiplied by; 1 in the same units
  std::vector<std::vector<double>> gains = {};
  /// [queries] at its rate, in its units, sensors turned as theirs were read
  std::vector<RecordedQuery> compared = {};
  double seconds = 0;                      ///< that the search took
  std::int64_t pairs = 0, candidates = 0;  ///< as Found
};

/// Searches a recording for all queries, whose numbers the matches bear. Matches begin and end as
/// refine_all() says, but for those of the Euclidean baseline, which are windows.
/// @param recording  prepared as the queries' were (signal::prepare()); one without a rate gets the queries'
/// @param queries    of another rate than the recording's: brought to it (at_rate_of()), which is among the
/// remarks
/// @throws BadInput (a limit outside [1, 10^9]; as match_rates(), placed(), find_options() and find(); a
/// query longer than the recording;
///         no sample that is not missing; labels with lags in seconds and queries of several lengths),
///         NoDevice, OutOfMemory, Interrupted
SearchResult search_recording(io::Recording& recording, const std::filesystem::path& file,
                              std::span<const RecordedQuery> queries, const SearchOptions& options);
/// The same where the samples lie elsewhere: nothing copies them.
/// @param samples  [channels], all of one length, in place of the channels' own
SearchResult search_recording(io::Recording& recording, const Signal& samples,
                              const std::filesystem::path& file, std::span<const RecordedQuery> queries,
                              const SearchOptions& options);

/// A place in the order over all recordings.
struct Ranked {
  const SearchResult* result = nullptr;
  std::size_t hit = 0;  ///< index into the result's
  /// @throws BadInput (no result, or no such hit of it)
  const Hit& operator*() const;
};
/// All hits of all recordings by coverage and distance, at equal rank in the order of recordings.
std::vector<Ranked> ranking(std::span<const SearchResult> results);

}  // namespace warploom::search
