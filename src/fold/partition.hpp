#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/large_pages.hpp"
#include "fold/constraint.hpp"
#include "fold/extras.hpp"
#include "fold/quadruplex_sums.hpp"
#include "fold/sums.hpp"
#include "fold/weights.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/fold/ensemble.hpp"

namespace warploom::fold {

/// Strips and tiles of n bases, which are counted from 1. Where pairs have a span, a strip ends with the tile
/// in which pairs that begin in it may end: a band.
struct Tiling {
  std::int64_t n;
  std::int64_t span = kMostBases;  ///< from one base of a pair to the other, both counted, at most
  std::int64_t strips() const { return (n + kStripRows - 1) / kStripRows; }
  std::int64_t tiles() const { return (n + kTileColumns - 1) / kTileColumns; }
  static std::int64_t strip_of(std::int64_t i) { return (i - 1) / kStripRows; }
  static std::int64_t tile_of(std::int64_t j) { return (j - 1) / kTileColumns; }
  static std::int64_t first_row(std::int64_t strip) { return strip * kStripRows + 1; }
  static std::int64_t first_column(std::int64_t tile) { return tile * kTileColumns + 1; }
  std::int64_t last_column(std::int64_t tile) const { return std::min(n, (tile + 1) * kTileColumns); }
  /// Of a strip.
  std::int64_t last_tile(std::int64_t strip) const {
    return tile_of(std::min(n, first_row(strip) + kStripRows + span - 2));
  }
  std::int64_t last_of(std::int64_t strip) const { return last_column(last_tile(strip)); }
  /// The first strip that has a tile.
  std::int64_t first_strip(std::int64_t tile) const {
    return std::max<std::int64_t>(0, first_column(tile) - span) / kStripRows;
  }
};

/// Numbers of all i <= j, strip by strip: kStripRows rows of a column side by side, and the next column
/// behind them.
class Panels {
 public:
  explicit Panels(std::int64_t n) : Panels(Tiling{n}) {}
  explicit Panels(const Tiling& tiling);
  static std::uint64_t bytes(std::int64_t n) { return bytes(Tiling{n}); }
  static std::uint64_t bytes(const Tiling& tiling);
  double* column(std::int64_t strip, std::int64_t j) {
    return cells_.get() + (offsets_[static_cast<std::size_t>(strip)] + j * kStripRows);
  }
  const double* column(std::int64_t strip, std::int64_t j) const {
    return cells_.get() + (offsets_[static_cast<std::size_t>(strip)] + j * kStripRows);
  }

 private:
  std::vector<std::int64_t> offsets_;
  std::unique_ptr<double[]> cells_;
};

/// A number and a power of two.
struct Scaled {
  double number = 0;
  std::int64_t exponent = 0;
};

/// Which pairs there are beside what the bases allow: a constraint's, a span's, those that could stack.
class Allowed {
 public:
  Allowed(const Bases& s, const Loops& loops, const Marks& marks);
  bool all() const { return all_; }
  /// Of the longest pair that may be there, both bases counted: the model's span, or that of a pair that the
  /// constraint names.
  std::int64_t span() const;
  bool operator()(std::int64_t i, std::int64_t j) const;

 private:
  const Bases& s_;
  const Loops& loops_;
  const Marks& marks_;
  bool all_;
};

/// A sequence and a model, as the partition function's parts see them; what is given lives as long.
struct Problem {
  const Bases& s;
  const Weights& weights;
  const Extras& extras;
  const Allowed& allowed;
  std::int64_t span = kMostBases;      ///< no pair that is allowed is longer; both bases are counted
  const Unpaired* unpaired = nullptr;  ///< which stretches may be; null: all
  const QuadruplexSums* quadruplexes = nullptr;  ///< null: there are none
  bool may_be_unpaired(std::int64_t first, std::int64_t last) const {
    return unpaired == nullptr || (*unpaired)(first, last);
  }
  /// An interior loop's bases or, without an inner pair, a hairpin's.
  bool may_be_unpaired(std::int64_t i, std::int64_t j, std::int64_t p, std::int64_t q) const {
    return may_be_unpaired(i + 1, p - 1) && may_be_unpaired(q + 1, j - 1);
  }
  Tiling tiling() const { return {s.size(), span}; }
};

/// The sums of the weights of all structures of i..j: b where i and j pair, m1 with one stem that begins at
/// i, m with one or more stems of a multiloop.
struct Partition {
  explicit Partition(std::int64_t n) : Partition(Tiling{n}) {}
  explicit Partition(const Tiling& tiling);
  Tiling tiling;
  Panels b, m1, m;
  std::vector<std::int32_t> exponents;      ///< by strip and tile
  std::vector<double> ends;                 ///< of the first j bases, outside of all pairs
  std::vector<std::int64_t> end_exponents;  ///< of kStripRows of them
  double log = 0;                           ///< of the sum over all structures

