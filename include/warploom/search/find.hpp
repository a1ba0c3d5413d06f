#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "warploom/search/index.hpp"
#include "warploom/search/match.hpp"

namespace warploom::search {

/// Three channels of the query that are the axes of one sensor: places in Query::channels.
struct SensorAxes {
  std::int32_t x = 0, y = 1, z = 2;
};

struct FindOptions {
  std::int64_t limit = 20;        ///< results wanted, each a place in the recording
  std::int64_t candidates = 200;  ///< p: kept for each pair of channels
  double band = 0.05;             ///< half-width as a share of the length; 1 and above: none
  double exclusion = 0.5;         ///< as a share of the query's length
  double max_lag = 0.5;           ///< between the channels of one match, as a share of the query's length
  /// Query channel i is searched in channels j with |place(i) - j| <= neighbours...
  std::int32_t neighbours = 3;
  /// ...or, where this is not empty, in place(i) and the channels listed for it: [channels of the
  /// recording][...]
  std::vector<std::vector<std::int32_t>> adjacency = {};
  double switched_weight = 1;  ///< alpha: of a pair whose channel is not the query channel's own
  /// Alpha of each pair [channels of the recording, same], from its own to another; empty: the constant.
  std::vector<double> weights = {};
  bool negated = true;               ///< a channel may be found with its sign changed; only where normalised
  std::vector<double> scales = {1};  ///< of the query in time; 1.25: slower by a quarter
  /// Rotations that are tried besides none for the sensors named, spread evenly over all orientations; in a
  /// match all sensors are rotated alike.
  std::int32_t rotations = 0;
  std::vector<SensorAxes> sensors = {};
  std::int32_t segments = 1;  ///< parts into which the query is cut and searched as well; 1: none
  std::vector<double> exhaust =
      {};  ///< bands, growing, with which channels that a match lacks are searched again
  std::int32_t min_channels = 0;  ///< 0: half those of the query that are not constant, rounded up
  std::int32_t alternatives = 1;  ///< results at one place
  /// A pair is accepted up to this distance...
  std::optional<double> max_distance = {};
  /// ...or, where that is not given, up to a distance so small that a channel of the query is found by chance
  /// with about this probability at a place: in any of the windows, channels and patterns (scales and signs)
  /// in which a match that begins there may have it. Each of these trials gets the same share of it, and the
  /// distance is the one below which such a share of the pair's windows would stay if the logarithms of their
  /// distances were normal: exp(median + z(share) * 1.4826 * MAD), with median and median absolute deviation
  /// of the logarithms at 1,024 evenly spaced windows of the plain pattern, less those that are missing or
  /// constant. 1: no threshold.
  double significance = 0.05;
  /// Of find_automatic(): [channels of the query] what its samples are multiplied by, so that they are in the
  /// recording's units; 0 where that is to be found out. Empty: of all channels.
  std::vector<double> gains = {};
};

/// A query and what was found, with the numbers that a report needs.
struct Found {
  std::vector<Match> matches = {};        ///< best first
  std::int64_t pairs = 0;                 ///< of channels compared
  std::int64_t candidates = 0;            ///< of all pairs, within the thresholds
  std::vector<std::string> remarks = {};  ///< what a person should know: constant channels, no threshold...
};

/// Searches one query: single-channel candidates, their best combinations, ranked. Dissertation, 7.4.
///
/// Less lag comes before less than a millionth of distance. Candidates of a pair that is flat at its ends are
/// as near a few samples off; so the pairs of each match that was chosen are moved. A pair can be at its own
/// offset and, without a gap, at those around it, at most the largest lag away, at which its distance differs
/// from that at its own by at most a millionth of it, or of the pattern's population deviation (normalised:
/// 1) where that is more; distances are dtw_distance() in double precision, so that both back ends agree. All
/// go as near as they can to one offset: the one to which their differences add up to least, then the sum of
/// their distances, then the earliest. Pair::distance and what follows from it stay those of the candidates,
/// and so do the places that were chosen; a match that would come within the exclusion zone of one at another
/// place stays where it is. Where single precision finds the offsets next to a pair's own farther than 3e-4
/// (relative, or of the deviation) it stays.
/// @throws BadInput (query longer than the recording, not finite or all constant, places that the recording
///         lacks, options out of range: each names the value and the limit, and counts
///         channels and samples from 1), OutOfMemory, Interrupted
Found find(Index& index, const Query& query, const FindOptions& options = {});

/// Searches labelled queries and gives each place the label that fits best: matches of all queries by
/// (coverage, distance by channel, offset), greedily, up to `limit` of them; each keeps those after it from
/// overlapping it by more than half of the shorter.
/// @throws as find(); BadInput (no queries)
Found find_labels(Index& index, std::span<const Query> queries, const FindOptions& options = {});

/// `count` rotations, spread evenly over all orientations (super-Fibonacci spirals: M. Alexa, CVPR 2022), as
/// row-major 3 x 3 matrices; the first is the identity.
/// @throws BadInput (count < 1), OutOfMemory
std::vector<std::array<double, 9>> rotations(std::int32_t count);

/// A channel at another length, by linear interpolation between samples: sample i of n lies at i (m - 1) / (n
/// - 1).
/// @throws BadInput (one of both lengths below 2), OutOfMemory
std::vector<float> stretch(std::span<const float> samples, std::int64_t length);

}  // namespace warploom::search
