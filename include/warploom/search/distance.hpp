#pragma once

#include <cstdint>
#include <span>

namespace warploom::search {

/// What is done to a query and to each window before they are compared.
enum class Normalization {
  none,  ///< nothing
  z,     ///< (x - mean) / population deviation, of the query and of each window by itself
};

/// A window whose population deviation is at most kConstantDeviation * |its mean|, or is 0, is constant: its
/// normalised samples are 0. Its distance from a query that is not constant is then exactly 1, for any band.
/// The limit is the unit in the last place of single precision, 2^-23: a window is constant that varies by no
/// more than rounding, and one whose mean is a million deviations is not.
inline constexpr double kConstantDeviation = 1.0 / (1 << 23);

/// Half-width of a Sakoe-Chiba band that is a fraction of the length: floor(fraction * length), at most
/// length - 1. @throws BadInput (fraction below 0 or not a number, length < 1)
std::int64_t band_radius(double fraction, std::int64_t length);

/// Cells of the matrix that are computed for one window: m(2r + 1) - r(r + 1). Unchecked: 0 <= radius <
/// length < 2^31
inline std::int64_t band_cells(std::int64_t length, std::int64_t radius) {
  return length * (2 * radius + 1) - radius * (radius + 1);
}

/// sqrt(D(m-1, m-1) / m), where D(i, j) = (q[i] - w[j])^2 + min(D(i-1, j), D(i, j-1), D(i-1, j-1)), for
/// |i - j| <= radius; q and w are normalised first. Dynamic time warping after Sakoe & Chiba, IEEE TASSP
/// 26(1), 1978, with steps of weight 1; the root and the division make distances of different lengths
/// comparable.
///
/// @param query, window  of equal length m >= 1; finite, in one unit
/// @return in the samples' unit, or without a unit where they are normalised; computed in double precision
/// @throws BadInput (lengths differ or are 0, radius < 0, a normalisation that is none)
double dtw_distance(std::span<const float> query, std::span<const float> window, std::int64_t radius,
                    Normalization normalization);

/// The Euclidean distance of two sequences, divided by sqrt(m): DTW with radius 0. @throws as dtw_distance()
inline double euclidean_distance(std::span<const float> query, std::span<const float> window,
                                 Normalization normalization) {
  return dtw_distance(query, window, 0, normalization);
}

}  // namespace warploom::search
