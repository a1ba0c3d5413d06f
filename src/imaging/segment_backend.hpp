#pragma once

/// What segment.cpp asks of a back end: evolve a checked problem's level set from the one that is there.

#include <cstdint>
#include <vector>

#include "imaging/segment_step.hpp"
#include "warploom/imaging/segment.hpp"

namespace warploom::imaging {

struct SegmentProblem {
  Grid grid;
  RunConstants constants;
  RunState begin;                ///< means of the start
  const float* image = nullptr;  ///< [nz, ny, nx], 0 to 1, where the work is
};

/// Result of an evolution; the level set was replaced.
struct SegmentOutcome {
  RunState end;
  std::vector<double> energy;  ///< of the level set that each iteration began with
  double seconds = 0;
  std::uint64_t device_bytes = 0;
};

/// @param level_set [nz, ny, nx], where the image is. @throws Interrupted, OutOfMemory; it is then
/// unspecified
SegmentOutcome evolve_cpu(const SegmentProblem& problem, float* level_set);
SegmentOutcome evolve_cuda(const SegmentProblem& problem, float* level_set);

/// Of the checkerboard along each axis, whose product it is: [nx + ny + nz].
std::vector<double> checkerboard_waves(const Grid& grid);
/// The level set of `options.start`, [nz, ny, nx]; `spacing` in units of the smallest, 0 along an axis with
/// one voxel.
std::vector<float> start_level_set(const Grid& grid, const std::array<double, 3>& spacing,
                                   const SegmentOptions& options);

}  // namespace warploom::imaging