  std::int32_t exponent(std::int64_t strip, std::int64_t tile) const {
    return exponents[static_cast<std::size_t>(strip * tiling.tiles() + tile)];
  }
  std::int64_t end_exponent(std::int64_t j) const {
    return end_exponents[static_cast<std::size_t>(j / kStripRows)];
  }
  Scaled at(const Panels& which, std::int64_t i, std::int64_t j) const {
    if (j < i) return {};
    const std::int64_t strip = Tiling::strip_of(i);
    if (j > tiling.last_of(strip)) return {};
    return {which.column(strip, j)[i - Tiling::first_row(strip)], exponent(strip, Tiling::tile_of(j))};
  }
};

/// Strips that wait for each other: how many tiles each has done.
class Turns {
 public:
  explicit Turns(std::int64_t strips) : done_(static_cast<std::size_t>(strips)) {}
  /// body(0), body(1), ... on the threads there are, in this order. What one throws ends the others' waits.
  template <class Body>
  void run(const Body& body) {
    parallel_for(std::ssize(done_), [&](std::int64_t k) {
      try {
        body(k);
      } catch (...) {
        failed_ = true;
        throw;
      }
    });
  }
  /// @return false: another one failed
  bool wait(std::int64_t strip, std::int64_t tiles) const;
  void done(std::int64_t strip, std::int64_t tiles) {
    done_[static_cast<std::size_t>(strip)].store(tiles, std::memory_order_release);
  }

 private:
  std::vector<std::atomic<std::int64_t>> done_;
  std::atomic<bool> failed_ = false;
};

/// Column j of a strip. @param other_tile  from columns of the tile before to this one's
LoopColumn loop_column(const Problem& problem, const StripWeights& strip, std::int64_t j, double other_tile);

/// Column j becomes one of those before. @param below  the next strip's part of it, where from_next is not 0
void remember(Rings& rings, std::int64_t j, const InnerWeights& inner, const double* end, const double* b,
              const double* below, double from_next);

inline int loop_context(Base a, Base b) { return a * kBases + b; }
/// What loops weigh in a strip.
std::unique_ptr<StripWeights> strip_weights(const Problem& problem, std::int64_t strip);
SizeWeights size_weights(const Weights& weights);
/// 2^exponent, 0 or infinite where a double has no such number.
double power(std::int64_t exponent);
/// What a stem outside of all pairs weighs, by b_j, b_(j+1) (5: none) and i.
class EndWeights {
 public:
  explicit EndWeights(const Problem& problem);
  /// Of i = 1 and on.
  const double* of(std::int64_t j) const;

 private:
  const Bases& s_;
  std::vector<std::vector<double>> weights_;
};

/// Of a circle ends and log stay empty: CircleSums has them. @throws Interrupted
Partition partition(const Problem& problem);

/// How often pairs are there in the mean as what outside() knows them for: by the pair and two bases beside
/// it.
struct PairCounts {
  using Mismatches = double[kPairs][kBases][kBases];
  Mismatches multi = {};  ///< stems of multiloops, but for those that close them, with their neighbours
  /// The inner pair of an interior loop, as the tables have it
  Mismatches interior = {}, interior_1n = {}, interior_23 = {};
  double exterior[kPairs][kBases + 1][kBases + 1] = {};  ///< kBases: no neighbour
  double bulge[kPairs] = {};                             ///< the inner pair of a bulge of more than one base
  double covered = 0;                                    ///< bases of the exterior pairs and between theirs
};

/// What outside() does beside probabilities.
struct OutsideOptions {
  std::span<PairCounts> counts = {};  ///< by strip; empty: nothing is counted
  /// What pairs outside of all others are worth, times the power of two of B, in place of the sequence's
  /// ends.
  const Panels* exterior = nullptr;
  /// To write: what M1 is worth, and the sum with one stem; times the power of two of these, and where
  /// `exterior` is not given times the number of the whole.
  Panels *m1 = nullptr, *one = nullptr;
};
/// What the first j bases are worth, times the power of two of ends; of the last 1.
std::vector<double> worth_of_ends(const Problem& problem, const Partition& p);
/// The probability of each pair (i, j). @throws Interrupted
void outside(const Problem& problem, const Partition& p, Panels& probabilities,
             const OutsideOptions& options = {});

/// d(ensemble energy) / d(each parameter, each base's pseudo-energy in stacks).
/// @param probabilities, counts  of outside() @throws Interrupted
EnsembleGradient gradient(const Problem& problem, const Partition& p, const Panels& probabilities,
                          std::span<const PairCounts> counts, const Model& model,
                          const class CircleSums* circle = nullptr,
                          std::span<const QuadruplexSums::Found> quadruplexes = {});

/// Structures, each with the probability that it has in the ensemble. @throws Interrupted
std::vector<std::string> sample(const Problem& problem, const Partition& p, std::int64_t count,
                                std::uint64_t seed, const CircleSums* circle = nullptr);

}  // namespace warploom::fold
