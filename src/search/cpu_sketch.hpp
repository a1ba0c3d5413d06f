#pragma once

#include <cstdint>

#include "search/cpu_dtw.hpp"

namespace warploom::search {

/// Sequences by the sums of kParts parts of equal length: how much windows are like a query as it comes, at
/// 1 / length of their resolution. An estimate, no bound.
struct CpuSketch {
  static constexpr int kParts = 32;

  /// Adds, for windows that begin at samples + k * length, k < windows, the correlation times the number of
  /// samples; nothing where samples are missing or constant. @param query  [kParts] sums of a normalised
  /// query's parts
  /// @param memory  3 * (windows + 4 * kParts) floats @param to  [windows + kMostLanes]
  void (*add_likeness)(const float* samples, std::int64_t windows, std::int64_t length, const float* query,
                       float* memory, float* to);
};

namespace baseline {
extern const CpuSketch cpu_sketch;
}
namespace avx2 {
extern const CpuSketch cpu_sketch;
}
namespace avx512 {
extern const CpuSketch cpu_sketch;
}

}  // namespace warploom::search
