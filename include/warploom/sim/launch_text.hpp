#pragma once

#include <string_view>

#include "warploom/sim/arguments.hpp"

namespace warploom::sim {

/// The options that describe a launch, on the command line and in a .sim file.
/// Random values of an --arg without a seed get the argument's number, from 0, as theirs.
/// @return false when `option` is none of --kernel, --grid, --block, --dynamic-shared and --arg
/// @throws BadInput naming the option, the value and what was expected
bool set_launch_option(LaunchText& launch, std::string_view option, std::string_view value);

}  // namespace warploom::sim
