#pragma once

#include <cstdint>

#include "search/cpu_dtw.hpp"

namespace warploom::search {

/// What is needed of a query for lower bounds (Keogh & Ratanamahatana, KAIS 7(3), 2005): position[k], with
/// the query's sample there and the least and greatest of those within the band around it. At both ends these
/// are the sample itself, since every path goes through the matrix's corners. In the order in which positions
/// are looked at.
struct Envelope {
  std::int64_t length;
  const std::int32_t* position;
  const float *query, *lower, *upper;
};

/// Lower bounds of D(length - 1, length - 1) of windows side by side. All of them add, for each row or each
/// column, what a path costs at least there; terms are, as floats, never more than the cell's. Bounds of
/// several channels add up.
struct CpuBounds {
  /// Of windows that begin at `samples`, samples + 1, ...: by the query's envelope, given up when all exceed
  /// the bound.
  /// @param[in,out] sums  of each lane what was added so far
  /// @return bit l: lane l does not exceed the bound
  unsigned (*by_query)(const Envelope& query, const float* samples, const LaneMoments& moments, float bound,
                       float* sums);
  /// The same by the windows' envelope, of which `lower` and `upper` begin where the first window does.
  unsigned (*by_windows)(const Envelope& query, const float* lower, const float* upper,
                         const LaneMoments& moments, float bound, float* sums);
  /// Matrices::remaining. @param lower, upper  the query's envelope in its own order, laid out as
  /// Matrices::query; @param more  [lanes] is added to each
  void (*remaining)(const float* lower, const float* upper, const float* windows, std::int64_t length,
                    std::int64_t channels, const float* more, float* to);
  /// The least and greatest of samples[max(0, i - radius)] to samples[min(count - 1, i + radius)], for each
  /// i; missing samples are passed over. @param[out] lower, upper  memory for count + 2 * radius + 32 floats
  void (*envelope)(const float* samples, std::int64_t count, std::int64_t radius, float* lower, float* upper);
};

namespace baseline {
extern const CpuBounds cpu_bounds;
}
namespace avx2 {
extern const CpuBounds cpu_bounds;
}
namespace avx512 {
extern const CpuBounds cpu_bounds;
}

}  // namespace warploom::search
