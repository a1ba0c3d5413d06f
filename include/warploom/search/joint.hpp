#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "warploom/search/distance.hpp"

namespace warploom::search {

/// How channels that are compared at one offset are warped.
enum class Warping {
  together,  ///< dependent DTW: one path for all channels
  each,      ///< independent DTW: a path for each channel
};

/// Several channels of a query, and the channel of the recording that each is compared with: the plain
/// reading, or any other that has no lags. Signs, rotations and scales are those of the samples given.
struct JointPattern {
  std::vector<std::vector<float>> samples = {};  ///< [channels][m], m >= 2; finite
  std::vector<std::int32_t> channels = {};       ///< [channels] of the recording; one may stand twice
  std::int64_t radius = 0;  ///< half-width of the band [samples]; larger than m - 1 counts as that
  Warping warping = Warping::together;

  std::int64_t length() const { return samples.empty() ? 0 : static_cast<std::int64_t>(samples[0].size()); }
};

/// Patterns of which at each offset the nearest counts: scales, or hypotheses that compete place by place.
struct JointTask {
  std::int32_t first_pattern = 0, patterns = 1;  ///< those of [first_pattern, first_pattern + patterns)
  std::int64_t limit = 100;                      ///< places wanted; >= 1
  std::int64_t exclusion = 0;                    ///< two places lie more than this apart [samples]; >= 0
  float max_distance = std::numeric_limits<float>::infinity();  ///< farther ones are none
  /// Only offsets of [first, last).
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
};

/// Single windows, which begin at `offsets` in all channels of a pattern.
struct JointWindows {
  std::int32_t pattern = 0;
  std::span<const std::int64_t> offsets = {};
};

/// Together: sqrt(D(m-1, m-1) / (m C)) of C channels, where D is as in dtw_distance() and the cost of a cell
/// is the sum over channels of (q_c[i] - w_c[j])^2. Each: the root of the mean over channels of
/// dtw_distance()^2. Each channel of query and window is normalised by itself. Of one channel both are
/// dtw_distance(), and `each` is never more than `together`.
///
/// @param query, window  [C][m]; C, m >= 1, finite
/// @return comparable across lengths and numbers of channels; computed in double precision
/// @throws BadInput (channels or lengths differ or are 0, radius < 0, enumerators that are none)
/// Source: M. Shokoohi-Yekta et al., Data Mining and Knowledge Discovery 31, 2017 (DTW_D and DTW_I).
double joint_distance(std::span<const std::span<const float>> query,
                      std::span<const std::span<const float>> window, std::int64_t radius,
                      Normalization normalization, Warping warping = Warping::together);

}  // namespace warploom::search
