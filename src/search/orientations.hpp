#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "search/correlations.hpp"

namespace warploom::search {

/// The orientation of each sensor in a recording, from cross-covariances of its axes (W. Kabsch, Acta
/// Crystallographica A 32, 1976) and from where its levels point, as gravity does: .7 mu mu' / ((mu^2 + s^2 +
/// S^2) (mu'^2 + s'^2 + S^2))^(1/2) is added, mu and s being means and deviations of all axes in query and
/// window, S that of the whole recording. Both over the third power of Sizes::factor() of the sensor: (s / s'
/// + s' / s) / 2 to the power 3/2, 1 + (|mu| - |mu'|)^2 / (s^2 + s'^2 + S^2) to the power 3/4.
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
    std::array<std::int32_t, 3> channels;      // of the recording
    std::array<double, 3> deviations;          // of the query's axes; of all together 1
    std::array<std::vector<float>, 3> axes;    // [windows] the same, weighed; 0 where a sample is missing
    std::array<double, 3> level = {};          // of the query's axes, weighed
    std::array<std::vector<float>, 3> levels;  // [windows] of the recording's
    std::array<std::span<const float>, 9> correlations;  // [windows] of query[x] and window[y], row x
  };
  /// What speaks for query[x] being window[y], row x: the sum over samples of their products, of norm 1 each,
  /// and that of their levels, weighed.
  static Matrix covariance(const Sensor& sensor, std::int64_t window);
  std::vector<Matrix> fit_windows(std::span<const std::int64_t> windows) const;
  std::vector<float> likeness(const std::vector<Matrix>& turns) const;

  const Correlations& correlations_;
  std::vector<Sensor> sensors_;
};

}  // namespace warploom::search
