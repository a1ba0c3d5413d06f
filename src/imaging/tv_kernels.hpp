#pragma once

/// The GPU's passes over the image. Their file needs nothing but this, tv_schedule.hpp, tv_planes.hpp and its
/// own headers, so that it can be compiled, rewritten and simulated by itself.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tv_planes.hpp"
#include "tv_schedule.hpp"

namespace warploom::imaging {

/// What a pass reads of a solver's state, in the precision of the image. All 0 before the first pass.
struct TvCoefficients {
  float step;        ///< accelerated: along the gradient; descent: in L
  float momentum;    ///< accelerated and primal-dual; descent: the probe
  float sigma, tau;  ///< primal-dual
  float alpha[kMaxChannels];
};

/// What all launches of a minimisation have in common.
struct TvRun {
  int nx = 0, ny = 0, nz = 0;
  int chunk = 1;  ///< planes that a block goes through
  bool tensor = false, outside = false;
  int tile = 0;           ///< which of tv_tiles.hpp, for tensors and Solver::accelerated
  TvConstants constants;  ///< the host's copy

  // On the device:
  const TvConstants* device_constants = nullptr;
  void* state = nullptr;  ///< AcceleratedState, DescentState or PrimalDualState
  TvCoefficients* coefficients = nullptr;
  double* partials = nullptr;  ///< partial_sums() of them
  unsigned* ticket = nullptr;  ///< 0 between passes
  TvProgress* log = nullptr;   ///< of pass k (from 1) at (k - 1) % log_length
  int log_length = 0;

  int chunks() const { return (nz + chunk - 1) / chunk; }
};

/// Places for partial sums that a run needs.
std::int64_t partial_sums(const TvRun& run, TvKernel kernel);

/// Tiles that a plane is divided into, for all images of a run together, and blocks that the current device
/// holds at once.
cudaError_t tv_blocks(const TvRun& run, TvKernel kernel, std::int64_t& tiles, int& resident);

/// The launches of all chunks of a pass count together: the last block to finish advances the state. Does
/// nothing once the state says done.
cudaError_t launch_tv(const TvRun& run, TvKernel kernel, const TvPlanes& planes, cudaStream_t stream);
/// What that last block does, where launches of this device do not make up all chunks of a pass and the
/// partial sums of the others were copied here. @param kernel the pass's last
cudaError_t launch_tv_advance(const TvRun& run, TvKernel kernel, cudaStream_t stream);
/// Of the partial sums: those of the chunks [first, first + chunks) are `count` from `begin` on, in each of
/// `rows` that are `stride` apart.
struct TvPartialRows {
  std::int64_t begin, count, rows, stride;
};
TvPartialRows partial_rows(const TvRun& run, TvKernel kernel, int first_chunk, int chunks);

}  // namespace warploom::imaging
