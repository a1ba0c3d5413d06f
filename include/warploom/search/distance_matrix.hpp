#pragma once

#include <array>
#include <cstdint>

#include "warploom/core/run.hpp"
#include "warploom/core/view.hpp"
#include "warploom/search/joint.hpp"

namespace warploom::search {

/// Sequences of equal length, each of one channel or several: [sequences, channels, m].
using Sequences = Tensor<const float, 3>;

/// The same where they do not lie one behind the other: a part of a larger array, or a turned one.
struct StridedSequences {
  const float* first = nullptr;              ///< sample 0 of channel 0 of sequence 0
  std::array<std::int64_t, 3> shape = {};    ///< [sequences, channels, m]
  std::array<std::int64_t, 3> strides = {};  ///< to the next sequence, channel and sample [samples]
  StridedSequences() = default;
  StridedSequences(const float* first, const std::array<std::int64_t, 3>& shape,
                   const std::array<std::int64_t, 3>& strides);
  StridedSequences(const Sequences& all);  // NOLINT(google-explicit-constructor): each of them can be read
};

struct DistanceMatrixOptions {
  std::int64_t radius = 0;  ///< half-width of the band [samples]; larger than m - 1 counts as that
  Normalization normalization = Normalization::z;
  Warping warping = Warping::together;
  Run run = {};  ///< the CPU
};

/// out(i, j) = joint_distance(x[i], y[j]), of one channel dtw_distance(). Views are not copied where nothing
/// is normalised, there is one channel and samples lie side by side; else they are read as they are prepared.
///
/// @param x    [n, channels, m], m >= 1; finite
/// @param y    [k, channels, m]; the same view as x: half of the distances are computed, and `out` is
/// symmetric
/// @param out  [n, k], whose memory is none of x's and y's
/// @throws BadInput (shapes that do not fit, no address, a sample that is not finite, radius < 0, an
/// enumerator that is none),
///         NoDevice, OutOfMemory, Interrupted: `out` is then partly written
/// @note Single precision, as Index::profile(): within 1e-4 (relative) of joint_distance(), or 1e-6 where
/// normalised
///       samples are alike. Bits do not depend on the number of threads, nor on which of two sequences is
///       x's. Cost: n k band_cells() cells, half of them where x is y, as many at once as a vector has lanes.
void distance_matrix(const StridedSequences& x, const StridedSequences& y, Matrix<float> out,
                     const DistanceMatrixOptions& options);

}  // namespace warploom::search
