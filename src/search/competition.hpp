#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "search/correlations.hpp"
#include "search/seen.hpp"

namespace warploom::search {

/// A query as rough and as large as another, which is not there: reversed in time, and its channels, or its
/// sensors, `step` farther on.
struct Decoy {
  std::vector<std::vector<float>> samples;
  Query query;
  Decoy(const Query& from, std::size_t step);
};

/// Parts of a recording, evenly spread, one after the other, with a missing sample between them: all of it,
/// if it is not longer than these.
struct Sample {
  std::vector<std::vector<float>> samples;
  Signal signal;
  Sample(const Signal& from, std::int64_t parts, std::int64_t part);
};

/// How often places as near as one come by chance: of decoys' minima over zones, taken as normal in their
/// logarithms.
class Chance {
 public:
  /// The lower third counts: recordings that rest and move have more than one kind of zone.
  Chance(std::span<const std::vector<Nearby>> minima, double zones);
  /// Of another number of zones.
  Chance among(double zones) const {
    Chance other = *this;
    other.zones_ = zones;
    return other;
  }
  /// To be expected among all zones.
  double operator()(double logarithm) const;
  /// The logarithm below which fewer are to be expected.
  double below(double expected) const;

 private:
  double zones_, middle_ = 0, deviation_ = 0;
};

/// What is usual where there is nothing to find: decoys in a sample of a recording.
class Null {
 public:
  Null(const Searched& searched, std::span<const Query> queries, const FindOptions& asked)
      : sample(searched), decoys(queries), options(asked) {}
  const Searched& sample;
  const std::span<const Query> decoys;
  const FindOptions& options;

  /// The logarithm that decoys usually have in a reading.
  double usual_of(const Reading& reading) const;
  /// [decoys] Their nearest places in each zone.
  std::vector<std::vector<Nearby>> minima_of(const Reading& reading) const;
  const std::vector<Nearby>& minima_of(const Reading& reading, std::size_t decoy) const;

 private:
  /// What was asked for before.
  struct Known {
    Reading reading;
    std::optional<double> usual = {};
    std::vector<std::optional<std::vector<Nearby>>> minima = {};
  };
  Known& known(const Reading& reading) const;
  mutable std::deque<Known> known_ = {};
};

/// Freedoms that compete with the plain reading.
enum class Kind { lagged, switched, switched_and_lagged, rotated, missing };

/// A query in a recording, of which readings compete. Distances of different readings are compared by their
/// logarithms less those that decoys usually have in the reading.
class Competition {
 public:
  struct Entry {
    Reading reading;
    std::vector<double> there = {};          ///< logarithms at its places less what is usual, ascending
    std::vector<std::int64_t> offsets = {};  ///< of these places
  };
  static constexpr std::int64_t kPlaces = 20;  ///< that readings are fitted to and judged at

  /// @param places  the best ones of the plain reading
  /// @param usual  null.usual_of() the plain reading
  /// @param below  a distance, less what is usual, that counts as significant
  Competition(const Searched& searched, const Query& query, const FindOptions& options, const Null& null,
              std::vector<Nearby> places, double usual, double below);

  /// The best places of the plain reading, in order.
  const std::vector<Nearby>& places() const { return places_; }

  /// Computed when they are first asked for.
  const Correlations& correlations();
  const Searched& searched() const { return searched_; }

  /// The best reading of a kind; none if it is the plain one.
  std::optional<Entry> compete(Kind kind);
  /// A reading without the channels that say nothing; none if all say something. @param best  its places
  std::optional<Entry> without_silent(const Reading& reading, std::vector<Nearby> best) const;
  /// A reading with other lengths.
  Entry stretched(const Reading& reading, std::vector<Nearby> best) const;
  /// A reading at its places, to all of which it was fitted.
  Entry fitted(const Reading& reading, std::span<const Nearby> places) const;

  /// Of the places of a reading, those so near that they count; of the plain one without an entry.
  std::int64_t significant(const Entry* entry = nullptr) const;

  /// By how much the best `count` places are nearer than those of the plain reading: logarithm.
  double gain(const Entry& entry, std::int64_t count) const;

 private:
  std::int64_t around() const { return std::max<std::int64_t>(1, query_.length() / 50); }
  /// @param places  in order; @param fit  a reading fitted to the first half of them, or to the second, which
  ///        is judged at the other
  template <typename Fit>
  Entry judged(const Reading& whole, double usual, std::span<const Nearby> places, const Fit& fit) const;
  /// @param agreed  offsets that agree on a reading; @param fit  to offsets
  template <typename Fit>
  std::optional<Entry> best_of(std::span<const std::int64_t> agreed, const Fit& fit) const;
  /// Of places of a reading those that are significant; all, if there are too few to fit to.
  std::vector<Nearby> that_count(std::vector<Nearby> places, double usual) const;

  const Searched& searched_;
  const Query& query_;
  const FindOptions& options_;
  const Null& null_;
  Reading plain_;
  std::int64_t exclusion_;
  double usual_, below_;
  std::vector<Nearby> places_;  // of the plain reading
  std::optional<Correlations> correlations_;
};

}  // namespace warploom::search
