#pragma once

#include "cli/verb.hpp"

namespace warploom::tool {

/// `warploom register apply`.
Verb register_apply();

}  // namespace warploom::tool
