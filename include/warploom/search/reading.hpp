#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "warploom/search/find.hpp"

namespace warploom::search {

/// Which channels of the recording answer those of a query: a property of the recording, the same for all its
/// matches. As it is made, without channels, it is the plain one: each channel in its place.
struct Reading {
  std::vector<std::int32_t> channels = {};  ///< [query channels] of the recording; -1: it says nothing
  std::vector<bool> negated = {};           ///< [query channels] its sign is changed
  std::vector<std::int64_t> lags = {};      ///< [query channels] >= 0 [samples]: how much later it runs
  std::vector<std::array<double, 9>> turns =
      {};                  ///< [sensors] row-major: the recording's axes from the query's
  bool stretched = false;  ///< other lengths compete at each place: 0.8 to 1.25 times the query's
  /// No property of the recording: each match has channels, signs and lags of its own, told by its pairs.
  bool own = false;
  bool switched() const;  ///< a channel is found elsewhere or negated
  bool lagged() const;
  bool rotated() const { return !turns.empty(); }
  bool missing() const;  ///< a channel says nothing
  bool in_place() const { return !switched() && !lagged() && !rotated() && !missing() && !stretched && !own; }
  std::vector<std::int32_t> places = {};  ///< [query channels] what the plain reading has
};

/// A reading that was tried, and what spoke for it.
struct Tried {
  Reading reading = {};
  std::string name = {};  ///< "in place", "switched", "switched and lagged"...
  /// How many times nearer the best places are than the best of the plain reading, each beside what is usual
  /// in its reading: geometric mean. The reading's freedom was fitted to other places than it was judged at.
  double nearer = 1;
  /// The same for decoys: what this much freedom gains where there is nothing to find. 1 where it was not
  /// asked, since `nearer` would not do without a price.
  double price = 1;
  /// How much more alike levels and sizes of channels are than in place, of 1; of matches that have readings
  /// of their own, than in the reading that was chosen before.
  double levels = 0;
  bool chosen = false;
};

/// How a recording is searched.
enum class MatchBy {
  in_place,  ///< find_in_place(): each channel in its place, all at one onset on one path
  free,      ///< find(): each channel by itself, wherever and whenever it comes
  automatic  ///< find_automatic(): in place, unless another reading is nearer than chance explains
};

/// What find_automatic() found.
struct FoundAs : Found {
  std::vector<Tried> tried = {};  ///< the plain reading first, the others as they were tried
  /// [query channels] what the query was multiplied by, as given or found out: 1 in the same units.
  std::vector<double> gains = {};
  const Tried& chosen() const;  ///< @throws BadInput (nothing was tried)
};

/// The plain reading competes with others: channels switched (within FindOptions::neighbours or adjacency) or
/// negated, late by constant lags, sensors in another orientation, channels that say nothing, patterns of
/// other lengths. What is chosen once a recording is searched like the plain reading: each channel has a path
/// of its own at one onset, and Match::distance is the geometric mean of the channels' distances, so that a
/// channel that is far everywhere takes part in no decision (find_in_place() has one path for all). Where
/// windows are normalised and the query has several channels, each channel's distance is multiplied by how
/// much its window differs in what that takes away: the root of (s / s' + s' / s) / 2 times the root of 1 +
/// (mu - mu')^2 / (s^2 + s'^2 + S^2), of means and deviations of query and window, S being the deviation of
/// the whole channel. So query and recording have to be in the same units. Where no reading explains the
/// recording (of matches whose readings fit each alone the best is nearer: the logarithm of how much, and
/// three quarters of what levels of channels gain, are more than half the cube root of a third of the
/// channels, or than .5 if these are few; of at most 4,096 lengths of the query), each match has its own, and
/// Match::distance is the distance under it, times the one that is left without a path where each third of
/// each channel is taken at its most alike.
///
/// Readings are fitted by correlations of all pairs of channels, at places that agree on one; a reading is
/// fitted to half of its places and judged at the other half, both ways. What speaks for it is the logarithm
/// of its gain and, where channels are exchanged or sensors turned, how much more alike levels and sizes of
/// channels are, of 1. It is chosen if that is more than decoys gain (the query reversed in time, sent
/// through the same; the mean of two), by .1, and at least .3 over the root of the channels. In doubt the
/// recording is in place. Match::chance tells how many places as near are to be expected in a recording of
/// this length that does not hold the query, given the readings that were tried: the least distances of
/// decoys in stretches of a zone, the lower third of them, are taken as normal in their logarithms. Of
/// `options` limit, band, exclusion, max_lag, scales, sensors, neighbours, adjacency and negated count;
/// max_distance is of the distance of all channels together. Cost: that of the distances of all windows, once
/// or twice; correlations at 32 windows a length of the query; decoys in 32 lengths. Memory: a float for each
/// pair of channels and each of these windows, of 4,096 lengths at most.
/// @throws as find()
FoundAs find_automatic(Index& index, const Query& query, const FindOptions& options = {});

/// Sensors by their channels' names: three channels in a row whose names differ in one letter, x, y and z,
/// and in nothing else. @param names  [channels]
std::vector<SensorAxes> sensors_by_name(const std::vector<std::string>& names);

}  // namespace warploom::search
