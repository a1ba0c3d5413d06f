#pragma once

#include <cstdint>

#include "core/instruction_sets.hpp"

namespace warploom::search {

/// Windows are compared side by side, one in each lane of a vector. Arrays of lanes have kMostLanes places.
inline constexpr int kMostLanes = 16;

/// How the samples of each lane are normalised: ((x - mean) - rest) * scale; zeros if scale is not a number.
struct LaneMoments {
  const float *mean, *rest, *scale;
};

/// Matrices of one query and as many windows as a vector has lanes. A cell's cost is the sum over channels.
/// Memory of vectors is aligned to 64 bytes.
struct Matrices {
  std::int64_t length, radius, channels;
  const float* query;    ///< normalised; sample i of channel c at [i * channels + c]
  const float* windows;  ///< normalised; sample j of channel c of lane l at [(j * channels + c) * lanes + l]
  float* row;            ///< memory for length + 1 vectors
  /// Cells from which D(length - 1, length - 1) <= bound cannot be reached need not be computed. No path
  /// costs less in the columns from j on than remaining[j * lanes + l]. Null: every cell is computed.
  const float* remaining = nullptr;
  float bound = 0;
};

struct CpuDtw {
  int lanes;
  /// Windows that begin at `samples`, samples + 1, ..., normalised: sample j of all lanes at to[j * stride].
  void (*interleave_adjacent)(const float* samples, const LaneMoments& moments, std::int64_t length,
                              std::int64_t stride, float* to);
  /// Windows that begin at each of `samples`.
  void (*interleave)(const float* const* samples, const LaneMoments& moments, std::int64_t length,
                     std::int64_t stride, float* to);
  /// Of each lane D(length - 1, length - 1) of distance.hpp, the same to the last bit whatever the bound;
  /// where that is more than the bound, anything more than the bound.
  /// @return how many cells were computed, of all lanes
  std::int64_t (*matrices)(const Matrices& matrices, float* sums);
};

namespace baseline {
extern const CpuDtw cpu_dtw;
}
namespace avx2 {
extern const CpuDtw cpu_dtw;
}
namespace avx512 {
extern const CpuDtw cpu_dtw;
}

}  // namespace warploom::search
