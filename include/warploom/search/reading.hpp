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
  /// Of matches that have readings of their own: how much more alike levels and sizes of channels are then,
  /// of 1.
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
  /// The nearest match was not rare by chance (.05), so that thirds of channels rank, too: Match::distance is
  /// the one in the reading, times exp(-.5 (.23 / g)^4 s u / t). u tells how unusual the best third of each
  /// channel is, without a path, in any of its channels, with either sign and lag; t is u's deviation over
  /// windows. s is 1.4826 times the median absolute deviation of distances' logarithms, and g by how much
  /// that of the nearest is less than usual: the less it is, the less a distance says (.1 is the least).
  /// Windows begin at each thirty-second of the query.
  bool by_thirds = false;
  const Tried& chosen() const;  ///< @throws BadInput (nothing was tried)
};

/// The plain reading competes with others: channels switched (within FindOptions::neighbours or adjacency) or
/// negated, late by constant lags, sensors in another orientation, channels that say nothing, patterns of
/// other lengths. What is chosen once a recording is searched like the plain reading: dependent DTW on one
/// path. Where no reading explains the recording (matches whose readings fit each alone are nearer by a
/// quarter of a usual distance, times the cube root of a third of the channels if there are more than three
/// and it is not half of it, what levels of channels gain included; of at most 4,096 lengths of the query),
/// each match has its own, and Match::distance is the distance under it, times the one that is left without a
/// path where each third of each channel is taken at its most alike. In doubt it is the plain one, whose
/// matches are find_in_place()'s, in the same order. Only where none of more than two channels is rare by
/// chance (and there is one length, and at most 4,096 of it) thirds of channels rank, too
/// (FoundAs::by_thirds). Of a query of two channels each has a path of its own, and Match::distance is the
/// geometric mean of both.
///
/// Readings are fitted by correlations of all pairs of channels, at places that agree on one; a reading is
/// fitted to half of its places and judged at the other half, both ways. It is chosen if its gain exceeds
/// that of decoys (the query reversed in time, sent through the same) by 5 %, and its best place is
/// significant or the gain so large that chance does not reach it. Match::chance tells how many places as
/// near are to be expected in a recording of this length that does not hold the query, given the readings
/// that were tried: the least distances of decoys in stretches of a zone are taken as normal in their
/// logarithms. Of `options` limit, band, exclusion, max_lag, scales, sensors, neighbours, adjacency and
/// negated count; max_distance is of the distance of all channels together. Cost: that of find_in_place(),
/// once or twice; correlations at 32 windows a length of the query; decoys in 32 lengths. Memory: a float for
/// each pair of channels and each of these windows, of 4,096 lengths at most.
/// @throws as find()
FoundAs find_automatic(Index& index, const Query& query, const FindOptions& options = {});

/// Sensors by their channels' names: three channels in a row whose names differ in one letter, x, y and z,
/// and in nothing else. @param names  [channels]
std::vector<SensorAxes> sensors_by_name(const std::vector<std::string>& names);

}  // namespace warploom::search
