#pragma once

#include <string_view>

#include "warploom/core/run.hpp"
#include "warploom/registration/align.hpp"
#include "warploom/registration/deform.hpp"

namespace warploom::registration {

/// Whether a GPU has this deformation: the greedy method by local correlation or squared differences, in a
/// build with CUDA. @throws NoDevice (a GPU is asked for and has it not)
bool runs_on_a_gpu(const DeformOptions& options);

/// Whether a GPU finds this affine map: by local correlation. @throws NoDevice as above
bool runs_on_a_gpu(const AlignOptions& options);

/// @throws NoDevice (a GPU is asked for) @param what  runs on the CPU alone
void refuse_gpu(const Run& run, std::string_view what);

}  // namespace warploom::registration
