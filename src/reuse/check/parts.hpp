#pragma once

#include "reuse/check/kernel.hpp"
#include "reuse/check/renaming.hpp"

namespace warploom::reuse::checking {

/// Where accesses of an array moved by different distances, its parts become objects: of the bytes that each
/// access may reach in the input, those that overlap are one part and have to move together. Anything else
/// becomes a refusal. To be called after find_provenance(); needs `k.block`.
/// @param pool_bytes  of the static pool, if there is one
void find_parts(Kernel& k, const ptx::Module& input, const KernelMatch& match, std::uint64_t pool_bytes);

}  // namespace warploom::reuse::checking
