#pragma once

#include <cstdint>
#include <vector>

#include "search/cpu_dtw.hpp"

namespace warploom::search {

/// A query of several channels in integers of 16 bits: its samples times `parts`, which is chosen so that
/// sums of squares of all channels fit into 32 bits.
struct SharedCostsQuery {
  static constexpr std::int64_t kMostChannels = 64;

  std::int64_t length = 0, radius = 0, channels = 0;
  float parts = 0;
  bool dot = false;       ///< the processor has AVX-512 VNNI
  std::int32_t most = 0;  ///< larger samples, of query or recording, are taken for this
  std::vector<std::int32_t> samples =
      {};  ///< negated, of two channels in a number: of row i [i * pairs() + pair]
  std::vector<std::int32_t> levels = {};  ///< of row i: half the sum of its squares

  std::int64_t pairs() const { return (channels + 1) / 2; }
};

/// Adjacent windows, eight of which are a block.
struct AdjacentWindows {
  static constexpr int kMost = 128;

  const float* const* samples;  ///< of each channel, from where the first window begins; length + windows - 1
  const LaneMoments* moments;   ///< of each channel; of all windows
  float bound;                  ///< of D(length - 1, length - 1) of distance.hpp
};

/// A lower bound of matrices of several channels that is nearly as tight as the matrices, of four windows in
/// one: in integers of 16 bits, with costs that adjacent windows share.
///
/// Were adjacent windows normalised alike, the cost of the query's sample i and the recording's sample t
/// would be the same in all of them. Eight of them nearly are. With z normalised by what lies in the middle
/// of all, |y - z| <= A |z| + B =: v for each window's y, so that by the triangle inequality, for any a > 0,
///
///   (1 + a) |q - y|^2 >= |q - z|^2 - v^2 (1 + a) / a.
///
/// A path of one of four adjacent windows begins at one of four samples, ends at one of four, and leads
/// through a band that is three wider. So one matrix with such ends bounds all four. Costs are rounded down,
/// and sums end at the largest integer. Matrices are abandoned when all windows exceed the bound. Where the
/// windows of a block differ too much, as a says, none of them is excluded.
struct CpuSharedCosts {
  int windows;  ///< at a time, at most AdjacentWindows::kMost; 0: the instructions are not there
  /// @param memory  aligned to 64 bytes, of bytes()
  /// @param[in,out] within  bit l of byte b: window 8 b + l is asked for, and misses no sample; then that D
  /// may be <= bound, too
  void (*within_bound)(const SharedCostsQuery& query, const AdjacentWindows& windows, void* memory,
                       std::uint8_t* within);
  std::int64_t (*bytes)(const SharedCostsQuery& query);
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
