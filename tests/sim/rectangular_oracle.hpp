#pragma once

#include <string>

#include "sim/kernel_cases.hpp"

namespace warploom::sim {

/// What a launch of the kernel of src/dp/rectangular.cu must leave in its cells (and, with narrow storage,
/// bases).
/// @return what is wrong, empty when nothing is
std::string check_rectangular(const KernelCase& kernel, const Buffers& after);

}  // namespace warploom::sim
