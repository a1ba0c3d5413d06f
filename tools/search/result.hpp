#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "input.hpp"
#include "warploom/core/json.hpp"
#include "warploom/search/find.hpp"

namespace warploom::tool {

/// A match in its recording's time.
struct Hit {
  search::Match match;
  double onset = 0, duration = 0;  ///< [s], or samples where no rate is known
  bool self = false;               ///< lies where a query was taken from
};

/// What was found in one recording.
struct SearchResult {
  std::string name;  ///< of its outputs
  std::string path;
  double rate = 1;  ///< [Hz]
  bool timed = false;
  std::int64_t samples = 0;
  std::vector<std::string> channels;  ///< names
  std::vector<Hit> hits;              ///< best first
  std::vector<std::string> remarks;
  double seconds = 0;  ///< that the search took
};

/// Marks what lies where queries of its label came from, or leaves it out; at most `limit` of each query (of
/// all, where they share the places) remain.
std::vector<Hit> make_hits(std::vector<search::Match> matches, double rate,
                           const std::vector<search::Interval>& sources, const SearchSettings& settings);

/// A place in the order over all recordings.
struct Ranked {
  const SearchResult* result = nullptr;
  std::size_t hit = 0;  ///< index into the result's
  const Hit& operator*() const { return result->hits[hit]; }
};
/// All hits of all recordings, best first, at equal rank in the order of recordings.
std::vector<Ranked> ranking(const std::vector<SearchResult>& results);

/// The match with all its pairs, channels by name and number (from 1). @param rank  from 1
Json as_json(const Hit& hit, std::size_t rank, const SearchResult& result,
             const std::vector<LoadedQuery>& queries);
/// What as_json() wrote. @throws BadInput
Hit hit_from_json(const Json& json, const std::vector<LoadedQuery>& queries);

/// "y in z, x negated, no w; y +0.120 s"
std::string differences(const Hit& hit, const SearchResult& result, const LoadedQuery& query);

/// The ranked table for people, over all recordings, at most `limit` rows.
std::string as_text(const std::vector<SearchResult>& results, const std::vector<LoadedQuery>& queries,
                    std::size_t limit);
/// One document.
Json as_json(const std::vector<SearchResult>& results, const std::vector<LoadedQuery>& queries,
             const SearchSettings& settings);
/// The queries: label, file, range, channels, and a hash of the samples.
Json as_json(const std::vector<LoadedQuery>& queries);

/// FNV-1a of the bytes, 64 bits, as hexadecimal digits.
std::string content_hash(std::string_view bytes);

/// A row a pair of channels, with a header line.
std::string pairs_csv(const SearchResult& result, const std::vector<LoadedQuery>& queries);
/// A row a match of any recording, with a header line.
std::string ranking_csv(const std::vector<SearchResult>& results);
/// onset, duration and label of every match.
std::string annotations_csv(const SearchResult& result);

}  // namespace warploom::tool
