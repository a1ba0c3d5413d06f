#pragma once

#include <memory>
#include <string>
#include <vector>

#include "warploom/tile/verify.hpp"

/// Kernels that patterns printed, compiled by nvcc and run in the simulator.
namespace warploom::tile::test {

/// Whether there is a compiler for kernels here (else: GTEST_SKIP).
bool have_kernel_compiler();

/// What ptxas says of a .cu file's kernels: registers, spills. @throws std::runtime_error with nvcc's words
std::string assembler_report(const std::string& cuda, const std::string& architecture);

/// The program whose host launches the kernels one after the other.
GpuProgram in_order(std::vector<Kernel> kernels, std::vector<Temporary> temporaries = {});

class SimulatedKernels {
 public:
  /// Compiles all kernels of these programs at once (their names differ); a compiler's start costs a second
  /// or two. @throws std::runtime_error with the compiler's words and the text
  explicit SimulatedKernels(const std::vector<GpuProgram>& programs);

  /// tile::simulate().
  Simulated run(const Nest& nest, const GpuProgram& program, const Memory& before) const;

  /// The largest difference between what the kernels leave in parameters and what interpret() makes of the
  /// nest, relative to the largest value of the array (at least 1); the findings are added to `findings`.
  /// @param values  seed of make_memory
  double difference(const Nest& nest, const GpuProgram& program,
                    const std::map<std::string, std::int64_t>& sizes, std::vector<std::string>& findings,
                    std::uint64_t values = 1) const;

  sim::Machine& machine() const { return *machine_; }

 private:
  std::unique_ptr<sim::Machine> machine_;
};

}  // namespace warploom::tile::test
