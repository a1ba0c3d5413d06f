#pragma once

#include <string>

#include "sim/kernel_cases.hpp"

namespace warploom::sim {

/// What a launch's result must be, computed on the CPU. A `TILE` is so many elements, the last may be
/// shorter.
///
///   copy                argument 1 is argument 0
///   sorted TILE         argument 1 is argument 0, each tile sorted
///   sorted-pairs TILE   arguments 2 and 3 are the keys 0 and values 1, each tile sorted stably
///   inclusive-sum TILE  argument 1 holds the running sums of argument 0, which begin anew in each tile
///   exclusive-sum TILE  the same without the element itself; argument 2 holds the tiles' sums
///   sum TILE            argument 1 holds the tiles' sums
///   ranks TILE          argument 1 is argument 0 sorted; 2: how many distinct keys precede each; 3: their
///   sums curvature, registration   the kernels of bench/reuse, by tests/oracle
///   christiansen        those of bench/imaging/sync
///   rectangular         the kernel of src/dp/rectangular.cu
///
/// Integer sums wrap; floating-point ones may be off by an epsilon for each element added.
/// @return what is wrong, empty when nothing is. @throws BadInput when there is no such oracle
std::string check_oracle(const KernelCase& kernel, const Buffers& after);

}  // namespace warploom::sim
