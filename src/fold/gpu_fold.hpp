#pragma once

#include <span>
#include <string>
#include <vector>

#include "fold/fill.hpp"

namespace warploom::fold::gpu {

/// Where the time of a batch went [s].
struct Times {
  double prepare = 0, fill = 0, finish = 0, results = 0;  ///< fill and finish: of the GPU's kernels
};

/// fold() of many sequences on the current GPU, as many at once as its memory holds.
/// @param structures  false: energies alone
/// @param constraints  none, or one of each sequence, which may be empty
/// @throws as fold(), OutOfMemory (the GPU's), Error (CUDA's)
std::vector<Folding> fold_on_gpu(std::span<const std::string> sequences, const LoopTables& tables,
                                 bool structures = true, Times* times = nullptr,
                                 std::span<const std::string> constraints = {});

}  // namespace warploom::fold::gpu
