#pragma once

#include <cstdint>

#include "search/cpu_dtw.hpp"

namespace warploom::search {

/// Adjacent windows of several channels, which are compared with a query on one path.
struct AdjacentWindows {
  static constexpr int kCount = 16;

  std::int64_t length, radius, channels;
  const float* query;           ///< normalised; sample i of channel c at [i * channels + c]; whole fours of i
  const float* levels;          ///< for each i the sum of its squares over channels
  const float* const* samples;  ///< of each channel, from where the first window begins; length + kCount - 1
  const LaneMoments* moments;   ///< of each channel; of kCount windows
  unsigned here;                ///< bit l: window l is asked for, and misses no sample
  float bound;                  ///< of D(length - 1, length - 1) of distance.hpp
};

/// A lower bound of matrices of several channels that is nearly as tight as the matrices: they are computed,
/// in integers of 16 bits, with costs that adjacent windows share.
///
/// Were adjacent windows normalised alike, the cost of the query's sample i and the recording's sample t
/// would be the same in all of them: one sum over channels for some ten cells. They nearly are. With z
/// normalised by what lies in the middle of all, |y - z| <= A |z| + B =: v for each window's y, so that by
/// the triangle inequality, for any a > 0,
///
///   |q - y|^2 >= |q - z|^2 / (1 + a) - v^2 / a.
///
/// Costs are rounded down to parts of the bound, and sums end at the largest integer. Matrices are
/// abandoned when all windows exceed the bound. Where windows differ much, as a says, half as many are looked
/// at together; where still too much, or of more than 64 channels, none is excluded.
struct CpuSharedCosts {
  /// Null where the instructions are not there. Wants radius >= 2.
  /// @param memory  aligned to 64 bytes, of bytes()
  /// @return bit l: window l is asked for, and D may be <= bound
  unsigned (*within_bound)(const AdjacentWindows& windows, void* memory);
  std::int64_t (*bytes)(std::int64_t length, std::int64_t radius, std::int64_t channels);
};

namespace baseline {
extern const CpuSharedCosts cpu_shared_costs;
}
namespace avx2 {
extern const CpuSharedCosts cpu_shared_costs;
}
namespace avx512 {
extern const CpuSharedCosts cpu_shared_costs;
}

}  // namespace warploom::search
