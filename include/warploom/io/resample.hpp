#pragma once

#include <optional>

#include "warploom/io/recording.hpp"

namespace warploom::io {

/// Gives every channel the rate `rate` [Hz]: linear interpolation at i / rate from the first sample on,
/// behind a low-pass filter() at 0.45 * rate where the rate is lowered. A sample whose neighbours are missing
/// is missing. All channels end with the shortest. Nothing else is done to channels that have that rate.
/// @throws BadInput (rate not above 0; more than 2^31 samples; a filter that cannot be made)
void resample(Recording& recording, double rate);

/// The rate that resample() is given where the caller names none: the highest of the channels; 0 if there are
/// none.
double common_rate(const Recording& recording);

/// Butterworth of order 4 (second-order sections), forwards and backwards, so that nothing is shifted in time
/// and the gain is squared: 1/2 at a corner. Each run of samples without a gap by itself, extended at its
/// ends by odd reflection. As scipy.signal.sosfiltfilt(butter(4, ..., output="sos")), except for runs shorter
/// than its extension (15 samples, 27 of a band-pass), which scipy refuses: these are extended by all their
/// samples but one.
/// @param low, high  corners [Hz]; one of them: high-pass, low-pass; none: nothing is done
/// @throws BadInput (not 0 < low < high < rate / 2; corners too low or too close for double precision)
void filter(Channel& channel, std::optional<double> low, std::optional<double> high);

/// Takes away the straight line of least squares, of each run of samples without a gap.
void detrend(Channel& channel);

}  // namespace warploom::io
