#pragma once

/// The GPU's adaptive fit: what adaptive_voxel.hpp and adaptive_reconcile.hpp compute, a thread a voxel.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "imaging/adaptive_reconcile.hpp"

namespace warploom::imaging {

/// Device pointers of a run.
struct AdaptiveBuffers {
  const float* series = nullptr;         ///< [volumes, nz, ny, nx] as measured
  float* denoised = nullptr;             ///< [volumes, nz, ny, nx] the second time what is expected
  const float* noise = nullptr;          ///< [nz, ny, nx] above 0
  const std::uint8_t* mask = nullptr;    ///< [nz, ny, nx]
  const RicianMoments* table = nullptr;  ///< that of rician_table()
  DesignView design = {};
  AdaptiveView terms = {};
  double* information = nullptr;  ///< [nz, ny, nx] mean_information(), where there was a fit
  float* sharper = nullptr;       ///< [6, nz, ny, nx] the guide with what the neighbours' score adds
  float* sums = nullptr;          ///< [34, nz, ny, nx] AdaptiveSums
  float* tensor = nullptr;        ///< [6, nz, ny, nx] of the result; these three are 0 at first
  float* s0 = nullptr;            ///< [nz, ny, nx]
  float* neighbours = nullptr;    ///< [nz, ny, nx]
  float* narrow = nullptr;        ///< [6, nz, ny, nx] the narrow estimate
  float* apart = nullptr;         ///< [nz, ny, nx] its disagreement() with the wide one
};
inline constexpr int kAdaptiveSums = kTriangle + 13;

/// Steps 1 and 2, and the guide: fills `terms` and `information`. terms.fitted is 1 where there was a fit.
cudaError_t launch_adaptive_terms(const AdaptiveBuffers& buffers, cudaStream_t stream);
/// The guide of step 3, from `terms` to `sharper`.
cudaError_t launch_adaptive_guide(const AdaptiveBuffers& buffers, double typical, cudaStream_t stream);
/// The sums over neighbours, with `terms.guide` the sharper one.
cudaError_t launch_adaptive_sums(const AdaptiveBuffers& buffers, double bandwidth, int radius,
                                 cudaStream_t stream);
/// Step 4, from `sums` to `tensor`, without unit, and `neighbours`.
cudaError_t launch_adaptive_wide(const AdaptiveBuffers& buffers, double prior, double typical,
                                 cudaStream_t stream);
/// Step 5: the narrow estimate from `sums`, and `tensor` of both.
cudaError_t launch_adaptive_narrow(const AdaptiveBuffers& buffers, double prior, double typical,
                                   cudaStream_t stream);
/// `s0`, and units.
cudaError_t launch_adaptive_finish(const AdaptiveBuffers& buffers, double largest_b, cudaStream_t stream);
/// `denoised` for the second time, of finished tensors.
cudaError_t launch_adaptive_expect(const AdaptiveBuffers& buffers, double largest_b, cudaStream_t stream);

}  // namespace warploom::imaging
