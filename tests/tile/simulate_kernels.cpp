#include "simulate_kernels.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "tile/kernels/cuda_text.hpp"
#include "warploom/core/file.hpp"
#include "warploom/ptx/module.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::tile::test {
namespace {

using Names = std::map<std::string, std::int64_t>;

struct Compiled {
  std::string output, log;
};
Compiled compile(const std::string& text, const std::string& options) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("warploom_kernels_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const std::string base = (folder / "kernels").string();
  std::ofstream(base + ".cu") << text;
#ifdef WARPLOOM_NVCC
  const std::string compiler = WARPLOOM_NVCC;
#else
  const std::string compiler = "false";
#endif
  const std::string command =
      fmt::format("{0} -std=c++20 {2} -o {1}.out {1}.cu > {1}.log 2>&1", compiler, base, options);
  const int status = std::system(command.c_str());
  const auto read = [](const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  };
  const Compiled compiled{read(base + ".out"), read(base + ".log")};
  std::filesystem::remove_all(folder);
  if (status != 0) throw std::runtime_error("nvcc: " + compiled.log + "\n" + text);
  return compiled;
}

}  // namespace

bool have_kernel_compiler() {
#ifdef WARPLOOM_NVCC
  return true;
#else
  return false;
#endif
}

std::string assembler_report(const std::string& cuda, const std::string& architecture) {
  return compile(cuda, "-cubin -Xptxas -v -arch=" + architecture).log;
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

struct SimulatedKernels::State {
  sim::Machine machine;
};

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
  std::string text = "#include <cstdint>\n" + cuda_helpers(kernels) + constants + kernels;
  for (std::size_t at = 0; (at = text.find("__global__", at)) != std::string::npos; at += 21)
    text.insert(at, "extern \"C\" ");
  state_ = std::make_unique<State>(
      State{sim::Machine(ptx::parse(compile(text, "-ptx -lineinfo -arch=sm_80").output, "kernels.ptx"))});
}

SimulatedKernels::~SimulatedKernels() = default;

SimulatedKernels::Run SimulatedKernels::run(const Nest& nest, const GpuProgram& program,
                                            const Memory& before) const {
  return tool::simulate(
      state_->machine, nest, program, [](const std::string& name) { return name; }, before);
}

double SimulatedKernels::difference(const Nest& nest, const GpuProgram& program,
                                    const std::map<std::string, std::int64_t>& sizes,
                                    std::vector<std::string>& findings, std::uint64_t values) const {
  const Memory before = make_memory(nest.region(), sizes, values);
  Memory want = before;
  interpret(nest.region(), nest.region().body, want);
  const Run got = run(nest, program, before);
  findings.insert(findings.end(), got.findings.begin(), got.findings.end());
  return tool::difference(nest, got.memory, want);
}

}  // namespace warploom::tile::test
