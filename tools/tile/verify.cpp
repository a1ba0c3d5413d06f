#include "verify.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <algorithm>

#include "cli/process.hpp"
#include "cli/verb.hpp"
#include "simulate.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::tool {
namespace {

// Sums of some hundred floats in another order, fused multiply-adds: some dozen roundings of 6e-8.
constexpr double tolerance = 1e-4;

std::string compile(const std::string& cuda, const std::string& architecture) {
  const std::optional<std::filesystem::path> nvcc = find_cuda_tool("nvcc");
  if (!nvcc)
    throw BadInput(
        "--verify needs nvcc, which is neither in $PATH nor in $CUDA_HOME/bin nor in /usr/local/cuda/bin");
  const TemporaryDirectory directory;
  const std::filesystem::path source = directory.path() / "nest.cu", ptx = directory.path() / "nest.ptx",
                              log = directory.path() / "log";
  write_file_atomically(source, cuda);
  const int status = run_program({nvcc->string(), "-std=c++17", "-ptx", "-lineinfo", "-arch=" + architecture,
                                  "-o", ptx.string(), source.string()},
                                 {log, log});
  check_interrupt();
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) throw Interrupted();
  if (status != 0 && read_file(log).starts_with("nvcc fatal"))  // what it says of its options
    throw BadInput(fmt::format("--verify --arch {}: {}", architecture, split(read_file(log), '\n').front()));
  if (status != 0)
    throw Internal(fmt::format("nvcc does not take the CUDA that was written:\n{}", read_file(log)));
  return read_file(ptx);
}

/// Sizes that are no multiples of a tile, as small as one and larger than a warp; known ones stay if they are
/// small.
std::vector<std::map<std::string, std::int64_t>> sizes_to_try(const tile::Nest& nest) {
  std::vector<std::map<std::string, std::int64_t>> all;
  for (const std::int64_t least : {2, 7, 33}) {
    std::map<std::string, std::int64_t> sizes;
    for (const std::string& name : nest.region().sizes) {
      std::int64_t size = least + 3 * static_cast<std::int64_t>(sizes.size());
      for (const tile::SizeRange& range : nest.sizes())
        if (range.name == name)
          size = std::clamp(size, range.least.value_or(size), range.most.value_or(size));
      sizes[name] = size;
    }
    if (std::ranges::find(all, sizes) == all.end()) all.push_back(sizes);
  }
  return all;
}

std::string sizes_text(const std::map<std::string, std::int64_t>& sizes) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : sizes) texts.push_back(fmt::format("{} = {}", name, value));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Refuses sizes that would keep the simulator busy for more than some minutes.
void check_work(const tile::Nest& nest, const tile::GpuProgram& program, const tile::GpuOptions& options) {
  constexpr double most = 2e9;
  for (const auto& sizes : sizes_to_try(nest)) {
    double work = 0;
    for (const tile::Cost& cost : tile::cost(nest, program, options, sizes))
      work += cost.operations + cost.global_bytes / 4;
    if (work <= most) continue;
    const tile::Region& region = nest.region();
    throw BadInput(
        fmt::format("{}:{}: {}: --verify would simulate {:.1e} operations and accesses, more than the {:.0e} "
                    "that take some "
                    "minutes; {}",
                    region.file, region.at.line, region.function, work, most,
                    region.sizes.empty() ? "make its numbers smaller"
                                         : fmt::format("{} is large: allow small sizes, as --size {}=1..1000",
                                                       sizes_text(sizes), region.sizes.front())));
  }
}

class Verifier {
 public:
  Verifier(const tile::Nest& nest, const tile::GpuProgram& program) : nest_(nest), program_(program) {}

  void try_module(const std::string& title, const std::string& ptx) {
    sim::Machine machine(ptx::parse(ptx, nest_.region().function + ".ptx"));
    const Symbol symbol = [&machine](const std::string& name) {
      for (const auto& variable : machine.module().variables)
        if (variable.name == name) return name;
      return kernel_name(machine.module(), name);
    };
    for (const auto& sizes : sizes_to_try(nest_)) {
      check_interrupt();
      const tile::Memory before = tile::make_memory(nest_.region(), sizes, 1);
      tile::Memory want = before;
      tile::interpret(nest_.region(), nest_.region().body, want);
      const Simulated got = simulate(machine, nest_, program_, symbol, before);
      const double apart = difference(nest_, got.memory, want);
      const bool good = got.findings.empty() && apart <= tolerance;
      result.good &= good;
      result.text += fmt::format("  {:<10} {}: {}, differs by {:.1e}\n", title, sizes_text(sizes),
                                 good ? "agrees" : "DISAGREES", apart);
      for (const std::string& finding : got.findings) result.text += "    " + finding + "\n";
    }
  }

  Verification result;

 private:
  const tile::Nest& nest_;
  const tile::GpuProgram& program_;
};

}  // namespace

Verification verify(const tile::Nest& nest, const tile::GpuProgram& program, const std::string& cuda,
                    const tile::GpuOptions& options) {
  check_work(nest, program, options);
  const std::string ptx = compile(cuda, options.architecture);
  Verifier verifier(nest, program);
  verifier.result.text =
      fmt::format("{}: {} kernel{} in the simulator, with races looked for\n", nest.region().function,
                  program.kernels.size(), program.kernels.size() == 1 ? "" : "s");
  verifier.try_module("compiled", ptx);
  reuse::Options rewrite;
  rewrite.when = reuse::When::always;
  rewrite.assemble = false;
  const reuse::Result rewritten = reuse::optimize(ptx, rewrite, nest.region().function + ".ptx");
  for (const reuse::KernelReport& kernel : rewritten.report.kernels)
    verifier.result.text += fmt::format("  reuse      {}: {}, shared memory {} -> {} bytes{}\n", kernel.name,
                                        reuse::name(kernel.verdict), kernel.bytes_before, kernel.bytes_after,
                                        kernel.reason.empty() ? "" : "; " + kernel.reason);
  if (rewritten.text != ptx) verifier.try_module("rewritten", rewritten.text);
  return verifier.result;
}

}  // namespace warploom::tool
