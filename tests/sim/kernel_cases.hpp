#pragma once

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/tolerance.hpp"
#include "warploom/sim/arguments.hpp"

/// The launches of the repository's kernels, as the .sim file beside each .cu file lists them. Comments there
/// that begin with one of these words mean something:
///
///   # nvcc: FLAGS                   more flags for the file (read by kernels.cmake)
///   # architectures: 90a            of WARPLOOM_SIM_ARCHITECTURES these alone, or the first if none is among
///                                 them (read by kernels.cmake)
///   # part: WARPLOOM_DP_INT32       launches up to the next part are of the kernels that a unit has where
///                                 WARPLOOM_PART is this, see warploom_parts (read by kernels.cmake too)
///   # not run: REASON               no kernel of the file can be launched by itself
///   # approximate: TOLERANCE        of the next launch: how far from a GPU's its results may be
///   # order-dependent: TOLERANCE    of the next launch: how far from another schedule's
///   # contracted: TOLERANCE         of the next launch: the same because ptxas may fuse `mul` and `add`;
///                                 with `mul.rn` and `add.rn` the results must be equal
///   # oracle: NAME [TILE]           of the next launch: what its result must be, see kernel_oracles.hpp
namespace warploom::sim {

struct KernelCase {
  LaunchText launch;
  Tolerance approximate, order_dependent, contracted;
  std::string oracle, part;
};
struct KernelFile {
  std::vector<KernelCase> cases;
  std::string not_run;  ///< the reason
};
/// @throws ParseError, BadInput
KernelFile parse_kernel_file(std::string_view text, const std::string& file);
KernelFile read_kernel_file(const std::filesystem::path& path);

/// One .cu file, or a part of one, compiled for one architecture.
struct KernelModule {
  std::string name;          ///< of the source without .cu: "tests/sim/kernels/warp"
  std::string architecture;  ///< "75", "90a"
  std::string part;          ///< "WARPLOOM_DP_INT32", or empty
  std::filesystem::path ptx, sim;
};
inline std::ostream& operator<<(std::ostream& out, const KernelModule& module) {
  return out << module.name << ".cu " << module.part << " for sm_" << module.architecture;
}
/// What the file `modules` that kernels.cmake left in a directory lists. Empty where there was no nvcc.
std::vector<KernelModule> find_kernel_modules(const std::filesystem::path& directory);

/// A test's name: letters, digits and underscores.
std::string test_name(const KernelModule& module);

/// Contents of a launch's buffers, in order of its arguments; none for a scalar.
using Buffers = std::vector<std::vector<std::byte>>;
template <class T>
std::vector<T> values(const std::vector<std::byte>& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

struct KernelRun {
  Outcome outcome;
  Buffers buffers;
};
/// A simulated GPU that has loaded the module. @throws as ptx::parse and Machine
Machine load(const KernelModule& module);
/// The cases of a module (of its part alone), with its kernels' symbols where the file gives a C++ name or a
/// part of a declaration.
std::vector<KernelCase> read_cases(const KernelModule& module, const Machine& machine);

/// Runs a case in the simulator and frees its buffers. @throws as Machine::launch
KernelRun run_case(Machine& machine, const KernelCase& kernel, Schedule schedule, bool races);

}  // namespace warploom::sim
