#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "warploom/sim/sim.hpp"

namespace warploom::sim {

/// C's printf as CUDA has it: appends to `out`. `value(at, bytes)`: bytes of the argument buffer, nullptr if
/// it is shorter; `text(address)`: the string that %s names. Number of conversions, or -1 for a format that
/// ends early. Source: CUDA C++ Programming Guide, "Formatted Output".
int print_format(std::string_view format, std::string& out,
                 const std::function<const std::byte*(std::size_t at, std::size_t bytes)>& value,
                 const std::function<std::string(Address)>& text);

}  // namespace warploom::sim
