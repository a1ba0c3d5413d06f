#pragma once

#include "dp/backend.hpp"
#include "warploom/core/ranks.hpp"

namespace warploom::dp {

/// One problem, whose cells no rank holds alone: each holds every so manieth column of tiles. The cells are
/// those of solve_cpu(), and so are the decisions. All ranks call it, and then the same functions of the
/// cells, which need `ranks`.
/// @param plan  of one problem, bottom-up, with blocks of kTile and plain storage
/// @throws OutOfMemory, Interrupted
template <class T>
Solved<T> solve_ranks(const Plan<T>& plan, Ranks& ranks);

}  // namespace warploom::dp
