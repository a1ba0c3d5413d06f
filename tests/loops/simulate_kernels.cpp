#include "loops/simulate_kernels.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "loops/cuda_text.hpp"
#include "warploom/core/file.hpp"
#include "warploom/ptx/module.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::loops::test {
namespace {

using Names = std::map<std::string, std::int64_t>;

std::string compile(const std::string& text) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("warploom_kernels_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const std::string base = (folder / "kernels").string();
  std::ofstream(base + ".cu") << text;
#ifdef WARPLOOM_NVCC
  const std::string command = fmt::format(
      "{0} -std=c++20 -ptx -lineinfo -arch=sm_80 -o {1}.ptx {1}.cu > {1}.log 2>&1", WARPLOOM_NVCC, base);
#else
  const std::string command = "false";
#endif
  const int status = std::system(command.c_str());
  const auto read = [](const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  };
  const std::string log = read(base + ".log"), ptx = read(base + ".ptx");
  std::filesystem::remove_all(folder);
  if (status != 0) throw std::runtime_error("nvcc: " + log + "\n" + text);
  return ptx;
}

}  // namespace

bool have_kernel_compiler() {
#ifdef WARPLOOM_NVCC
  return true;
#else
  return false;
#endif
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
  state_ = std::make_unique<State>(State{sim::Machine(ptx::parse(compile(text), "kernels.ptx"))});
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

}  // namespace warploom::loops::test
