#pragma once

/// The GPU's kernels of total generalised variation. Their file needs nothing but this, tgv_voxel.hpp and
/// tv_project.cuh, so that it can be compiled, rewritten and simulated by itself.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tgv_voxel.hpp"

namespace warploom::imaging {

/// Sets w and w_bar to 0 where they exist; everywhere else they are NaN already.
cudaError_t launch_tgv_begin(const TgvFields& f, const TgvShape& s, cudaStream_t stream);
/// One iteration.
cudaError_t launch_tgv_iteration(const TgvFields& f, const TgvShape& s, const TgvSteps& k,
                                 cudaStream_t stream);
/// Brings q_mean up to date, and looks: each of so many blocks leaves a TgvSums in `sums`.
inline constexpr int kTgvMeasureBlocks = 1024;
cudaError_t launch_tgv_measure(const TgvFields& f, const TgvShape& s, const TgvSteps& k, float newest,
                               TgvSums* sums, cudaStream_t stream);

}  // namespace warploom::imaging
