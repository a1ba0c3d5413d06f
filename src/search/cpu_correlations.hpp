#pragma once

#include <cstdint>

#include "core/instruction_sets.hpp"

namespace warploom::search {

/// Sums are of so many parts whatever the instruction set, so that only the rounding of single operations
/// depends on it.
inline constexpr int kCorrelationParts = 16;

/// The mean and the deviation of a channel of a query, and what its levels are measured by.
struct QueryChannel {
  float mean, deviation;
  float squares;  ///< of its deviation and of the spread of the recording's channel
};

/// What is known of windows: reciprocal deviations over their length, 0 of missing ones; deviations, NaN of
/// missing ones; the same, 0 of missing ones; means, 0 of missing ones.
struct WindowNumbers {
  float *scales, *deviations, *there, *means;
};

/// What speaks for an axis of a recording's sensor, of windows.
struct CorrelatedAxis {
  const float* level;
  float level_factor;
  const float* weight;
  const float* from[3];
  float factor[3];
};

/// A sensor's axes in a query, and those of windows with their correlations; as Orientations has them.
struct CorrelatedSensor {
  const float *axes[3], *levels[3];
  const float* correlations[9];  ///< of query[x] and window[y], row x
  double deviations[3], level[3];
};

/// Squares of a query's deviation and mean, all axes together, and of the recording's deviation.
struct SensorSizes {
  double deviation, mean, wander;
};

/// What readings are fitted by, for many windows at once.
struct CpuCorrelations {
  /// From reciprocal deviations (0 of a constant window, NaN of a missing one) and means, which may lie where
  /// they are written.
  void (*describe)(const float* scale, const float* mean, std::int64_t length, std::int64_t windows,
                   const WindowNumbers& to);
  /// to[w] = scale[w] * sum over i of pattern[i] * samples[w * step + i]. `length` is a multiple of the
  /// parts: zeros behind the pattern, and as many samples behind the last window.
  void (*correlate)(const float* samples, std::int64_t step, std::int64_t windows, const float* pattern,
                    std::int64_t length, const float* scale, float* to);
  /// to[w] = from[w] / F^4, F being Sizes::factor() of window w, of the sign that from[w] has.
  /// @param means, deviations  of windows; finite
  void (*weigh)(const float* from, const float* means, const float* deviations, const QueryChannel& query,
                std::int64_t windows, float* to);
  /// to[w] += factor * from[w].
  void (*add)(float factor, const float* from, std::int64_t count, float* to);
  /// The same of several, one after the other: to[w] += factor[k] * from[k][w].
  void (*add_all)(const float* factor, const float* const* from, std::int64_t several, std::int64_t count,
                  float* to);
  /// to[w] = the sum over axes, one after the other, of level_factor * level[w] and of factor[x] * weight[w]
  /// * from[x][w].
  void (*add_axes)(const CorrelatedAxis* axes, std::int64_t several, std::int64_t count, float* to);
  /// to[w] += the sum of (R query) . window in the orientation R for which it is largest.
  void (*add_best_turns)(const CorrelatedSensor& sensor, std::int64_t count, float* to);
  /// Of squares of windows' deviations, more than 0, and means: weight[w] = 1 / F^3, F being Sizes::factor()
  /// of a sensor's axes together; of_level[w] = weight[w] / the root of both and of `wander`.
  void (*weigh_sensor)(const float* deviation, const float* mean, const SensorSizes& query,
                       std::int64_t count, float* weight, float* of_level);
  /// to[w] = the larger of it and from[w], or |from[w]|.
  void (*largest)(const float* from, bool absolute, std::int64_t count, float* to);
  /// Of each row the largest of 0 and values[row * count + k] - costs[k], or |values[row * count + k]| -
  /// costs[k]. `count` is a multiple of the parts.
  void (*largest_left)(const float* values, const float* costs, bool absolute, std::int64_t count,
                       std::int64_t rows, float* to);
  /// The sum of eighth powers of what is positive.
  double (*eighth_powers)(const float* values, std::int64_t count);
};

namespace baseline {
extern const CpuCorrelations cpu_correlations;
}
namespace avx2 {
extern const CpuCorrelations cpu_correlations;
}
namespace avx512 {
extern const CpuCorrelations cpu_correlations;
}

}  // namespace warploom::search
