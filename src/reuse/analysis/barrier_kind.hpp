#pragma once

#include "warploom/ptx/module.hpp"

namespace warploom::reuse {

enum class BarrierKind {
  none,     ///< no barrier of the block (`bar.warp.sync` orders one warp: it separates nothing here)
  full,     ///< all threads of the block, id 0: bar.sync 0, barrier.sync 0, bar.red ... 0
  partial,  ///< another id, a thread count, or an arrival without waiting
  cluster,  ///< barrier.cluster
};

BarrierKind barrier_kind(const ptx::Module& module, const ptx::Function& function,
                         const ptx::Instruction& instruction);

}  // namespace warploom::reuse
