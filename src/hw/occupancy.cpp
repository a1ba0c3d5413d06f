#include "warploom/hw/occupancy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "core/doors.hpp"
#include "warploom/core/error.hpp"

namespace warploom::hw {
namespace {

constexpr std::uint32_t operator""_K(unsigned long long n) { return static_cast<std::uint32_t>(n * 1024); }

// Sources. cc 1.x, 2.0: CUDA_Occupancy_Calculator.xls, sheet "GPU Data". sm_70 on: CUDA C++
// Programming Guide, table "Technical Specifications per Compute Capability" (sm_70 and sm_72: the
// guide of CUDA 11); register and shared-memory units, warp units (the four partitions of an SM) and
// the blocks of sm_121: cuda_occupancy.h of CUDA 13. The 1 KB a block that the system reserves from
// sm_80 on: the guide's section on compute capability 8.x.
// clang-format off
constexpr std::array kKnown{
    //            name      example                   cc   threads blocks thr/  registers            by    reg  warp  shared memory
    //                                                     /SM     /SM    block /SM    /block /thread block unit unit  /SM   static  opt-in reserved unit
    Architecture{"G80",    "GeForce 8800",             10,  768,  8,  512,  8_K,  8_K, 124, true,  256, 2,  16_K, 16_K,  16_K,   0,  512},
    Architecture{"GT200",  "GTX 280",                  13, 1024,  8,  512, 16_K, 16_K, 124, true,  512, 2,  16_K, 16_K,  16_K,   0,  512},
    Architecture{"Fermi",  "GTX 480",                  20, 1536,  8, 1024, 32_K, 32_K,  63, false,  64, 2,  48_K, 48_K,  48_K,   0,  128},
    Architecture{"sm_70",  "V100",                     70, 2048, 32, 1024, 64_K, 64_K, 255, false, 256, 4,  96_K, 48_K,  96_K,   0,  256},
    Architecture{"sm_72",  "Jetson Xavier",            72, 2048, 32, 1024, 64_K, 64_K, 255, false, 256, 4,  96_K, 48_K,  48_K,   0,  256},
    Architecture{"sm_75",  "T4, RTX 2080",             75, 1024, 16, 1024, 64_K, 64_K, 255, false, 256, 4,  64_K, 48_K,  64_K,   0,  256},
    Architecture{"sm_80",  "A100",                     80, 2048, 32, 1024, 64_K, 64_K, 255, false, 256, 4, 164_K, 48_K, 163_K, 1_K,  128},
    Architecture{"sm_86",  "A40, RTX 3090",            86, 1536, 16, 1024, 64_K, 64_K, 255, false, 256, 4, 100_K, 48_K,  99_K, 1_K,  128},
    Architecture{"sm_87",  "Jetson Orin",              87, 1536, 16, 1024, 64_K, 64_K, 255, false, 256, 4, 164_K, 48_K, 163_K, 1_K,  128},
    Architecture{"sm_89",  "L4, L40, RTX 4090",        89, 1536, 24, 1024, 64_K, 64_K, 255, false, 256, 4, 100_K, 48_K,  99_K, 1_K,  128},
    Architecture{"sm_90",  "H100, H200",               90, 2048, 32, 1024, 64_K, 64_K, 255, false, 256, 4, 228_K, 48_K, 227_K, 1_K,  128},
    Architecture{"sm_100", "B200",                    100, 2048, 32, 1024, 64_K, 64_K, 255, false, 256, 4, 228_K, 48_K, 227_K, 1_K,  128},
    Architecture{"sm_103", "B300",                    103, 2048, 32, 1024, 64_K, 64_K, 255, false, 256, 4, 228_K, 48_K, 227_K, 1_K,  128},
    Architecture{"sm_110", "Jetson Thor",             110, 1536, 24, 1024, 64_K, 64_K, 255, false, 256, 4, 228_K, 48_K, 227_K, 1_K,  128},
    Architecture{"sm_120", "RTX 5090, RTX PRO 6000",  120, 1536, 24, 1024, 64_K, 64_K, 255, false, 256, 4, 100_K, 48_K,  99_K, 1_K,  128},
    Architecture{"sm_121", "DGX Spark",               121, 1536, 24, 1024, 64_K, 64_K, 255, false, 256, 4, 100_K, 48_K,  99_K, 1_K,  128},
};
// clang-format on

// Compute capabilities that behave as another one does. CUDA 13 renamed sm_101 to sm_110.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kAliases{{
    {"sm_10", "g80"},
    {"sm_11", "g80"},
    {"sm_12", "gt200"},
    {"sm_13", "gt200"},
    {"sm_20", "fermi"},
    {"sm_21", "fermi"},
    {"sm_101", "sm_110"},
}};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// "compute_90", "SM_90a", "sm_100f" -> "sm_90", "sm_90", "sm_100"; "sm_10" -> "g80".
std::string canonical(std::string_view text) {
  std::string key = lower(text);
  if (key.starts_with("compute_")) key.replace(0, 7, "sm");
  if (key.starts_with("sm_") && key.size() > 4 && (key.back() == 'a' || key.back() == 'f')) key.pop_back();
  for (const auto& [from, to] : kAliases)
    if (key == from) return std::string(to);
  return key;
}

