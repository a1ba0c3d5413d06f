// A CUDA runtime whose device is the simulator: a program of one source file, compiled with nvcc, is linked
// with this in place of libcudart and runs its kernels on a CPU. It has what the programs of this folder
// call.
//
//   WARPLOOM_SIM_PTX=FILE        runs this PTX in place of the program's own (which is kept uncompressed)
//   WARPLOOM_SIM_WRITE_PTX=FILE  writes the program's own, and ends
//   WARPLOOM_SIM_REPORT=FILE     the launches and what was found in them, as JSON
//   WARPLOOM_SIM_RACES=1         looks for races
//   WARPLOOM_SIM_MOST=N          instructions of all threads of a launch; more is a finding
#include <cuda.h>
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "warploom/core/file.hpp"
#include "warploom/sim/sim.hpp"
#include "warploom/sim/tensor_map.hpp"

namespace {

using namespace warploom;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "simulated runtime: %s\n", what.c_str());
  std::_Exit(2);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// As JSON has it.
std::string as_json(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out + '"';
}

struct Launch {
  dim3 grid, block, cluster{1, 1, 1};
  std::size_t shared = 0;
};

class Device {
 public:
  /// A fat binary: entries with a header of their own size each; the first is the kind, 1 for PTX.
  void load(const void* fat) {
    const auto* at = static_cast<const std::byte*>(fat);
    const auto get = [](const std::byte* from, auto value) {
      std::memcpy(&value, from, sizeof value);
      return value;
    };
    const auto header = get(at + 6, std::uint16_t{});
    const std::byte *entry = at + header, *end = entry + get(at + 8, std::uint64_t{});
    while (entry < end) {
      const auto kind = get(entry, std::uint16_t{});
      const auto size = get(entry + 4, std::uint32_t{});
      const auto bytes = get(entry + 8, std::uint64_t{});
      if (kind == 1) text_ = std::string(reinterpret_cast<const char*>(entry + size), bytes).c_str();
      entry += size + bytes;
    }
  }
  void name(const void* function, const char* symbol) { kernels_[function] = symbol; }
  void variable(const void* host, const char* symbol) { variables_[host] = symbol; }

  sim::Machine& machine() {
    if (machine_ == nullptr) {
      if (const std::string path = environment("WARPLOOM_SIM_WRITE_PTX"); !path.empty()) {
        write_file_atomically(path, text_);
        std::_Exit(0);
      }
      const std::string path = environment("WARPLOOM_SIM_PTX");
      if (path.empty() && text_.find(".version") == std::string::npos)
        fail("the program has no PTX, or has it compressed: compile with --compress-mode=none");
      machine_ = std::make_unique<sim::Machine>(
          ptx::parse(path.empty() ? text_ : read_file(path), path.empty() ? "program.ptx" : path));
    }
    return *machine_;
  }

  void launch(const void* function, const Launch& launch, void** values) {
    const std::string& symbol = kernels_.at(function);
    const ptx::Module& module = machine().module();
    const ptx::Function* kernel = module.find_function(symbol);
    if (kernel == nullptr) fail("no kernel " + symbol);
    sim::Arguments arguments;
    for (std::size_t i = 0; i < kernel->parameters.size(); ++i)
      arguments.add_bytes(
          {static_cast<const std::byte*>(values[i]), module.variables[kernel->parameters[i]].bytes});
    sim::LaunchOptions options;
    options.grid = {launch.grid.x, launch.grid.y, launch.grid.z};
    options.block = {launch.block.x, launch.block.y, launch.block.z};
    options.cluster = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
    options.dynamic_shared = static_cast<std::uint32_t>(launch.shared);
    options.races = !environment("WARPLOOM_SIM_RACES").empty();
    if (const std::string most = environment("WARPLOOM_SIM_MOST"); !most.empty())
      options.max_instructions = std::stoull(most);
    try {
      const sim::Outcome outcome = machine().launch(symbol, arguments, options);
      std::fputs(outcome.printed.c_str(), stdout);
      std::string findings;
      for (const sim::Finding& finding : outcome.findings)
        findings += fmt::format("{}{{\"kind\": {}, \"ptx_line\": {}, \"other_ptx_line\": {}, \"text\": {}}}",
                                findings.empty() ? "" : ",\n  ", as_json(sim::name(finding.kind)),
                                finding.site.ptx_line, finding.other ? finding.other->ptx_line : 0,
                                as_json(finding.text()));
      report_ += fmt::format(
          "{}{{\"kernel\": {}, \"grid\": [{}, {}, {}], \"block\": {}, \"cluster\": {}, \"dynamic_shared\": {}, "
          "\"thread_instructions\": {}, \"completed\": {}, \"findings\": [{}]}}",
          report_.empty() ? "" : ",\n ", as_json(symbol), launch.grid.x, launch.grid.y, launch.grid.z,
          launch.block.x * launch.block.y * launch.block.z,
          launch.cluster.x * launch.cluster.y * launch.cluster.z, launch.shared, outcome.thread_instructions,
          outcome.completed, findings);
      if (const std::string path = environment("WARPLOOM_SIM_REPORT"); !path.empty())
        write_file_atomically(path, "[" + report_ + "]\n");
      if (!outcome.completed) {
        for (const sim::Finding& finding : outcome.findings)
          std::fprintf(stderr, "%s\n", finding.text().c_str());
        std::_Exit(1);
      }
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }

  std::map<sim::Address, std::size_t> sizes;

 private:
  std::string text_;
  std::map<const void*, std::string> kernels_, variables_;
  std::unique_ptr<sim::Machine> machine_;
  std::string report_;  ///< launches as JSON
};

Device& device() {
  static Device* const one = new Device;  // kernels are registered before main, results are read after it
  return *one;
}

std::vector<Launch>& configurations() {
  static std::vector<Launch> stack;
  return stack;
}

sim::Address address(const void* pointer) { return reinterpret_cast<sim::Address>(pointer); }
bool on_device(const void* pointer) {
  const auto after = device().sizes.upper_bound(address(pointer));
  return after != device().sizes.begin() &&
         address(pointer) < std::prev(after)->first + std::prev(after)->second;
}

cudaError_t copy(void* to, const void* from, std::size_t bytes) {
  sim::Machine& machine = device().machine();
  std::vector<std::byte> between(bytes);
  if (bytes == 0) return cudaSuccess;
  if (on_device(from))
    machine.copy_from_device(between, address(from));
  else
    std::memcpy(between.data(), from, bytes);
  if (on_device(to))
    machine.copy_to_device(address(to), between);
  else
    std::memcpy(to, between.data(), bytes);
  return cudaSuccess;
}

}  // namespace

