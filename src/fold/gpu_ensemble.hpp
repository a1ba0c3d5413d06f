#pragma once

#include <span>
#include <string>
#include <vector>

#include "fold/weights.hpp"
#include "warploom/fold/ensemble.hpp"

namespace warploom::fold::gpu {

/// Where the time of a batch went [s].
struct EnsembleTimes {
  double prepare = 0, inside = 0, ends = 0, outside = 0, read = 0,
         results = 0;  ///< the middle ones: of the GPU's kernels
};

/// ensembles() on the current GPU, as many at once as its memory holds. No samples.
/// @param constraints  none, or one of each sequence, which may be empty
/// @throws as ensembles(), OutOfMemory (the GPU's), Error (CUDA's)
std::vector<Ensemble> ensembles_on_gpu(std::span<const std::string> sequences, const Weights& weights,
                                       const EnsembleOptions& options, EnsembleTimes* times = nullptr,
                                       std::span<const std::string> constraints = {});

}  // namespace warploom::fold::gpu
