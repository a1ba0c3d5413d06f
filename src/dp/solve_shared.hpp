#pragma once

#include "dp/backend.hpp"
#include "dp/device_cells.cuh"

namespace warploom::dp {

/// One problem on the plan's devices, GPUs by number, of which one may be named several times: a shard each
/// (see PersistentLaunch). The cells are the first one's.
template <class T, Arithmetic kArithmetic, bool kFactors>
Solved<T> solve_shared(const Plan<T>& plan);

}  // namespace warploom::dp
