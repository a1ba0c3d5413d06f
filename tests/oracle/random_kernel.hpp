#pragma once

#include <cstdint>
#include <string>

namespace warploom::oracle {

/// PTX of a kernel `k(out, data, n)` of `threads` threads (a power of two) with several shared arrays: phases
/// that store and load them, mostly with barriers where needed, in straight line, under branches and in
/// loops. What is stored depends on all that was loaded before, so that one wrong byte shows in `out`. Most
/// of these kernels have neither races nor reads of what nobody wrote; the interpreter tells which.
std::string random_kernel(std::uint64_t seed, std::uint32_t threads);

}  // namespace warploom::oracle
