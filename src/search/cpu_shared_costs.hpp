#pragma once

#include <cstdint>
#include <vector>

#include "search/cpu_dtw.hpp"

namespace warploom::search {

/// A query of several channels, normalised.
struct SharedCostsQuery {
  static constexpr std::int64_t kMostChannels = 64;

  std::int64_t length = 0, radius = 0, channels = 0;
  float reach = 0;                  ///< larger samples, of query or recording, are taken for this
  std::vector<float> samples = {};  ///< sample i of channel c at [i * channels + c]

  /// For cpu_shared_products, where the processor has AVX-512 VNNI: samples times `parts`, which is chosen so
  /// that sums of squares of all channels fit into 32 bits.
  bool dot = false;
  float parts = 0;
  std::int32_t most = 0;  ///< larger samples, of query or recording, are taken for this
  std::vector<std::int32_t> products =
      {};  ///< negated, of two channels in a number: of row i [i * pairs() + pair]
  std::vector<std::int32_t> levels = {};  ///< of row i: half the sum of its squares

  std::int64_t pairs() const { return (channels + 1) / 2; }
};

/// Adjacent windows, eight of which are a block.
struct AdjacentWindows {
  static constexpr int kMost = 256;

  const float* const* samples;  ///< of each channel, from where the first window begins; length + windows - 1
  const LaneMoments* moments;   ///< of each channel; of all windows
  float bound;                  ///< of D(length - 1, length - 1) of distance.hpp
};

/// Lower bounds that are nearly as tight as matrices of several channels, by matrices in integers of 16 bits.
///
/// Samples are multiplied by P and rounded; the cost of two of them, in units of U = P^2 / 2^16 in the
/// square, is z^2 / 2^16 + q^2 / 2^16 - q z / 2^15, summed over channels modulo 2^16: what is lost makes a
/// cost smaller. For what rounding adds, 1/2 each product, as much is subtracted as it can be, and sums end
/// at the largest integer. U is as large as the bound lets it be, P so small that reach * P is an integer of
/// 16 bits; what is larger becomes the largest, which brings samples nearer to each other.
///
/// Adjacent windows share costs: were they normalised alike, the cost of the query's sample i and the
/// recording's sample t would be the same in all of them. Eight of them nearly are. With z normalised by what
/// lies in the middle of all, |y - z| <= A |z| + B for each window's y, so that by the triangle inequality,
/// for any a > 0,
///
///   (1 + a) |q - y|^2 >= |q - z|^2 - v^2 (1 + a) / a,   v = A |z| + B.
///
/// A path of one of four adjacent windows begins at one of four samples, ends at one of four, and leads
/// through a band that is three wider. So one matrix with such ends bounds all four. Matrices are abandoned
/// when all windows exceed the bound. Where the windows of a block differ too much, as a says, none of them
/// is excluded.
struct CpuSharedCosts {
  int windows;  ///< at a time, at most AdjacentWindows::kMost; 0: the instructions are not there
  /// @param memory  aligned to 64 bytes, of bytes()
  /// @param[in,out] within  bit l of byte b: window 8 b + l is asked for, and misses no sample; then that D
  /// may be <= bound, too
  void (*within_bound)(const SharedCostsQuery& query, const AdjacentWindows& windows, void* memory,
                       std::uint8_t* within);
  /// Of twice as many windows as a vector has lanes, each normalised by itself and given as
  /// Matrices::windows. Takes half of the time that the matrices would.
  /// @param asked  bit l: window l
  /// @return those of `asked` of which D may be <= bound
  std::uint32_t (*each_within_bound)(const SharedCostsQuery& query, const float* const (&windows)[2],
                                     float bound, void* memory, std::uint32_t asked);
  std::int64_t (*bytes)(const SharedCostsQuery& query);
};

/// cpu_shared_products: the same with costs in integers of 32 bits, of two channels at once, which takes a
/// processor with AVX-512 VNNI; cells are rounded down to units of which the bound has 60,000. Without
/// each_within_bound().
namespace baseline {
extern const CpuSharedCosts cpu_shared_costs, cpu_shared_products;
}
namespace avx2 {
extern const CpuSharedCosts cpu_shared_costs, cpu_shared_products;
}
namespace avx512 {
extern const CpuSharedCosts cpu_shared_costs, cpu_shared_products;
}

}  // namespace warploom::search
