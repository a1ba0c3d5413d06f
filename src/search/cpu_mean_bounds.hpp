#pragma once

#include <cstdint>

#include "search/cpu_dtw.hpp"

namespace warploom::search {

/// A channel of a query, for lower bounds of its distance times Sizes::factor().
struct MeanEnvelope {
  std::int64_t length;
  const std::int32_t* place;   ///< [length] of a window's samples, ascending
  const float *lower, *upper;  ///< [length] of the query, normalised: the least and the largest in the band
  float mean, rest, deviation;
  float squares;  ///< 1 and the square of the recording's spread over that deviation
};

/// Lower bounds of geometric means of distances (E. Keogh, VLDB 2002, with Sizes).
struct CpuMeanBounds {
  /// Of each of `count` windows what is no more than the logarithm, of base 2, of the fourth power of its
  /// distance times its factor; infinity where a sample is missing. Sample j of window w lies at
  /// samples[place[j] + w]. It is added to `sum`. Moments, `to` and `sum` go on to a whole vector.
  /// @param present  samples that there are
  void (*logarithms)(const MeanEnvelope& query, const float* samples, std::int64_t present,
                     const LaneMoments& moments, std::int64_t count, float* to, float* sum);
  /// Of distances times factors, a whole vector of them: such a logarithm less `before`, added to `sum`;
  /// `keys` that are not infinite become what is no more than 2^(share * sum), if that is more.
  void (*put_in)(const float* distances, const float* before, float share, float* sum, float* keys);
  /// What is no more than 2^(share * logarithms), of whole vectors.
  void (*powers)(const float* logarithms, float share, std::int64_t count, float* to);
};

namespace baseline {
extern const CpuMeanBounds cpu_mean_bounds;
}
namespace avx2 {
extern const CpuMeanBounds cpu_mean_bounds;
}
namespace avx512 {
extern const CpuMeanBounds cpu_mean_bounds;
}

}  // namespace warploom::search
