#pragma once

#include <functional>

#include "cli/verb.hpp"

namespace warploom::tool {

/// `warploom register FIXED MOVING`: declares its options and returns what runs.
std::function<int()> add_register_estimate(Command& command);

}  // namespace warploom::tool