extern "C" {

// What nvcc's host code calls.
struct FatBinary {
  int magic, version;
  const void* data;
  void* file;
};
void** __cudaRegisterFatBinary(const FatBinary* binary) {
  device().load(binary->data);
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterFunction(void**, const char* host, char*, const char* symbol, int, void*, void*, void*,
                            void*, int*) {
  device().name(host, symbol);
}
void __cudaRegisterVar(void**, char* host, char*, const char* symbol, int, std::size_t, int, int) {
  device().variable(host, symbol);
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, cudaStream_t) {
  configurations().push_back({grid, block, {1, 1, 1}, shared});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  const Launch launch = configurations().back();
  configurations().pop_back();
  *grid = launch.grid, *block = launch.block, *shared = launch.shared;
  *static_cast<cudaStream_t*>(stream) = nullptr;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** values, std::size_t shared,
                               cudaStream_t) {
  device().launch(kernel, {grid, block, {1, 1, 1}, shared}, values);
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** values, std::size_t shared,
                             cudaStream_t) {
  device().launch(function, {grid, block, {1, 1, 1}, shared}, values);
  return cudaSuccess;
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** values) {
  Launch launch{config->gridDim, config->blockDim, {1, 1, 1}, config->dynamicSmemBytes};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const auto& value = config->attrs[i].val.clusterDim;
    if (config->attrs[i].id == cudaLaunchAttributeClusterDimension)
      launch.cluster = {value.x, value.y, value.z};
  }
  device().launch(function, launch, values);
  return cudaSuccess;
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** values,
                                        std::size_t shared, cudaStream_t) {
  device().launch(function, {grid, block, {1, 1, 1}, shared}, values);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** out, std::size_t bytes) {
  const sim::Address made = device().machine().allocate(std::max<std::size_t>(bytes, 1));
  device().sizes[made] = std::max<std::size_t>(bytes, 1);
  *out = reinterpret_cast<void*>(made);
  return cudaSuccess;
}
cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  device().machine().free(address(pointer));
  device().sizes.erase(address(pointer));
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  return copy(to, from, bytes);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t) {
  return copy(to, from, bytes);
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  const std::vector<std::byte> values(bytes, static_cast<std::byte>(value));
  return copy(to, values.data(), bytes);
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  return cudaMemset(to, value, bytes);
}

cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = nullptr;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "an error of the simulated runtime"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorSimulated"; }
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* number) {
  *number = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->binaryVersion = attributes->ptxVersion = 80;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, std::size_t,
                                                                   unsigned) {
  *blocks = 1;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, std::size_t) {
  *blocks = 1;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void*, const cudaLaunchConfig_t*) {
  *clusters = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount            ? 132
           : attribute == cudaDevAttrComputeCapabilityMajor       ? 9
           : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? 232448
           : attribute == cudaDevAttrMaxSharedMemoryPerBlock      ? 49152
           : attribute == cudaDevAttrWarpSize                     ? 32
           : attribute == cudaDevAttrMaxThreadsPerMultiProcessor  ? 2048
                                                                  : 0;
  return cudaSuccess;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* base,
                                const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill fill) {
  constexpr const char* kTypes[] = {"u8",  "u16", "u32",  "i32", "u64", "i64", "f16",
                                    "f32", "f64", "bf16", "f32", "f32", "f32"};
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || type > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ ||
      swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
    fail("a tensor map that the simulator does not know");
  sim::TensorMap made;
  made.type = kTypes[type];
  made.address = address(base);
  made.extents.assign(extents, extents + rank);
  made.strides.assign(strides, strides + rank - 1);
  made.box.assign(box, box + rank);
  made.steps.assign(steps, steps + rank);
  made.swizzle = swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? 0 : 16u << swizzle;
  made.fill_nan = fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  try {
    const auto bytes = sim::encode(made);
    std::memcpy(map, bytes.data(), bytes.size());
  } catch (const std::exception& error) {
    fail(error.what());
  }
  return CUDA_SUCCESS;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  if (std::string_view(name) != "cuTensorMapEncodeTiled") fail(fmt::format("no driver function {}", name));
  *function = reinterpret_cast<void*>(&cuTensorMapEncodeTiled);
  if (result != nullptr) *result = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

}  // extern "C"