template <typename Integer>
constexpr Integer round_up(Integer value, Integer unit) {
  return (value + unit - 1) / unit * unit;
}

constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

/// Registers that one block takes, as the launch check counts them.
std::uint32_t registers_per_block(const Architecture& arch, std::uint32_t warps, std::uint32_t per_thread) {
  const std::uint32_t whole_warps = round_up(warps, arch.warp_granularity);
  const std::uint32_t per_warp = per_thread * kThreadsPerWarp;
  return arch.registers_by_block ? round_up(whole_warps * per_warp, arch.register_granularity)
                                 : whole_warps * round_up(per_warp, arch.register_granularity);
}

std::uint32_t blocks_by_registers(const Architecture& arch, std::uint32_t warps, std::uint32_t per_thread) {
  if (per_thread == 0) return kUnlimited;
  if (arch.registers_by_block) return arch.registers_per_sm / registers_per_block(arch, warps, per_thread);
  // Each partition of the SM has its own register file; a block's warps may lie in any of them.
  const std::uint32_t per_warp = round_up(per_thread * kThreadsPerWarp, arch.register_granularity);
  const std::uint32_t warps_by_registers =
      arch.registers_per_sm / arch.warp_granularity / per_warp * arch.warp_granularity;
  return warps_by_registers / warps;
}

/// Fills in why not even one block can run; false if one can.
bool cannot_launch(const Architecture& arch, const KernelResources& kernel, std::uint32_t warps,
                   Occupancy& out) {
  const auto refuse = [&](Limit limit, std::string reason) {
    out.limit = limit;
    out.reason = std::move(reason);
    return true;
  };
  if (kernel.threads_per_block > arch.threads_per_block)
    return refuse(Limit::threads, fmt::format("{} threads a block exceed the {} of {}; launch smaller blocks",
                                              kernel.threads_per_block, arch.threads_per_block, arch.name));
  if (kernel.registers_per_thread > arch.registers_per_thread)
    return refuse(
        Limit::registers,
        fmt::format(
            "{} registers a thread exceed the {} of {}; compile with --maxrregcount or __launch_bounds__",
            kernel.registers_per_thread, arch.registers_per_thread, arch.name));
  if (const std::uint32_t taken = registers_per_block(arch, warps, kernel.registers_per_thread);
      taken > arch.registers_per_block)
    return refuse(Limit::registers,
                  fmt::format("{} registers a block ({} threads of {}, rounded up) exceed the {} of {}; "
                              "compile with __launch_bounds__({}) or launch smaller blocks",
                              taken, kernel.threads_per_block, kernel.registers_per_thread,
                              arch.registers_per_block, arch.name, kernel.threads_per_block));
  if (out.exceeds_static_limit)
    return refuse(Limit::shared_memory,
                  fmt::format("{} bytes of static shared memory ({:#x}) exceed the {} ({:#x}) that ptxas "
                              "accepts for {}; let arrays share storage, or make them dynamic",
                              kernel.shared_static, kernel.shared_static, arch.shared_per_block_static,
                              arch.shared_per_block_static, arch.name));
  if (kernel.shared_dynamic > arch.shared_per_block_optin - kernel.shared_static)
    return refuse(
        Limit::shared_memory,
        fmt::format(
            "{} static + {} dynamic bytes of shared memory exceed the {} a block of {}; let arrays share storage, or use smaller tiles",
            kernel.shared_static, kernel.shared_dynamic, arch.shared_per_block_optin, arch.name));
  return false;
}

}  // namespace

