#include "simulate_kernels.hpp"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

#include "tile/kernels/cuda_text.hpp"

namespace warploom::tile::test {
namespace {

#ifndef WARPLOOM_NVCC
#define WARPLOOM_NVCC ""
#endif
constexpr std::string_view kCompiler = WARPLOOM_NVCC;

Compiled compile(const std::string& text, const std::vector<std::string>& options) {
  const Compiled compiled = compile_cuda(kCompiler, text, options);
  if (!compiled.good) throw std::runtime_error("nvcc: " + compiled.log + "\n" + text);
  return compiled;
}

}  // namespace

bool have_kernel_compiler() { return !kCompiler.empty(); }

std::string assembler_report(const std::string& cuda, const std::string& architecture) {
  return compile(cuda, {"-std=c++20", "-cubin", "-Xptxas", "-v", "-arch=" + architecture}).log;
}

GpuProgram in_order(std::vector<Kernel> kernels, std::vector<Temporary> temporaries) {
  GpuProgram program;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    Node launch;
    launch.kind = Node::Kind::launch;
    launch.statement = static_cast<int>(i);
    program.host.children.push_back(launch);
  }
  program.kernels = std::move(kernels);
  program.temporaries = std::move(temporaries);
  return program;
}

SimulatedKernels::SimulatedKernels(const std::vector<GpuProgram>& programs) {
  std::string kernels, constants;
  std::set<std::string> declared;
  for (const GpuProgram& program : programs)
    for (const Kernel& kernel : program.kernels) {
      kernels += kernel.text + "\n";
      for (const ConstantCopy& constant : kernel.constants)
        if (declared.insert(constant.symbol).second)
          constants += fmt::format("__constant__ {} {}[{}];\n", c_name(constant.type), constant.symbol,
                                   constant.elements);
    }
  const std::string text = "#include <cstdint>\n" + cuda_helpers(kernels) + constants + kernels;
  const Compiled ptx = compile(text, {"-std=c++20", "-ptx", "-lineinfo", "-arch=sm_80"});
  machine_ = std::make_unique<sim::Machine>(ptx::parse(ptx.output, "kernels.ptx"));
}

Simulated SimulatedKernels::run(const Nest& nest, const GpuProgram& program, const Memory& before) const {
  return simulate(*machine_, nest, program, before);
}

double SimulatedKernels::difference(const Nest& nest, const GpuProgram& program,
                                    const std::map<std::string, std::int64_t>& sizes,
                                    std::vector<std::string>& findings, std::uint64_t values) const {
  const Memory before = make_memory(nest.region(), sizes, values);
  Memory want = before;
  interpret(nest.region(), nest.region().body, want);
  const Simulated got = run(nest, program, before);
  findings.insert(findings.end(), got.findings.begin(), got.findings.end());
  return largest_difference(nest, got.memory, want);
}

}  // namespace warploom::tile::test
