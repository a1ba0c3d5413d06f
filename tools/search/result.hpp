#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "options.hpp"
#include "warploom/json/json.hpp"

namespace warploom::tool {

using search::Hit;
using search::RecordedQuery;
using search::SearchResult;

/// The match with all its pairs, channels by name and number (from 1). @param rank  from 1
Json as_json(const Hit& hit, std::size_t rank, const SearchResult& result,
             const std::vector<RecordedQuery>& queries);
/// What as_json() wrote of this result. @throws BadInput (also a query or channel that there is not)
Hit hit_from_json(const Json& json, const SearchResult& result, const std::vector<RecordedQuery>& queries);

/// The readings of the recording's channels that --match auto tried, and what readings_json() wrote.
Json readings_json(const SearchResult& result);
std::vector<search::ReadingTried> readings_from_json(const Json& json);

/// The ranked table for people, over all recordings, at most `limit` rows.
std::string as_text(const std::vector<SearchResult>& results, const std::vector<RecordedQuery>& queries,
                    std::size_t limit);
/// One document.
Json as_json(const std::vector<SearchResult>& results, const std::vector<RecordedQuery>& queries,
             const SearchSettings& settings);
/// The queries: label, file, range, channels, and a hash of the samples.
Json as_json(const std::vector<RecordedQuery>& queries);

/// A row a pair of channels, with a header line.
std::string pairs_csv(const SearchResult& result, const std::vector<RecordedQuery>& queries);
/// A row a match of any recording, with a header line.
std::string ranking_csv(const std::vector<SearchResult>& results);
/// onset, duration and label of every match.
std::string annotations_csv(const SearchResult& result);

}  // namespace warploom::tool
