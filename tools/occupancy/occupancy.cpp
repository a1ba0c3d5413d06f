#include "warploom/hw/occupancy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>

#include "cli/verb.hpp"
#include "warploom/core/demangle.hpp"
#include "warploom/core/error.hpp"
#include "warploom/json/json.hpp"
#include "warploom/ptx/module.hpp"
#include "warploom/reuse/launchability.hpp"

namespace warploom::tool {
namespace {

using hw::Architecture;
using reuse::BlockShape;
using reuse::KernelLaunch;
using reuse::LaunchOn;
using reuse::Origin;

struct Options {
  std::string path, kernel, architectures, block, fail_below;
  std::uint64_t dynamic = 0;
  std::uint32_t registers = 0;  // 0: not given
  bool no_ptxas = false, json = false;
};

/// The gate of --fail-below: a number of blocks, or a part of the warps that an SM holds.
struct Gate {
  double least = 0;
  bool percent = false;

  bool passes(const hw::Occupancy& occupancy) const {
    // A percentage is compared as it is printed: 66.7 % passes 66.7%.
    return percent ? occupancy.fraction * 100 + 0.05 >= least : occupancy.blocks >= least;
  }
};

std::optional<Gate> parse_gate(std::string_view text) {
  if (text.empty()) return std::nullopt;
  Gate gate;
  gate.percent = text.ends_with('%');
  const std::string_view number = gate.percent ? text.substr(0, text.size() - 1) : text;
  std::uint32_t blocks = 0;
  const bool good = gate.percent ? parse_whole(number, gate.least) && gate.least >= 0 && gate.least <= 100
                                 : parse_whole(number, blocks);
  if (!good)
    throw BadInput(fmt::format(
        "--fail-below: '{}' is neither a number of blocks (2) nor a percentage from 0% to 100% (50%)", text));
  if (!gate.percent) gate.least = blocks;
  return gate;
}

/// Without --arch: the module's own and those that differ in shared memory or threads and can run it.
std::vector<const hw::Architecture*> default_architectures(const ptx::Module& module) {
  std::vector<const hw::Architecture*> out;
  for (const hw::Architecture& arch : hw::architectures()) {
    const bool usual = std::ranges::count(std::array{75, 80, 86, 90, 100, 120}, arch.compute_capability) > 0;
    const int target = static_cast<int>(module.sm);
    if (arch.compute_capability == target || (usual && arch.compute_capability > target))
      out.push_back(&arch);
  }
  return out;
}

std::vector<const hw::Architecture*> parse_architectures(std::string_view text, const ptx::Module& module) {
  if (text.empty()) return default_architectures(module);
  std::vector<const hw::Architecture*> out;
  if (text == "all")
    for (const hw::Architecture& arch : hw::architectures()) out.push_back(&arch);
  else
    for (const std::string& name : split(text, ',')) out.push_back(&hw::architecture(name));
  return out;
}

bool bound_only(const KernelLaunch& kernel) { return !kernel.threads.has_value(); }

std::string row(const KernelLaunch& kernel, const LaunchOn& on) {
  const hw::Occupancy& occupancy = on.occupancy;
  std::string text = fmt::format(
      "  {:<7}{:>10}{:>9}", on.architecture->name,
      on.registers_from == Origin::unknown ? "?" : std::to_string(on.resources.registers_per_thread),
      on.resources.shared_static + on.resources.shared_dynamic);
  if (occupancy.blocks == 0) return text + fmt::format("  cannot launch: {}\n", occupancy.reason);
  if (bound_only(kernel)) {
    text += fmt::format("{:>11}", fmt::format("<= {}", occupancy.blocks));
    text += fmt::format("{:>9}{:>11}  {}", "?", "?", name(occupancy.limit));
  } else {
    text += fmt::format("{:>11}{:>9}{:>9.1f} %  {}", occupancy.blocks, occupancy.active_threads,
                        occupancy.fraction * 100, name(occupancy.limit));
  }
  if (on.spill_bytes > 0) text += fmt::format("; {} bytes a thread spilled", on.spill_bytes);
  if (occupancy.needs_opt_in) text += "; needs cudaFuncAttributeMaxDynamicSharedMemorySize";
  return text + "\n";
}

std::string as_text(const reuse::Launchability& result, const Options& options) {
  std::string text;
  for (const KernelLaunch& kernel : result.kernels) {
    text += fmt::format("{}\n  ", demangle(kernel.name));
    if (kernel.threads)
      text += fmt::format("{} threads a block ({})", *kernel.threads,
                          kernel.threads_from == Origin::given ? "--block" : name(kernel.threads_from));
    else
      text += "block size not known, give --block";
    text += fmt::format(
        "; {} bytes of shared memory declared, {} dynamic{}{}\n", kernel.declared.bytes, options.dynamic,
        kernel.declared.dynamic && options.dynamic == 0 ? " (it uses some: give --dynamic)" : "",
        kernel.cluster ? "; launched in clusters, which can leave fewer blocks" : "");
    text += fmt::format("  {:<7}{:>10}{:>9}{:>11}{:>9}{:>11}  {}\n", "arch", "registers", "shared",
                        "blocks/SM", "threads", "occupancy", "limited by");
    for (const LaunchOn& on : kernel.on) text += row(kernel, on);
  }
  if (result.kernels.empty()) text += fmt::format("{}: no kernels\n", input_name(options.path));
  if (!options.no_ptxas && options.registers == 0)
    for (const auto& [arch, why] : result.ptxas_notes)
      text += fmt::format("registers not known on {}: {}\n", arch, why);
  return text;
}

Json as_json(const KernelLaunch& kernel, const LaunchOn& on) {
  const hw::Occupancy& occupancy = on.occupancy;
  const bool known = on.registers_from != Origin::unknown;
  Json out = {{"architecture", on.architecture->name},
              {"example", on.architecture->example},
              {"launches", occupancy.blocks > 0},
              {"blocks_per_multiprocessor", occupancy.blocks},
              {"upper_bound", bound_only(kernel)},
              {"active_threads", bound_only(kernel) ? Json() : Json(occupancy.active_threads)},
              {"occupancy", bound_only(kernel) ? Json() : Json(occupancy.fraction)},
              {"limit", name(occupancy.limit)},
              {"registers", known ? Json(on.resources.registers_per_thread) : Json()},
              {"registers_from", name(on.registers_from)},
              {"static_shared_bytes", on.resources.shared_static},
              {"static_shared_from", name(on.shared_from)},
              {"spilled_bytes_per_thread", on.spill_bytes},
              {"needs_opt_in", occupancy.needs_opt_in}};
  if (!occupancy.reason.empty()) out["reason"] = occupancy.reason;
  return out;
}

Json as_json(const reuse::Launchability& result, const ptx::Module& module, const Options& options) {
  Json kernels = Json::array();
  for (const KernelLaunch& kernel : result.kernels) {
    Json on = Json::array();
    for (const LaunchOn& each : kernel.on) on.push_back(as_json(kernel, each));
    kernels.push_back({{"name", kernel.name},
                       {"demangled", demangle(kernel.name)},
                       {"threads_per_block", kernel.threads ? Json(*kernel.threads) : Json()},
                       {"threads_from", name(kernel.threads_from)},
                       {"declared_shared_bytes", kernel.declared.bytes},
                       {"dynamic_shared_bytes", options.dynamic},
                       {"uses_dynamic_shared", kernel.declared.dynamic},
                       {"cluster", kernel.cluster},
                       {"on", std::move(on)}});
  }
  return {{"file", module.file},
          {"target", module.target},
          {"kernels", std::move(kernels)},
          {"ptxas_notes", result.ptxas_notes}};
}

std::string blocks_text(std::uint32_t n) { return fmt::format("{} block{}", n, n == 1 ? "" : "s"); }

/// One line for each kernel and architecture below the gate.
std::vector<std::string> below(const reuse::Launchability& result, const Gate& gate, std::string_view asked) {
  std::vector<std::string> out;
  for (const KernelLaunch& kernel : result.kernels) {
    const auto unlaunchable = [](const LaunchOn& on) { return on.occupancy.blocks == 0; };
    if (bound_only(kernel) && !std::ranges::all_of(kernel.on, unlaunchable))
      throw BadInput(fmt::format(
          "--fail-below: the block size of {} is not known; give --block, or choose a kernel with --kernel",
          demangle(kernel.name)));
    for (const LaunchOn& on : kernel.on)
      if (!gate.passes(on.occupancy))
        out.push_back(fmt::format("{} on {}: {} resident a multiprocessor, {:.1f} %, is below {}",
                                  demangle(kernel.name), on.architecture->name,
                                  blocks_text(on.occupancy.blocks), on.occupancy.fraction * 100, asked));
  }
  return out;
}

int run(const Options& options) {
  const std::optional<Gate> gate = parse_gate(options.fail_below);
  reuse::LaunchOptions with;
  if (!options.block.empty()) with.block = parse_block(options.block);
  with.shared_dynamic = options.dynamic;
  with.use_ptxas = !options.no_ptxas;
  if (options.registers > 0) with.registers = options.registers;
  const ptx::Module module = ptx::parse(read_input(options.path), input_name(options.path));
  with.architectures = parse_architectures(options.architectures, module);
  if (!options.kernel.empty()) with.kernel = kernel_name(module, options.kernel);

  const reuse::Launchability result = reuse::launchability(module, with);
  const std::vector<std::string> failed =
      gate ? below(result, *gate, options.fail_below) : std::vector<std::string>{};
  if (options.json) {
    Json json = as_json(result, module, options);
    if (gate) json["below"] = failed;
    print_json(json);
  } else {
    print(as_text(result, options));
    for (const std::string& line : failed) print(line + "\n");
  }
  return failed.empty() ? kDone : kFinding;
}

std::function<int()> add(Command& command) {
  auto options = std::make_shared<Options>();
  command.add("FILE", &options->path, "PTX to read, '-' for standard input").required();
  command.add("--kernel NAME", &options->kernel,
              "Only this kernel: its name in the PTX, or a part of its C++ name");
  command.add(
      "--arch LIST", &options->architectures,
      "Architectures, separated by commas: G80, GT200, Fermi, sm_70 to sm_121, or all [the PTX's target and the usual ones above it]");
  command.add("--block X,Y,Z", &options->block,
              "Block size [threads], at most 1024,1024,64 [.reqntid, else .maxntid of the kernel]");
  command.add(
      "--dynamic BYTES",
      [options](const std::string& text) {
        if (!parse_whole(text, options->dynamic))
          throw BadInput(fmt::format("--dynamic: '{}' is not a number of bytes", text));
      },
      "Dynamic shared memory of the launch [bytes a block] [0]");
  command.add("--regs N", &options->registers, "Registers a thread, 1 to 255 [what ptxas says]")
      .range(1, 255);
  command.add("--no-ptxas", &options->no_ptxas, "Do not run ptxas: registers are unknown without --regs");
  command.add(
      "--fail-below BLOCKS|PERCENT%", &options->fail_below,
      "Exit with 1 if a kernel has fewer resident blocks a multiprocessor (2), or less occupancy (50%), on any architecture listed");
  command.add_json(options->json);
  return [options] { return run(*options); };
}

}  // namespace

Verb occupancy_verb() {
  return {"occupancy",
          "Say which kernels of a PTX file launch, how many blocks are resident, and what limits them",
          "warploom occupancy k.ptx --block 16,16 --dynamic 32768 --arch sm_80,sm_90 --fail-below 2\n"
          "Exit codes: 0 done, 1 a kernel is below --fail-below, 2 bad usage or input.",
          add};
}

}  // namespace warploom::tool
