#pragma once

#include <string>

#include "command.hpp"

/// What a command declares, as shells complete it: verbs, options, the values of those that have few, else
/// files.
namespace warploom::tool {

std::string bash_completion(const Command& tool);
std::string zsh_completion(const Command& tool);
std::string fish_completion(const Command& tool);

}  // namespace warploom::tool
