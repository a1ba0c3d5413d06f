#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace warploom::hw {

/// Limits of one multiprocessor (SM) generation that decide how many blocks are resident.
/// The table and its sources stand in src/hw/occupancy.cpp.
struct Architecture {
  std::string_view name = {};     ///< "sm_90", "G80", "GT200", "Fermi"
  std::string_view example = {};  ///< boards people know, "H100, H200"
  int compute_capability = 0;     ///< 10 * major + minor
  std::uint32_t threads_per_sm = 0, blocks_per_sm = 0, threads_per_block = 0;
  std::uint32_t registers_per_sm = 0, registers_per_block = 0, registers_per_thread = 0;
  bool registers_by_block = false;            ///< registers go to a block (cc 1.x), else to a warp ...
  std::uint32_t register_granularity = 0;     ///< ... in such units,
  std::uint32_t warp_granularity = 1;         ///< and warps are counted in such units (SM partitions)
  std::uint32_t shared_per_sm = 0;            ///< [bytes], largest carve-out
  std::uint32_t shared_per_block_static = 0;  ///< [bytes] without opting in; what ptxas accepts
  std::uint32_t shared_per_block_optin = 0;   ///< [bytes] static + dynamic, after cudaFuncSetAttribute
  std::uint32_t shared_reserved = 0;          ///< [bytes a block] taken by the system
  std::uint32_t shared_granularity = 0;       ///< [bytes]
};

inline constexpr std::uint32_t kThreadsPerWarp = 32;

/// All architectures known, oldest first: G80, GT200, Fermi, sm_70 to sm_121.
std::span<const Architecture> architectures();
/// By name ("sm_90", "sm_90a", "compute_90", "g80", "sm_11"; case does not matter).
/// @throws BadInput naming those known.
const Architecture& architecture(std::string_view name);

struct KernelResources {
  std::uint32_t threads_per_block = 0;
  std::uint32_t registers_per_thread = 0;  ///< 0: not known, never limits
  std::uint64_t shared_static = 0;         ///< [bytes]
  std::uint64_t shared_dynamic = 0;        ///< [bytes]
};

enum class Limit { none, threads, blocks, registers, shared_memory };
std::string_view name(Limit limit);

struct Occupancy {
  std::uint32_t blocks = 0;          ///< resident blocks an SM; 0: the kernel cannot launch
  std::uint32_t active_threads = 0;  ///< blocks * threads a block
  double fraction = 0;               ///< active warps / warps an SM holds
  /// The resource that stops one block more. On a tie the first of the enumeration, so that
  /// `shared_memory` means that less shared memory would raise residency.
  Limit limit = Limit::none;
  bool exceeds_static_limit = false;  ///< static shared memory is above what ptxas accepts
  bool needs_opt_in = false;  ///< launches only after cudaFuncSetAttribute(...MaxDynamicSharedMemorySize)
  std::string reason = {};    ///< empty, or why the kernel cannot launch, with value and limit
};

/// Blocks resident on one multiprocessor: the least of what warp slots, block slots, registers and
/// shared memory allow, each allocated in the architecture's units.
///
/// Source: NVIDIA's CUDA_Occupancy_Calculator.xls (cc 1.x and 2.0) and cuda_occupancy.h of CUDA 13
/// (sm_70 on), with the largest shared-memory carve-out. Clusters, and more than one named barrier
/// per block, are not modelled. On cc 1.x the hardware also kept 16 bytes and the kernel's
/// parameters in shared memory; they are not added here, as in the papers' arithmetic (8192 bytes
/// are two blocks on a G80): put them into `shared_static` where they matter.
/// @throws BadInput (threads_per_block is zero; a limit or granularity of an architecture of one's own is)
/// @note O(1).
Occupancy occupancy(const Architecture& architecture, const KernelResources& kernel);

}  // namespace warploom::hw
