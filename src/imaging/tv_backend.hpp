#pragma once

/// What denoise.cpp asks of a back end: minimise a checked problem, from the image that is there.

#include <cstdint>
#include <vector>

#include "imaging/tv_schedule.hpp"
#include "warploom/imaging/denoise.hpp"

namespace warploom::imaging {

/// A checked problem. Voxels outside the mask hold NaN in `noisy` and in the image: a difference with one
/// counts 0, as across the edge of the grid, and they stay as they are.
struct TvProblem {
  Grid grid;
  TvConstants constants;
  bool tensor = false;           ///< six channels, D >= 0
  bool outside = false;          ///< some voxel holds NaN
  const float* noisy = nullptr;  ///< [channels, nz, ny, nx]
  Solver solver = Solver::accelerated;
  double descent_step = 0;  ///< 0: see DescentState
  double tgv_ratio =
      0;  ///< above 0: total generalised variation, see tgv.hpp; solver and epsilon do not count
};

/// Result of a minimisation; `image` was replaced.
struct TvOutcome {
  std::vector<DenoiseStep> history;
  bool converged = false;
  double objective = 0, gap = 0;
  double seconds = 0, transfer_seconds = 0;
  int slabs = 1, devices = 1;
  std::uint64_t device_bytes = 0;
};

/// @param image [channels, nz, ny, nx]: the start (for tensors: positive semidefinite), replaced by the
///        result. @throws Interrupted, OutOfMemory; `image` is then unspecified
TvOutcome minimise_cpu(const TvProblem& problem, float* image);
/// @param devices  GPUs that may share the image; with one or none it is the current device's
TvOutcome minimise_cuda(const TvProblem& problem, float* image, const std::vector<Device>& devices = {});

}  // namespace warploom::imaging
