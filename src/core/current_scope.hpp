#pragma once

#include "warploom/core/run.hpp"

namespace warploom {

/// The calling thread's innermost scope, or null: parallel_for takes it along.
const RunScope*& current_scope();

}  // namespace warploom
