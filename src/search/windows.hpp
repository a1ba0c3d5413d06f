#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "warploom/search/distance.hpp"
#include "warploom/search/joint.hpp"

namespace warploom::search {

/// Means and reciprocal deviations of the windows of a channel, of one length. A window is normalised as
/// ((x - mean) - rest) * scale. Where the mean is large beside the deviation, `rest`, what the mean loses as
/// a float, is not negligible.
struct WindowMoments {
  /// [count]; scale 0: constant, so that its normalised samples are 0; scale NaN: touches a missing sample
  std::vector<float> mean, rest, scale;
};

/// Of the windows that begin at [first, first + count). Sums of squares about a shift, in double precision,
/// begun anew at every 4,096th offset of the channel, and where digits were lost: a window's numbers do not
/// depend on `first` and `count`. Mean and deviation are within 1e-6 of the deviation. A sample that is
/// infinite counts as missing. Cost: some 15 operations for each window of the blocks of 4,096 that are
/// touched, and a pass over a window for each block; twice that where samples are missing or spikes cost
/// digits.
WindowMoments window_moments(std::span<const float> channel, std::int64_t length, std::int64_t first,
                             std::int64_t count);

/// How often window_moments() begins anew [offsets].
inline constexpr std::int64_t kMomentsBlock = 4096;

/// Of one sequence.
struct Moments {
  double mean = 0, scale = 1;
  double normalised(double x) const { return (x - mean) * scale; }
};

/// @throws BadInput (a number that is none of them)
void check(Normalization normalization);
void check(Warping warping);

/// In two passes. Of finite samples, at least one; without normalisation 0 and 1.
Moments moments(std::span<const float> samples, Normalization normalization);

/// The same of windows of one length, z, to the last bit; NaN where a sample is missing. Several at once: a
/// sum is a chain of additions.
std::vector<Moments> moments_of_each(std::span<const float* const> windows, std::int64_t length);

/// A pattern as it is compared: normalised in double precision; all zeros if it is constant.
std::vector<float> normalised(std::span<const float> samples);

}  // namespace warploom::search
