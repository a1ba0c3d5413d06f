#pragma once

#include <chrono>
#include <filesystem>

#include "warploom/sim/sim.hpp"
#include "warploom/tile/gpu.hpp"
#include "warploom/tile/interpret.hpp"

/// CUDA programs that tile wrote, tried without a GPU: nvcc compiles them, their host loops run here and
/// their kernels in the simulator. A module of its own, warploom::tile_verify, since tile knows no simulator.
namespace warploom::tile {

struct Compiled {
  bool good = false;        ///< nvcc took the text
  std::string output = {};  ///< what it wrote
  std::string log = {};     ///< what it said
};
/// Runs nvcc on a .cu file of this text.
/// @param options  {"-ptx", "-arch=sm_90"}
/// @throws BadInput (no place for temporary files), Interrupted
Compiled compile_cuda(const std::filesystem::path& nvcc, std::string_view text,
                      const std::vector<std::string>& options);

struct Simulated {
  Memory memory = {};                      ///< of all variables, as the kernels left it
  std::vector<std::string> findings = {};  ///< races, accesses out of bounds, ...: each once
};
/// Runs a program's host loops and launches, looking for races.
/// @param machine   has loaded the PTX of the program's kernels
/// @param before    of all variables: make_memory
/// @param schedule  of threads
/// @throws BadInput (a size or variable is missing, no such kernel), what sim::Machine throws
Simulated simulate(sim::Machine& machine, const Nest& nest, const GpuProgram& program, const Memory& before,
                   sim::Schedule schedule = sim::Schedule::random);

/// make_memory's values. Where the nest divides by data, or takes roots or logarithms of it, matrices get a
/// diagonal that outweighs their rows, and vectors are short beside 1, so that what it computes is well
/// conditioned: LU and Cholesky decompositions without pivots, orthogonalisation, Levinson's recursion.
/// @throws as make_memory
Memory conditioned_memory(const Nest& nest, const std::map<std::string, std::int64_t>& sizes,
                          std::uint64_t seed);

/// The largest difference of parameters that are arrays or results, relative to the array's largest value (at
/// least 1). What is no number in both counts as equal. @throws BadInput (arrays of other lengths)
double largest_difference(const Nest& nest, const Memory& got, const Memory& want);

/// What a program left in every output, beside what the nest leaves.
struct Comparison {
  bool agrees = true;      ///< no element is further away than twice its bound
  double difference = 0;   ///< largest_difference()
  double allowed = 0;      ///< the largest difference that rounding explains, in the same unit
  std::string worst = {};  ///< "C, element 5: 1.5 instead of 1": what is furthest beyond its bound
};
/// @param bounds  rounding_bounds() of the nest
/// @throws BadInput (arrays of other lengths)
Comparison compare(const Nest& nest, const Memory& got, const Memory& want, const Memory& bounds);

struct Verification {
  std::string text =
      {};                ///< for people: sizes, differences beside their bounds, findings, what `reuse` saved
  bool good = true;      ///< no findings, no difference that rounding does not explain
  bool complete = true;  ///< the time limit left time for all; else `text` says for what
  int compared = 0;      ///< runs that were compared
};
/// What a program does in the simulator, at a few small sizes that the nest allows, as nvcc compiled it and
/// as `reuse` rewrote that, against interpret().
/// @param cuda        the program as emit_cuda() wrote it
/// @param time_limit  for compiling and all runs
/// @throws BadInput (no nvcc, no gcc for it; sizes that are known and too large to simulate), Internal (nvcc
///         does not take the text), Interrupted
/// @note seconds for each kernel
Verification verify(const Nest& nest, const GpuProgram& program, const std::string& cuda,
                    const GpuOptions& options, std::chrono::milliseconds time_limit = std::chrono::hours(24));

}  // namespace warploom::tile
