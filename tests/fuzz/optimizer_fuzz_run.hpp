#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "oracle/random_kernel.hpp"

namespace warploom::fuzz {

struct Ran {
  std::vector<std::uint32_t> out;  ///< global memory afterwards
  std::string kind, detail;        ///< of what was found; empty: nothing
};

/// What the kernel's parameter `data` points to.
std::vector<std::uint32_t> input_data();

/// Launches `k` of a module, and `k2` if there is one, once under each of three schedules, with all
/// detectors.
/// @param dynamic_shared  [bytes], of `k` and of `k2`; instead of the kernel's
/// @param strict  sim::LaunchOptions::strict_initialisation: of originals, for which the contract demands it
/// @throws ParseError, BadInput
std::vector<Ran> run_three(const std::string& ptx, const oracle::RandomKernel& kernel,
                           std::array<std::uint32_t, 2> dynamic_shared, bool strict);

}  // namespace warploom::fuzz
