// A library that the CUDA driver loads into a program (CUDA_INJECTION64_PATH): it writes how the program's
// kernels are launched to the file that WARPLOOM_LAUNCHES names, as `warploom reuse --launches` and `warploom
// sim --launches` read it. CUPTI calls it at each launch and each kernel node of a graph; it changes nothing
// of them.
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace {

using Extents = std::array<unsigned, 3>;

void complain(const std::string& what) { std::fputs(("warploom launches: " + what + "\n").c_str(), stderr); }

/// Kernels and shapes that were met, each once: a later launch with another grid alone is no new one.
class LaunchFile {
 public:
  bool open(const char* path) {
    file_ = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file_ < 0) complain(fmt::format("{}: {}", path, std::strerror(errno)));
    return file_ >= 0;
  }

  void add(const char* kernel, const Extents& grid, const Extents& block, std::size_t dynamic,
           const Extents& cluster) {
    if (kernel == nullptr || *kernel == '\0') return;
    std::string shape = fmt::format("--block {},{},{}", block[0], block[1], block[2]);
    if (dynamic > 0) shape += fmt::format(" --dynamic-shared {}", dynamic);
    if (cluster != Extents{1, 1, 1})
      shape += fmt::format(" --cluster {},{},{}", cluster[0], cluster[1], cluster[2]);
    const std::lock_guard lock(mutex_);
    if (!met_.emplace(kernel, shape).second) return;
    const std::string line =
        fmt::format("--kernel {} --grid {},{},{} {}\n", kernel, grid[0], grid[1], grid[2], shape);
    // In one piece, since several processes may share the file; a program that crashes later has its lines.
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()) && !failed_) {
      failed_ = true;
      complain(fmt::format("a launch was not written: {}", std::strerror(errno)));
    }
  }

 private:
  std::mutex mutex_;
  std::set<std::pair<std::string, std::string>> met_;
  int file_ = -1;
  bool failed_ = false;
};

LaunchFile& launches() {
  static auto* const file = new LaunchFile;  // kernels may be launched while the program ends
  return *file;
}

Extents clusters(const CUlaunchAttribute& a) {
  return {a.value.clusterDim.x, a.value.clusterDim.y, a.value.clusterDim.z};
}
Extents clusters(const cudaLaunchAttribute& a) {
  return {a.val.clusterDim.x, a.val.clusterDim.y, a.val.clusterDim.z};
}

/// Of the driver's configuration or the runtime's.
template <class Config>
Extents cluster_of(const Config& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (static_cast<int>(config.attrs[i].id) == static_cast<int>(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION))
      return clusters(config.attrs[i]);
  return {1, 1, 1};
}

constexpr Extents kNoCluster = {1, 1, 1};

Extents extents(const dim3& d) { return {d.x, d.y, d.z}; }

/// cuLaunchKernel's and cuLaunchCooperativeKernel's parameters, and those of a graph's kernel node.
template <class Parameters>
void add_shaped(const char* kernel, const Parameters& p) {
  launches().add(kernel, {p.gridDimX, p.gridDimY, p.gridDimZ}, {p.blockDimX, p.blockDimY, p.blockDimZ},
                 p.sharedMemBytes, kNoCluster);
}

template <class Parameters>
void add_runtime(const char* kernel, const void* parameters) {
  const auto& p = *static_cast<const Parameters*>(parameters);
  launches().add(kernel, extents(p.gridDim), extents(p.blockDim), p.sharedMem, kNoCluster);
}

/// The driver is in the program already.
template <class Function>
Function in_driver(const char* name) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(driver, name));
}

const char* name_of(CUfunction function, CUkernel kernel) {
  static const auto of_function = in_driver<CUresult (*)(const char**, CUfunction)>("cuFuncGetName");
  static const auto of_kernel = in_driver<CUresult (*)(const char**, CUkernel)>("cuKernelGetName");
  const char* name = nullptr;
  if (function != nullptr && of_function != nullptr && of_function(&name, function) == CUDA_SUCCESS)
    return name;
  if (kernel != nullptr && of_kernel != nullptr && of_kernel(&name, kernel) == CUDA_SUCCESS) return name;
  return nullptr;
}

void add_node(const CUDA_KERNEL_NODE_PARAMS* node) {
  if (node != nullptr) add_shaped(name_of(node->func, node->kern), *node);
}

void add_node(const CUgraphNodeParams* node) {
  if (node != nullptr && node->type == CU_GRAPH_NODE_TYPE_KERNEL)
    add_shaped(name_of(node->kernel.func, node->kernel.kern), node->kernel);
}

