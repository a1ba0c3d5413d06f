#pragma once

#include <string>

#include "sim/kernel_cases.hpp"

namespace warploom::sim {

/// What a launch of a kernel of bench/imaging/sync must leave, by tests/oracle/christiansen; the kernel's
/// name says which. @return what is wrong, empty when nothing is. @throws BadInput when no such kernel is
/// known
std::string check_christiansen(const KernelCase& kernel, const Buffers& after);

}  // namespace warploom::sim
