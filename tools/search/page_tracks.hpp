#pragma once

#include <span>

#include "warploom/core/json.hpp"
#include "warploom/io/recording.hpp"
#include "warploom/search/match.hpp"

namespace warploom::tool {

/// What the page's script draws the recording from: the whole of it first, then, where that had to be
/// thinned, finer pieces around the first matches.
///
/// A track is {first, stride, bins, low [channels], step [channels], data}. `data` is base64 of 16-bit
/// numbers, little endian, [channels][bins] samples where stride is 1, else [channels][bins][2] minima and
/// maxima of `stride` samples each. A number v > 0 stands for low + (v - 1) step; 0 for missing samples
/// alone. Together at most about 1.2 MB.
Json recording_tracks(const io::Recording& recording, std::span<const search::Match> matches);

}  // namespace warploom::tool
