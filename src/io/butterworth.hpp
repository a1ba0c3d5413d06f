#pragma once

#include <optional>
#include <span>
#include <vector>

namespace warploom::io {

/// y[n] = b0 x[n] + b1 x[n-1] + b2 x[n-2] - a1 y[n-1] - a2 y[n-2]
struct Section {
  double b0, b1, b2, a1, a2;
};

/// A Butterworth filter of order 4 as second-order sections, by the bilinear transform of the analog one:
/// low-pass or high-pass with one corner, where it halves the power; band-pass, of order 8 then, with both.
/// @param low, high  corners, in (0, 1): parts of half the sampling rate; one of them at least; low < high
std::vector<Section> butterworth(std::optional<double> low, std::optional<double> high);

/// Runs the sections over the samples forwards, then backwards, in place. Before the first sample and behind
/// the last stand samples reflected in that sample (odd extension), as many as scipy.signal.sosfiltfilt has
/// by default: 3 (2 sections + 1), or all but one of a run that is no longer. The state begins as if the
/// first of them had been there for ever.
void filter_both_ways(std::span<const Section> sections, std::span<float> samples);

}  // namespace warploom::io
