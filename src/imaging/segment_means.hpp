#pragma once

/// What follows for means and thresholds from sums over the levels of v: no voxel is touched here. All in the
/// unit of u.

#include <optional>
#include <vector>

#include "imaging/segment_convex.hpp"

namespace warploom::imaging {

/// What the two sides are compared with: their means, or their medians.
struct MeanPair {
  double low = 0, high = 0;

  /// Where both sides are as near.
  double threshold() const { return (low + high) / 2; }
  /// By how much the difference of the two squared deviations grows with u.
  double slope() const { return 2 * (high - low); }
};

/// The levels of v, added up from the lowest.
class LevelTable {
 public:
  explicit LevelTable(const LevelSums& levels);
  std::int64_t voxels() const { return below_.back().count; }
  /// Voxels, and sums of u and u^2, of all levels below this one: 0 to kLevels.
  struct Sums {
    std::int64_t count = 0;
    double sum = 0, square = 0;
  };
  const Sums& below(int level) const { return below_[static_cast<std::size_t>(level)]; }
  const Sums& all() const { return below_.back(); }
  /// Thresholds that the alternation begins with: quantiles of v, and values evenly between its ends.
  std::vector<double> starts() const;
  /// Of the levels from this one on and of those below; none if a side is empty.
  std::optional<MeanPair> means(int level) const;
  /// Squared deviation of u from the means of the set above a threshold and of the rest, to the width of a
  /// level; infinite if a side is empty.
  double deviation(double threshold) const;
  /// From a threshold to that of the means that it leads to, and so on until it stays; none if a side is
  /// empty.
  std::optional<double> fixed_point(double start) const;
  /// Where the roots of u deviate least from their means on both sides, as a threshold of u.
  double root_threshold() const;
  /// From a threshold to that of the medians of v that it leads to, and so on until it stays: those medians.
  /// None if a side is empty.
  std::optional<MeanPair> medians(double start) const;

 private:
  double quantile(double rank) const;   ///< the value of v below which so many voxels are
  double rank(double threshold) const;  ///< the other way round
  std::vector<Sums> below_;
};

/// Of an image as a whole.
class ImageSums {
 public:
  explicit ImageSums(const ImageScale& scale)
      : voxels_(static_cast<double>(scale.voxels)), total_(scale.sum), squares_(scale.squares) {}
  MeanPair means(const SetSums& inside) const;
  /// Squared deviation of both sides from two values.
  double deviation(const SetSums& inside, const MeanPair& from) const;

 private:
  double voxels_, total_, squares_;
};

}  // namespace warploom::imaging
