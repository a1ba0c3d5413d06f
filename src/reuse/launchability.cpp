#include "warploom/reuse/launchability.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "core/doors.hpp"
#include "reuse/shared_layout.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::reuse {
namespace {

/// The name to give ptxas: that of the module's target (sm_90a) where it is this architecture's.
std::string ptxas_name(const ptx::Module& module, const hw::Architecture& arch) {
  if (static_cast<int>(module.sm) != arch.compute_capability) return std::string(arch.name);
  return std::string(module.target.substr(0, module.target.find_first_of(", ")));
}

struct Assembled {
  PtxasRun run;
  bool linked = true;  ///< false: names are left to the device linker, shared memory is not all there
};

Assembled assemble(const ptx::Module& module, const hw::Architecture& arch, const LaunchOptions& options) {
  Assembled out;
  if (!options.use_ptxas) return {.run = {.kernels = {}, .error = "ptxas was not asked"}};
  if (!arch.name.starts_with("sm_"))
    return {.run = {.kernels = {}, .error = fmt::format("no ptxas that reads this PTX knows {}", arch.name)}};
  PtxasOptions with = options.ptxas;
  with.file = module.file;
  const std::string target = ptxas_name(module, arch);
  std::optional<PtxasRun> run = run_ptxas(module.text, target, with);
  if (run && run->error.find("Unresolved extern") != std::string::npos) {
    out.linked = false;
    with.arguments.emplace_back("--compile-only");
    run = run_ptxas(module.text, target, with);
  }
  out.run =
      run ? *std::move(run)
          : PtxasRun{
                .kernels = {},
                .error =
                    "there is no ptxas on $PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin; give --regs"};
  return out;
}

std::uint64_t count(const BlockShape& shape) { return std::uint64_t{1} * shape[0] * shape[1] * shape[2]; }

std::uint32_t saturated(std::uint64_t threads) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(threads, 0xffffffffu));
}

void decide_threads(const ptx::Function& kernel, const LaunchOptions& options, KernelLaunch& out) {
  const auto decide = [&](const BlockShape& shape, Origin origin) {
    out.threads = saturated(count(shape));
    out.threads_from = origin;
  };
  if (options.block) return decide(*options.block, Origin::given);
  if (kernel.required_threads) return decide(*kernel.required_threads, Origin::required_threads);
  if (kernel.maximal_threads) return decide(*kernel.maximal_threads, Origin::maximal_threads);
}

/// Why the driver would refuse the block that was asked for; empty if it would not.
std::string refused_block(const ptx::Function& kernel, const std::optional<BlockShape>& block) {
  if (!block) return {};
  if (kernel.required_threads && *block != *kernel.required_threads)
    return fmt::format("a block of {} threads is not the {} that .reqntid demands", fmt::join(*block, "x"),
                       fmt::join(*kernel.required_threads, "x"));
  if (kernel.maximal_threads && count(*block) > count(*kernel.maximal_threads))
    return fmt::format(
        "a block of {} threads exceeds the {} of .maxntid; compile with larger __launch_bounds__",
        count(*block), count(*kernel.maximal_threads));
  return {};
}

LaunchOn launch_on(const hw::Architecture& arch, const KernelLaunch& kernel, const Assembled& assembled,
                   const LaunchOptions& options) {
  LaunchOn out{.architecture = &arch, .resources = {}, .occupancy = {}};
  out.resources.threads_per_block = kernel.threads.value_or(hw::kThreadsPerWarp);
  out.resources.shared_static = kernel.declared.bytes;
  out.resources.shared_dynamic = options.shared_dynamic;
  if (const auto usage = assembled.run.kernels.find(kernel.name); usage != assembled.run.kernels.end()) {
    out.resources.registers_per_thread = usage->second.registers;
    out.registers_from = Origin::ptxas;
    out.spill_bytes = usage->second.spill_stores + usage->second.spill_loads;
    if (assembled.linked) {
      out.resources.shared_static = usage->second.shared;
      out.shared_from = Origin::ptxas;
    }
  }
  if (options.registers) {
    out.resources.registers_per_thread = *options.registers;
    out.registers_from = Origin::given;
  }
  out.occupancy = hw::occupancy(arch, out.resources);
  return out;
}

std::string no_such_kernel(const ptx::Module& module, std::string_view asked,
                           const std::vector<std::string_view>& names) {
  constexpr std::size_t kMost = 10;
  const auto shown = std::span(names).first(std::min(names.size(), kMost));
  return fmt::format("{}: there is no kernel '{}'; there {} {}{}", module.file, asked,
                     names.size() == 1 ? "is" : "are",
                     names.empty() ? "none" : fmt::format("{}", fmt::join(shown, ", ")),
                     names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "");
}

}  // namespace

std::string_view name(Origin origin) {
  switch (origin) {
    case Origin::unknown:
      return "unknown";
    case Origin::given:
      return "given";
    case Origin::required_threads:
      return ".reqntid";
    case Origin::maximal_threads:
      return ".maxntid";
    case Origin::ptxas:
      return "ptxas";
    case Origin::declared:
      return "declared";
    case Origin::recorded:
      return "recorded launches";
  }
  refuse_enumerator(origin, "the origin");
}

SharedDeclared shared_declared(const ptx::Module& module, const ptx::Function& kernel) {
  if (std::ranges::none_of(module.functions, [&](const ptx::Function& known) { return &known == &kernel; }))
    throw BadInput(fmt::format("{}: '{}' is no function of the module", module.file, kernel.name));
  const SharedLayout layout(module, kernel);
  return {.bytes = layout.bytes(), .dynamic = layout.dynamic()};
}

Launchability launchability(const ptx::Module& module, const LaunchOptions& options) {
  for (const hw::Architecture* architecture : options.architectures)
    if (architecture == nullptr) throw BadInput("launchability: one of the architectures is a null pointer");
  Launchability out;
  std::vector<const ptx::Function*> kernels;
  std::vector<std::string_view> names;
  for (const ptx::Function& f : module.functions) {
    if (!f.entry || !f.has_body) continue;
    names.push_back(f.name);
    if (options.kernel.empty() || f.name == options.kernel) kernels.push_back(&f);
  }
  if (kernels.empty() && !options.kernel.empty())
    throw BadInput(no_such_kernel(module, options.kernel, names));

  std::vector<Assembled> assembled;
  if (!kernels.empty()) {
    Progress progress("asking ptxas", options.architectures.size(), "architectures");
    for (const hw::Architecture* arch : options.architectures) {
      assembled.push_back(assemble(module, *arch, options));
      progress.advance();
      if (!assembled.back().run.ok()) out.ptxas_notes.emplace(arch->name, assembled.back().run.error);
    }
  }
  for (const ptx::Function* f : kernels) {
    KernelLaunch kernel;
    kernel.name = f->name;
    kernel.declared = shared_declared(module, *f);
    kernel.cluster = f->cluster;
    decide_threads(*f, options, kernel);
    const std::string refused = refused_block(*f, options.block);
    for (std::size_t i = 0; i < assembled.size(); ++i) {
      LaunchOn on = launch_on(*options.architectures[i], kernel, assembled[i], options);
      if (!refused.empty()) {
        on.occupancy = {};
        on.occupancy.limit = hw::Limit::threads;
        on.occupancy.reason = refused;
      }
      kernel.on.push_back(std::move(on));
    }
    out.kernels.push_back(std::move(kernel));
  }
  return out;
}

}  // namespace warploom::reuse
