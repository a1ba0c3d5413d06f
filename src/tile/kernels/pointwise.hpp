#pragma once

#include "tile/kernels/thread_loops.hpp"

namespace warploom::tile {

/// Which loop runs along which dimension of the grid.
struct ThreadMapping {
  const ThreadLoop* x = nullptr;  ///< never none
  const ThreadLoop* y = nullptr;
  const ThreadLoop* z = nullptr;
  std::vector<const ThreadLoop*> within;  ///< further ones: each thread runs all their iterations
};
/// x: the loop along which most accesses are contiguous, else the innermost.
ThreadMapping map_threads(const CudaNames& names, const ParallelChain& chain);

/// "first + step * (index)"
std::string value_from(const CudaNames& names, const Expression& first, std::int64_t step,
                       const std::string& index);
/// "1 + blockIdx.x * 32 + threadIdx.x": the loop's value at an index.
std::string first_value(const CudaNames& names, const ThreadLoop& loop, const std::string& index);

bool only_assignments(const std::vector<Node>& nodes);

/// A kernel with its name, statements, and a grid and block of 1.
Kernel described(const KernelRequest& request, const ParallelChain& chain, const std::string& pattern);

/// An array that goes to constant memory, and why.
struct PlacedConstant {
  ConstantCopy copy;
  std::string reason;
};
/// Small arrays of known size that the region only reads, the same element by all threads of a warp, often
/// enough to be worth the copy.
std::vector<PlacedConstant> constant_copies(const KernelRequest& request, const ParallelChain& chain,
                                            const ThreadMapping& mapping);
/// A sequential loop over vectors that are too long for constant memory and would be worth it: its strips are
/// launches of their own, before each of which the vectors' strips are copied there. None where there are no
/// such vectors or the launches cost more than they gain.
std::optional<KernelGroup> in_constant_strips(const KernelRequest& request, const ParallelChain& chain,
                                              const ThreadMapping& mapping);

/// The kernel of a tree with parallel loops outside, whose last values can be stored.
Kernel pointwise_kernel(const KernelRequest& request, const std::vector<PlacedConstant>& constants);

/// Two loops of which some references are contiguous along one and some along the other: a block goes
/// through a shared tile. None where there are no such references.
std::optional<KernelGroup> transposing(const KernelRequest& request, const ParallelChain& chain,
                                       const ThreadMapping& mapping);

}  // namespace warploom::tile
