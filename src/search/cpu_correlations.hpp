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

/// What readings are fitted by, for many windows at once.
struct CpuCorrelations {
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
  /// to[w] += factor * weight[w] * from[w].
  void (*add_weighted)(float factor, const float* weight, const float* from, std::int64_t count, float* to);
  /// to[w] = the larger of it and from[w], or |from[w]|.
  void (*largest)(const float* from, bool absolute, std::int64_t count, float* to);
  /// The largest of 0 and values[row * count + k] - costs[k], or |values[row * count + k]| - costs[k].
  /// `count` is a multiple of the parts.
  float (*largest_left)(const float* values, const float* costs, bool absolute, std::int64_t count,
                        std::int64_t rows);
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