template <class Parameters>
void add_graph(const void* parameters) {
  add_node(static_cast<const Parameters*>(parameters)->nodeParams);
}

void on_driver_call(CUpti_CallbackId id, const char* kernel, const void* parameters) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
      return add_shaped(kernel, *static_cast<const cuLaunchKernel_params*>(parameters));
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
      return add_shaped(kernel, *static_cast<const cuLaunchCooperativeKernel_params*>(parameters));
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
      const CUlaunchConfig& c = *static_cast<const cuLaunchKernelEx_params*>(parameters)->config;
      return launches().add(kernel, {c.gridDimX, c.gridDimY, c.gridDimZ},
                            {c.blockDimX, c.blockDimY, c.blockDimZ}, c.sharedMemBytes, cluster_of(c));
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2:
      return add_graph<cuGraphAddKernelNode_v2_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams_v2:
      return add_graph<cuGraphKernelNodeSetParams_v2_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2:
      return add_graph<cuGraphExecKernelNodeSetParams_v2_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode:
      return add_graph<cuGraphAddNode_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2:
      return add_graph<cuGraphAddNode_v2_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetParams:
      return add_graph<cuGraphNodeSetParams_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams:
      return add_graph<cuGraphExecNodeSetParams_params>(parameters);
    default:
      return;
  }
}

/// The runtime's launches come to the driver by ways that are its own.
void on_runtime_call(CUpti_CallbackId id, const char* kernel, const void* parameters) {
  switch (id) {
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000:
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000:
      return add_runtime<cudaLaunchKernel_v7000_params>(kernel, parameters);
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000:
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000:
      return add_runtime<cudaLaunchCooperativeKernel_v9000_params>(kernel, parameters);
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060:
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060: {
      const cudaLaunchConfig_t& c =
          *static_cast<const cudaLaunchKernelExC_v11060_params*>(parameters)->config;
      return launches().add(kernel, extents(c.gridDim), extents(c.blockDim), c.dynamicSmemBytes,
                            cluster_of(c));
    }
    default:
      return;
  }
}

constexpr CUpti_CallbackId kDriverCalls[] = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                             CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
                                             CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
                                             CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
                                             CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                                             CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
                                             CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2,
                                             CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams_v2,
                                             CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2,
                                             CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode,
                                             CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2,
                                             CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetParams,
                                             CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams};
constexpr CUpti_CallbackId kRuntimeCalls[] = {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
                                              CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000,
                                              CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000,
                                              CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000,
                                              CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
                                              CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060};

void CUPTIAPI on_call(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite != CUPTI_API_ENTER) return;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) on_driver_call(id, call.symbolName, call.functionParams);
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) on_runtime_call(id, call.symbolName, call.functionParams);
}

/// The one that the program has, for instance PyTorch's; else the toolkit's.
void* cupti() {
  const char* const given = std::getenv("WARPLOOM_CUPTI");
  for (const char* name :
       {given, "libcupti.so.13", "libcupti.so.12", "libcupti.so", WARPLOOM_CUPTI_OF_TOOLKIT})
    if (name != nullptr)
      if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

bool subscribe() {
  void* const library = cupti();
  if (library == nullptr) {
    complain("libcupti.so, which comes with the CUDA toolkit, is not found; name it in WARPLOOM_CUPTI");
    return false;
  }
  const auto subscribe = reinterpret_cast<decltype(&cuptiSubscribe)>(dlsym(library, "cuptiSubscribe"));
  const auto enable = reinterpret_cast<decltype(&cuptiEnableCallback)>(dlsym(library, "cuptiEnableCallback"));
  CUpti_SubscriberHandle subscriber = nullptr;
  if (subscribe == nullptr || enable == nullptr ||
      subscribe(&subscriber, on_call, nullptr) != CUPTI_SUCCESS) {
    complain("CUPTI does not report calls; a profiler may have it");
    return false;
  }
  // What this CUPTI does not know yet, the driver that is with it does not have.
  for (const CUpti_CallbackId id : kDriverCalls) enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
  for (const CUpti_CallbackId id : kRuntimeCalls) enable(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, id);
  return true;
}

}  // namespace

/// Called by the driver when the program first needs it. The program goes on whatever this returns.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* const path = std::getenv("WARPLOOM_LAUNCHES");
  if (path == nullptr || *path == '\0') {
    complain("WARPLOOM_LAUNCHES names no file");
    return 0;
  }
  return launches().open(path) && subscribe() ? 1 : 0;
}
