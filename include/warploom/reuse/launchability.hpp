#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/hw/occupancy.hpp"
#include "warploom/ptx/module.hpp"
#include "warploom/reuse/block_size.hpp"
#include "warploom/reuse/ptxas.hpp"

namespace warploom::reuse {

struct SharedDeclared {
  std::uint64_t bytes = 0;  ///< static, one array after the other, each at its alignment
  bool dynamic = false;     ///< the kernel, or a function it calls, uses unsized `extern` shared memory
};

/// Shared memory that the PTX declares for a kernel: all arrays declared in it and in the functions it
/// reaches (ptxas keeps those never used, too), and the module's arrays that these use. An indirect call
/// reaches every function of the module.
/// The order, and so the padding, is that of ptxas 13: arrays that are used, of the kernel, of the
/// module, of the callees, then the functions' unused ones. Where there are several callees their order
/// is a guess and the padding, though not the arrays' sum, may differ from ptxas'.
/// @throws BadInput (a kernel that is none of the module's functions)
/// @note Linear in the instructions of the functions reached.
SharedDeclared shared_declared(const ptx::Module& module, const ptx::Function& kernel);

struct LaunchOptions {
  std::vector<const hw::Architecture*> architectures = {};
  std::string kernel{};                      ///< only this one, by its name in the PTX; empty: all
  std::optional<BlockShape> block{};         ///< [threads]; none: .reqntid, else .maxntid
  std::uint64_t shared_dynamic = 0;          ///< [bytes a block]
  std::optional<std::uint32_t> registers{};  ///< a thread; none: ask ptxas
  bool use_ptxas = true;
  PtxasOptions ptxas{};
};

struct LaunchOn {
  const hw::Architecture* architecture = nullptr;
  hw::KernelResources resources = {};
  Origin registers_from = Origin::unknown, shared_from = Origin::declared;
  std::uint64_t spill_bytes = 0;  ///< [bytes a thread] stored and loaded, if ptxas was asked
  hw::Occupancy occupancy = {};   ///< of one warp, thus an upper bound, if the block size is not known
};

struct KernelLaunch {
  std::string name = {};
  std::optional<std::uint32_t> threads = {};  ///< a block
  Origin threads_from = Origin::unknown;
  SharedDeclared declared = {};
  bool cluster = false;  ///< launched in clusters, which the occupancy here does not model
  std::vector<LaunchOn> on = {};
};

struct Launchability {
  std::vector<KernelLaunch> kernels = {};  ///< in the module's order
  std::map<std::string, std::string, std::less<>> ptxas_notes =
      {};  ///< by architecture: why it was of no help
};

/// For each kernel and architecture: would it launch, how many blocks are resident, what limits them.
/// ptxas, where it is present, is run once per architecture for the registers and the exact shared
/// memory; where it cannot help, registers are unknown, never limit, and the note says why.
/// @throws BadInput (a kernel of that name is not defined in the module; those that are, are named; no
///         architecture behind a pointer),
///         Interrupted
Launchability launchability(const ptx::Module& module, const LaunchOptions& options);

}  // namespace warploom::reuse
