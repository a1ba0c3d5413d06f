#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reuse/analysis/objects.hpp"
#include "warploom/ptx/cfg.hpp"
#include "warploom/ptx/values.hpp"

namespace warploom::reuse {

/// How a value may differ between the threads of a block that compute it at the same moment.
enum class Variation : std::uint8_t {
  uniform,  ///< equal in all threads: parameters, block index, and what is computed from them
  loaded,   ///< read from memory at an address equal in all threads: equal unless someone writes it meanwhile
  thread,   ///< may differ: thread index, lane, shuffles, votes, loads at differing addresses
};

/// A branch that threads of a block may take differently, and the blocks where they may then be apart:
/// from its targets up to its immediate post-dominator.
struct DivergentBranch {
  std::uint32_t block = 0;
  std::vector<std::uint32_t> region;  ///< ascending
};

/// A branch on a loaded value that decides over a block-wide barrier. CUDA requires that all threads
/// arrive at such a barrier, so the branch is taken to be uniform, and the report says so.
struct UniformByBarrier {
  std::uint32_t branch = 0, barrier = 0;  ///< instructions
};

struct Uniformity {
  std::vector<Variation> of_value;
  std::vector<DivergentBranch> divergent;
  std::vector<bool> apart;  ///< per block: in the region of a divergent branch
  std::vector<UniformByBarrier> assumed;
  std::optional<Reason> divergent_barrier;  ///< a block-wide barrier under a branch on the thread index
  /// Instructions, ascending: the block-wide barriers that all threads pass together, whatever path they
  /// came.
  std::vector<std::uint32_t> separators;
  std::vector<bool> tail;  ///< per block: no barrier, shared access or call can follow any more
};

/// Data and control dependence. Threads that leave the kernel do not take part in barriers from sm_70 on,
/// so a branch to a tail divides nobody there; before sm_70 everything after it counts as apart.
/// With `trust_barriers` false no branch is UniformByBarrier.
Uniformity find_uniformity(const ptx::Cfg& cfg, const Values& values, const SharedUse& use,
                           bool trust_barriers);

}  // namespace warploom::reuse
