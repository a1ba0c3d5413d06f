#pragma once

#include <string>

#include "command.hpp"

namespace warploom::tool {

/// The page warploom-VERB(1), or warploom(1) of the tool, in the roff that man reads. A verb's own verbs
/// stand in it.
std::string man_page(const Command& command);

}  // namespace warploom::tool
