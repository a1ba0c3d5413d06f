#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "search/correlations.hpp"

namespace warploom::search {

/// The orientation of each sensor in a recording, from cross-covariances of its axes (W. Kabsch, Acta
/// Crystallographica A 32, 1976).
class Orientations {
 public:
  Orientations(const Correlations& correlations, const Query& query, std::span<const SensorAxes> sensors);

  /// Offsets of at most `count` windows that agree on an orientation, whatever it is.
  std::vector<std::int64_t> places(std::int64_t count, std::int64_t exclusion) const;
  /// The orientation of each sensor that most places speak for: row-major, the recording's axes from the
  /// query's.
  std::vector<std::array<double, 9>> fit(std::span<const std::int64_t> offsets) const;

 private:
  using Matrix = std::array<double, 9>;
  struct Sensor {
    std::array<std::size_t, 3> query_channels;
    std::array<std::int32_t, 3> channels;                // of the recording
    std::array<double, 3> deviations;                    // of the query's axes; of all together 1
    std::array<std::vector<float>, 3> axes;              // [windows] the same; 0 where a sample is missing
    std::array<std::span<const float>, 9> correlations;  // [windows] of query[x] and window[y], row x
  };
  /// Sum over samples of query[x] * window[y], row x; window and query have norm 1.
  static Matrix covariance(const Sensor& sensor, std::int64_t window);
  std::vector<Matrix> fit_windows(std::span<const std::int64_t> windows) const;
  std::vector<float> likeness(const std::vector<Matrix>& turns) const;

  const Correlations& correlations_;
  std::vector<Sensor> sensors_;
};

}  // namespace warploom::search
