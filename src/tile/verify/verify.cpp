#include "warploom/tile/verify.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "warploom/core/file.hpp"
#include "warploom/core/process.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::tile {
namespace {

// Sums of some hundred floats in another order, fused multiply-adds: some dozen roundings of 6e-8.
constexpr double kTolerance = 1e-4;

constexpr std::chrono::minutes kCompileTime(30);

std::string compile(const std::string& cuda, const std::string& architecture) {
  const std::optional<std::filesystem::path> nvcc = find_cuda_tool("nvcc");
  if (!nvcc)
    throw BadInput(
        "`verify` needs nvcc, which is neither in $PATH nor in $CUDA_HOME/bin nor in /usr/local/cuda/bin; "
        "install the CUDA toolkit");
  const Compiled compiled =
      compile_cuda(*nvcc, cuda, {"-std=c++17", "-ptx", "-lineinfo", "-arch=" + architecture});
  // nvcc starts the host's compiler even where there is only device code.
  if (!compiled.good && !find_program("gcc") && compiled.log.find("gcc") != compiled.log.npos)
    throw BadInput(
        "`verify`: nvcc needs the C++ compiler gcc, which is not in $PATH; install it (Debian: g++)");
  if (!compiled.good && compiled.log.starts_with("nvcc fatal"))  // what it says of its options
    throw BadInput(
        fmt::format("`verify` `arch` {}: {}", architecture, compiled.log.substr(0, compiled.log.find('\n'))));
  if (!compiled.good)
    throw Internal(fmt::format("nvcc does not take the CUDA that was written:\n{}", compiled.log));
  return compiled.output;
}

/// Sizes that are no multiples of a tile, as small as one and larger than a warp; known ones stay if they are
/// small.
std::vector<std::map<std::string, std::int64_t>> sizes_to_try(const Nest& nest) {
  std::vector<std::map<std::string, std::int64_t>> all;
  for (const std::int64_t least : {2, 7, 33}) {
    std::map<std::string, std::int64_t> sizes;
    for (const std::string& name : nest.region().sizes) {
      std::int64_t size = least + 3 * static_cast<std::int64_t>(sizes.size());
      for (const SizeRange& range : nest.sizes())
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
void check_work(const Nest& nest, const GpuProgram& program, const GpuOptions& options) {
  constexpr double most = 2e9;
  for (const auto& sizes : sizes_to_try(nest)) {
    double work = 0;
    for (const Cost& kernel : cost(nest, program, options, sizes))
      work += kernel.operations + kernel.global_bytes / 4;
    if (work <= most) continue;
    const Region& region = nest.region();
    throw BadInput(fmt::format(
        "{}:{}: {}: `verify` would simulate {:.1e} operations and accesses, more than the {:.0e} that take some minutes; {}",
        region.file, region.at.line, region.function, work, most,
        region.sizes.empty() ? "make its numbers smaller"
                             : fmt::format("{} is large: allow small sizes, as `size` {}=1..1000",
                                           sizes_text(sizes), region.sizes.front())));
  }
}

/// Runs one module at all sizes to try.
void try_module(const Nest& nest, const GpuProgram& program, const std::string& title, const std::string& ptx,
                Verification& result) {
  const Region& region = nest.region();
  sim::Machine machine(ptx::parse(ptx, region.function + ".ptx"));
  for (const auto& sizes : sizes_to_try(nest)) {
    check_interrupt();
    const Memory before = make_memory(region, sizes, 1);
    Memory want = before;
    interpret(region, region.body, want);
    const Simulated got = simulate(machine, nest, program, before);
    const double apart = largest_difference(nest, got.memory, want);
    const bool good = got.findings.empty() && apart <= kTolerance;
    result.good &= good;
    result.text += fmt::format("  {:<10} {}: {}, differs by {:.1e}\n", title, sizes_text(sizes),
                               good ? "agrees" : "DISAGREES", apart);
    for (const std::string& finding : got.findings) result.text += "    " + finding + "\n";
  }
}

}  // namespace

Compiled compile_cuda(const std::filesystem::path& nvcc, std::string_view text,
                      const std::vector<std::string>& options) {
  const TemporaryDirectory directory;
  const std::filesystem::path source = directory.path() / "nest.cu", output = directory.path() / "nest.out";
  write_file_atomically(source, text);
  Words words{nvcc.string()};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"-o", output.string(), source.string()});
  const Answer answer = ask_program(words, kCompileTime);
  if (!answer.failure.empty() || answer.status != 0) return {false, "", answer.output + answer.failure};
  return {true, read_file(output), answer.output};
}

Verification verify(const Nest& nest, const GpuProgram& program, const std::string& cuda,
                    const GpuOptions& options) {
  check_work(nest, program, options);
  const std::string ptx = compile(cuda, options.architecture);
  const std::string& function = nest.region().function;
  Verification result;
  result.text = fmt::format("{}: {} kernel{} in the simulator, with races looked for\n", function,
                            program.kernels.size(), program.kernels.size() == 1 ? "" : "s");
  try_module(nest, program, "compiled", ptx, result);
  reuse::Options rewrite;
  rewrite.when = reuse::When::always;
  rewrite.assemble = false;
  const reuse::Result rewritten = reuse::optimize(ptx, rewrite, function + ".ptx");
  for (const reuse::KernelReport& kernel : rewritten.report.kernels)
    result.text += fmt::format("  reuse      {}: {}, shared memory {} -> {} bytes{}\n", kernel.name,
                               reuse::name(kernel.verdict), kernel.bytes_before, kernel.bytes_after,
                               kernel.reason.empty() ? "" : "; " + kernel.reason);
  if (rewritten.text != ptx) try_module(nest, program, "rewritten", rewritten.text, result);
  return result;
}

}  // namespace warploom::tile
