#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "warploom/search/find.hpp"
#include "warploom/search/reading.hpp"

namespace warploom::search {

/// Which freedoms a reading may take.
struct Freedom {
  bool map = false;  ///< channels and signs
  bool lags = false;
};

/// What some places of a recording say about which of its channels answer those of a query: correlations of
/// windows, summed over the places of each fold.
class Evidence {
 public:
  /// @param largest_lag  looked at to either side [samples]
  Evidence(const Signal& signal, const Query& query, const FindOptions& options, std::int64_t largest_lag);

  /// @param offsets  ascending; the first half is fold 0, the rest fold 1
  void look(std::span<const std::int64_t> offsets);

  /// The reading that most correlation speaks for, of the folds asked for. Its lags are from the offsets
  /// looked at, to either side.
  Reading fit(Freedom freedom, bool fold0, bool fold1) const;

 private:
  double at(std::size_t channel, std::size_t candidate, std::int64_t lag, bool fold0, bool fold1) const;

  const Signal& signal_;
  const Query& query_;
  bool negated_;
  std::int64_t lag_;
  std::vector<std::vector<float>> patterns_;              // [query channels][m], normalised
  std::vector<std::vector<std::int32_t>> candidates_;     // [query channels] channels of the recording
  std::array<std::vector<std::vector<double>>, 2> sums_;  // [folds][query channels][candidates x lags]
};

/// Cross-covariances of the sensors of a query with those of windows of a recording: the rotation between
/// them follows from them (W. Kabsch, Acta Crystallographica A 32, 1976).
class Orientations {
 public:
  Orientations(const Signal& signal, const Query& query, std::span<const SensorAxes> sensors);

  /// The best places whatever the sensors' orientation, refined under one orientation for all of them.
  std::vector<std::int64_t> places(std::int64_t count, std::int64_t exclusion) const;
  /// The orientation of each sensor that most places speak for.
  std::vector<std::array<double, 9>> fit(std::span<const std::int64_t> offsets) const;

 private:
  using Matrix = std::array<double, 9>;
  /// Of window and query, over the product of their norms. False where samples are missing or constant.
  bool covariance(std::int64_t offset, std::size_t sensor, Matrix& matrix) const;

  const Signal& signal_;
  std::int64_t length_;
  std::vector<std::array<std::int32_t, 3>> axes_;  // [sensors] channels of the recording
  std::vector<std::array<std::vector<float>, 3>>
      patterns_;  // [sensors] about their means, of norm 1 together
};

}  // namespace warploom::search
