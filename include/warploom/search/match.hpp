#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "warploom/search/index.hpp"

namespace warploom::search {

/// A pattern of several channels that is looked for.
struct Query {
  std::string label = {};
  Signal channels = {};                   ///< of equal length m >= 4; finite
  std::vector<std::int32_t> places = {};  ///< [channels] the recording's channel that each belongs to
  std::vector<std::string> names = {};    ///< [channels] or none: what messages call them
  std::int64_t length() const { return channels.empty() ? 0 : static_cast<std::int64_t>(channels[0].size()); }
};

/// One channel of a query, or a part of it, found in a channel of a recording.
struct Pair {
  std::int32_t query_channel = 0;  ///< index into Query::channels
  std::int32_t channel = 0;        ///< of the recording
  std::int64_t offset = 0;    ///< where the query's channel begins in the recording [samples]; of a part,
                              ///< where the whole would begin, which may be before the first sample
  std::int64_t begin = 0;     ///< first sample of the recording that was compared: offset, or a part's begin
  std::int64_t length = 0;    ///< [samples of the recording] from there: m times its scale, or a part's
  double distance = 0;        ///< not weighted
  double weight = 1;          ///< 1 for the query channel's own channel, alpha for another
  double scale = 1;           ///< its length in the recording, over its length in the query
  std::int32_t rotation = 0;  ///< number of the rotation of its sensor; 0: none
  std::int32_t segment = -1;  ///< number of the query's part that was found; -1: the whole
  std::int64_t coverage = 0;  ///< samples of the query that were found: m, or a part's length
  bool switched = false;      ///< found in another channel than its own
  bool negated = false;
  bool exhausted = false;  ///< found by the second search, with a wider band
};

/// Where a match begins and ends.
struct Boundaries {
  std::int64_t first = 0, last = 0;  ///< onset, and one past the last sample
  friend bool operator==(const Boundaries&, const Boundaries&) = default;
};

/// Pairs of which no two share a channel of the query or (but for parts of one query channel) a channel of
/// the recording, and whose offsets lie within the lag allowed of each other: a feasible multi-dimensional
/// match, 7.4.2.
struct Match {
  std::string label = {};     ///< of the query
  std::int32_t query = 0;     ///< its number, where several were searched for
  std::int64_t first = 0;     ///< the least offset of its pairs
  std::int64_t last = 0;      ///< one past the last sample of its pairs
  std::int32_t matched = 0;   ///< channels of the query that were found, wholly or in part
  std::int32_t channels = 0;  ///< of the query
  double coverage = 0;  ///< share of the query's samples, all channels together, that were found: (0, 1]
  double distance = 0;  ///< the sum of weight * distance over its pairs; parts count by their share
  std::vector<Pair> pairs = {};  ///< by query channel, offset, segment
  /// Places as near as this that are to be expected by chance where the query does not occur, at most 1; of
  /// find_automatic() only.
  std::optional<double> chance = {};
  /// Onset and end to the sample, of refine_all(); first and last are those of the windows compared.
  std::optional<Boundaries> refined = {};
  Boundaries boundaries() const { return refined.value_or(Boundaries{first, last}); }
  /// Not each channel that was found was found as a whole.
  bool in_parts() const {
    for (const Pair& pair : pairs)
      if (pair.segment >= 0) return true;
    return false;
  }
  /// Lag of a pair: how much later than the first it begins [samples].
  std::int64_t lag(const Pair& pair) const { return pair.offset - first; }
};

/// "Is ranked before": larger coverage, less distance, earlier.
bool ranked_before(const Match& a, const Match& b);

/// A candidate and what it stands for, as find() hands them to assemble().
struct Piece {
  Pair pair = {};
  bool axis = false;  ///< its query channel is an axis of a sensor: axes go together only in one rotation. Of
                      ///< one query channel all or none
};

struct AssembleOptions {
  std::int64_t max_lag = 0;       ///< the offsets of a match lie at most this far apart [samples]
  std::int64_t exclusion = 0;     ///< two results begin more than this apart [samples]
  std::int32_t min_channels = 1;  ///< results with fewer channels are none
  std::int64_t limit = 20;        ///< places wanted
  std::int32_t alternatives = 1;  ///< so many matchings that contain c are results at each place: 1, the best
};

/// The best matches made of pieces. For each piece c, M(c) is the best matching that contains c among the
/// pieces whose offsets lie in [c's, c's + max_lag] (of equal offsets, those later in the pieces' order) and
/// whose axes are all of one rotation. Of the pieces between two channels the nearest is the edge, if whole
/// ones are there; else the parts, the nearest of each, count together as one edge. c stands for its two
/// channels (a part: with the other parts). Results are the M(c) by ranked_before(), greedily, each more than
/// `exclusion` away from those before it.
///
/// Lazily: places are visited by an upper bound of what their matching can be worth, so that only few
/// matchings are solved. Cost: n log n for n pieces, n times the query's channels (and parts), and those
/// matchings.
/// @return best first
/// @throws BadInput (a channel of the query that it has not, a channel outside [0, 2^16), a rotation above
/// 10,000, offsets
///         beyond 2^60, distances or weights below 0 or not finite, options below their least), OutOfMemory,
///         Interrupted
std::vector<Match> assemble(std::span<const Piece> pieces, const Query& query,
                            const AssembleOptions& options);

}  // namespace warploom::search