std::span<const Architecture> architectures() { return kKnown; }

const Architecture& architecture(std::string_view name) {
  const std::string key = canonical(name);
  std::vector<std::string_view> names;
  for (const Architecture& arch : kKnown) {
    if (lower(arch.name) == key) return arch;
    names.push_back(arch.name);
  }
  throw BadInput(fmt::format("architecture '{}' is not known; use one of {}", name, fmt::join(names, ", ")));
}

std::string_view name(Limit limit) {
  switch (limit) {
    case Limit::none:
      return "none";
    case Limit::threads:
      return "threads";
    case Limit::blocks:
      return "blocks";
    case Limit::registers:
      return "registers";
    case Limit::shared_memory:
      return "shared memory";
  }
  refuse_enumerator(limit, "the limit");
}

Occupancy occupancy(const Architecture& arch, const KernelResources& kernel) {
  if (kernel.threads_per_block == 0)
    throw BadInput(fmt::format("occupancy on {}: threads per block is 0; give at least 1", arch.name));

  for (const auto& [what, value] : {std::pair{"threads_per_sm", arch.threads_per_sm},
                                    {"blocks_per_sm", arch.blocks_per_sm},
                                    {"register_granularity", arch.register_granularity},
                                    {"warp_granularity", arch.warp_granularity},
                                    {"shared_granularity", arch.shared_granularity}})
    if (value == 0)
      throw BadInput(fmt::format("occupancy on '{}': {} is 0; give at least 1", arch.name, what));
  Occupancy out;
  out.exceeds_static_limit = kernel.shared_static > arch.shared_per_block_static;
  const std::uint32_t warps = (kernel.threads_per_block - 1) / kThreadsPerWarp + 1;
  if (cannot_launch(arch, kernel, warps, out)) return out;

  const auto shared = static_cast<std::uint32_t>(kernel.shared_static + kernel.shared_dynamic);
  const std::uint32_t shared_taken = round_up(shared + arch.shared_reserved, arch.shared_granularity);
  out.needs_opt_in = shared > arch.shared_per_block_static;

  const std::uint32_t sm_warps = arch.threads_per_sm / kThreadsPerWarp;
  const std::pair<Limit, std::uint32_t> limits[] = {
      {Limit::threads, sm_warps / warps},
      {Limit::blocks, arch.blocks_per_sm},
      {Limit::registers, blocks_by_registers(arch, warps, kernel.registers_per_thread)},
      {Limit::shared_memory, shared_taken == 0 ? kUnlimited : arch.shared_per_sm / shared_taken},
  };
  std::tie(out.limit, out.blocks) =
      *std::ranges::min_element(limits, {}, &std::pair<Limit, std::uint32_t>::second);
  out.active_threads = out.blocks * kernel.threads_per_block;
  out.fraction = static_cast<double>(out.blocks * warps) / sm_warps;
  return out;
}

}  // namespace warploom::hw
