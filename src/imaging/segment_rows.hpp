#pragma once

/// The inner loop of the CPU's iteration, compiled for each instruction set in a namespace of its name.

#include <cstdint>

#include "imaging/segment_step.hpp"

namespace warploom::imaging {

/// One row of voxels along x and what lies around it.
struct SegmentRow {
  std::int64_t nx;
  const float* image;
  const float* here;
  const float* before[2];  ///< rows at y - 1 and z - 1; at an edge the row itself
  const float* beyond[2];  ///< rows at y + 1 and z + 1
  float* after;            ///< written
};

/// Writes the row's next level set and adds to the sums [kStepSums].
using UpdateRow = void (*)(const StepConstants& constants, float mean_in, float mean_out, int dimensions,
                           const SegmentRow& row, double* sums);

#define WARPLOOM_DECLARE_SEGMENT_ROWS(set)                                                               \
  namespace set {                                                                                        \
  void update_segment_row(const StepConstants& constants, float mean_in, float mean_out, int dimensions, \
                          const SegmentRow& row, double* sums);                                          \
  }
WARPLOOM_DECLARE_SEGMENT_ROWS(baseline)
WARPLOOM_DECLARE_SEGMENT_ROWS(avx2)
WARPLOOM_DECLARE_SEGMENT_ROWS(avx512)
#undef WARPLOOM_DECLARE_SEGMENT_ROWS

}  // namespace warploom::imaging
