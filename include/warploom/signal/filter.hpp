#pragma once

#include <optional>
#include <span>
#include <vector>

#include "warploom/io/recording.hpp"

namespace warploom::signal {

/// y[n] = b0 x[n] + b1 x[n-1] + b2 x[n-2] - a1 y[n-1] - a2 y[n-2]
struct Section {
  double b0 = {}, b1 = {}, b2 = {}, a1 = {}, a2 = {};
};

/// A Butterworth filter of order 4 as second-order sections, by the bilinear transform of the analog one:
/// low-pass or high-pass with one corner, where it halves the power; band-pass, of order 8 then, with both.
/// @param low, high  corners [Hz]; one of them at least
/// @param rate       of the samples [Hz]
/// @throws BadInput (no corner; not 0 < low < high < rate / 2; corners too low or too close for double
///         precision)
std::vector<Section> butterworth(std::optional<double> low, std::optional<double> high, double rate);

/// Runs the sections over the samples forwards, then backwards, in place, so that nothing is shifted in time
/// and the gain is squared. Before the first sample and behind the last stand samples reflected in that
/// sample (odd extension), as many as scipy.signal.sosfiltfilt has by default: 3 (2 sections + 1), or all but
/// one of a run that is no longer. The state begins as if the first of them had been there for ever.
/// @pre samples are finite
/// @throws Interrupted
void filter_both_ways(std::span<const Section> sections, std::span<float> samples);

/// butterworth() forwards and backwards: the gain at a corner is 1/2. Each run of samples without a gap by
/// itself. As scipy.signal.sosfiltfilt(butter(4, ..., output="sos")), except for runs shorter than the
/// extension (15 samples, 27 of a band-pass), which scipy refuses.
/// @param low, high  corners [Hz]; one of them: high-pass, low-pass; none: nothing is done
/// @throws BadInput as butterworth(), Interrupted
void filter(io::Channel& channel, std::optional<double> low, std::optional<double> high);

/// Takes away the straight line of least squares, of each run of samples without a gap.
/// @throws Interrupted
void detrend(io::Channel& channel);

/// Gives every channel the rate `rate` [Hz]: linear interpolation at i / rate from the first sample on,
/// behind a low-pass filter() at 0.45 * rate where the rate is lowered. A sample whose neighbours are missing
/// is missing. All channels end with the shortest. Nothing else is done to channels that have that rate.
/// @throws BadInput (a rate, this or a channel's, not finite or not above 0; more than 2^31 samples; a filter
/// that cannot be made), OutOfMemory, Interrupted
void resample(io::Recording& recording, double rate);

/// The rate that resample() is given where the caller names none: the highest of the channels; 0 if there are
/// none.
double common_rate(const io::Recording& recording);

}  // namespace warploom::signal
