#pragma once

#include <functional>

#include "warploom/sim/sim.hpp"
#include "warploom/tile/gpu.hpp"
#include "warploom/tile/interpret.hpp"

/// A CUDA program that `loops` made, without a GPU: its host loops here, its kernels in the simulator.
namespace warploom::tool {

/// The name in the PTX of a kernel or of a variable in constant memory.
using Symbol = std::function<std::string(const std::string&)>;

struct Simulated {
  tile::Memory memory;                ///< of all variables, as the kernels left it
  std::vector<std::string> findings;  ///< races, accesses out of bounds, ...
};

/// Runs host loops and launches, threads in random order, looking for races.
/// @param before  of all variables: make_memory
/// @throws BadInput (a size is missing), what sim::Machine throws
Simulated simulate(sim::Machine& machine, const tile::Nest& nest, const tile::GpuProgram& program,
                   const Symbol& symbol, const tile::Memory& before);

/// The largest difference of parameters that are arrays, relative to the array's largest value (at least 1).
/// What is no number in both counts as equal.
double difference(const tile::Nest& nest, const tile::Memory& got, const tile::Memory& want);

}  // namespace warploom::tool
