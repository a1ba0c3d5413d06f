#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "warploom/search/find.hpp"

namespace warploom::search {

/// "channel 2 ('heel') of the query": counted from 1, as people see it.
std::string channel_text(const Query& query, std::size_t channel);

/// @throws BadInput (names the value and the limit)
void check_query(const Query& query, std::int64_t channels);
/// @param channels  of the recording
void check_options(const FindOptions& options, const Query& query, std::int64_t channels);

/// @param samples  of the recording
void check_length(const Query& query, std::int64_t samples);

/// What a pattern was made of.
struct Variant {
  std::int32_t query_channel = 0;
  std::int32_t rotation = 0;
  std::int32_t segment = -1;  ///< -1: the whole
  double scale = 1;           ///< its length over its length in the query
  bool negated = false;
  std::int64_t coverage = 0;  ///< samples of the query
};

/// Patterns that compete for a place: the scales and signs of one channel of the query, or of a part of it,
/// in one rotation.
struct Group {
  std::int32_t first_pattern = 0, patterns = 0;
  std::int32_t plain = 0;      ///< of them: not negated, of the length nearest to the query's
  std::int64_t exclusion = 0;  ///< between two candidates [samples]
  bool axis = false;           ///< goes only with axes of the same rotation
};

/// The patterns of a query under some options.
struct Plan {
  std::vector<Pattern> patterns;
  std::vector<Variant> variants;  ///< [patterns]
  std::vector<Group> groups;      ///< the same ones for every band
  std::vector<std::int32_t>
      constant;  ///< channels of the query that are, normalised, all zeros: they have no pattern

  const Variant& variant(const Group& group) const { return variants[group.first_pattern]; }
};

/// @param band  instead of options.band
Plan make_plan(const Query& query, const FindOptions& options, double band, Normalization normalization);

/// Channels of the recording in which a channel of the query is looked for, ascending.
std::vector<std::int32_t> channels_for(std::int32_t place, const FindOptions& options, std::int64_t channels);

/// A candidate with all that it stands for.
Piece piece_of(const Candidate& candidate, std::int32_t channel, const Plan& plan, const Query& query,
               const FindOptions& options, std::int64_t channels);

/// A share of the query's length in samples: floor(share * length).
std::int64_t samples_of(double share, std::int64_t length);

/// How the pieces of a plan are put together under these options.
AssembleOptions assemble_options(const FindOptions& options, const Query& query, const Plan& plan);

}  // namespace warploom::search
