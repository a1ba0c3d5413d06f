#pragma once

/// What follows for means and thresholds from sums over the levels of v: no voxel is touched here.

#include <optional>
#include <vector>

#include "imaging/segment_convex.hpp"

namespace warploom::imaging {

/// Of the two sides [the image's unit].
struct MeanPair {
  double low = 0, high = 0;
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

 private:
  std::vector<Sums> below_;
};

/// How likely a value is on a side with a mean.
class NoiseModel {
 public:
  NoiseModel(const ScaledImage& scaled, Noise noise);
  Noise noise() const { return noise_; }
  /// Takes the likelier of the two, each at its own best threshold without regard to the contour's length.
  void choose(const LevelTable& table);

  /// Where both sides are as likely, as u.
  double threshold(const MeanPair& means) const;
  /// By how much the difference of the two deviations grows with u.
  double slope(const MeanPair& means) const;
  /// sum over the sides of d(u, mean).
  double deviation(const SetSums& inside, const MeanPair& means) const;
  /// Of the set above a threshold with its own means, to the width of a level; infinite if a side is empty.
  double deviation(const LevelTable& table, double threshold) const;
  MeanPair means(const SetSums& inside) const;
  /// From a threshold to that of the means that it leads to, and so on until it stays; none if a side is
  /// empty.
  std::optional<double> fixed_point(const LevelTable& table, double start) const;

 private:
  std::optional<MeanPair> means(const LevelTable& table, int level) const;
  double value(double sum, double count) const { return low_ + scale_ * sum / count; }
  double log_likelihood(const LevelTable& table, Noise noise) const;

  double low_, scale_, voxels_;
  double total_ = 0, squares_ = 0, entropy_ = 0;  // sums of u, u^2 and f log f
  bool counts_possible_;
  Noise noise_;
};

}  // namespace warploom::imaging
