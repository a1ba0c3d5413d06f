#pragma once

#include "reuse/check/kernel.hpp"
#include "reuse/check/renaming.hpp"

namespace warploom::reuse::checking {

/// Where accesses of the dynamic array got an added register as their base: how far each moved, as a sum of
/// numbers known at launch, and its parts as objects. Fills Kernel::pairs. What is not proved becomes a
/// refusal. To be called after find_provenance(); needs `k.block`.
void find_carved_parts(Kernel& k, const ptx::Module& input, const KernelMatch& match);

}  // namespace warploom::reuse::checking
