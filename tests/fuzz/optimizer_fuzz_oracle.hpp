#pragma once

#include <string>

#include "oracle/random_kernel.hpp"

namespace warploom::fuzz {

/// Where the simulator and the interpreter of tests/oracle, which shares nothing with it but the reader of
/// PTX, do not say the same of a kernel: what it leaves in global memory, whether it races, whether it reads
/// what nobody wrote. (There the interpreter says more: it does not know whether the value matters.)
/// @returns empty when they agree; else the kind of disagreement and, after ": ", the details
std::string disagreement(const oracle::RandomKernel& kernel);

}  // namespace warploom::fuzz
