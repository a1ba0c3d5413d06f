#include "gpu_driver.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace warploom::bench {

void check(CUresult result, const std::string& what) {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  cuGetErrorString(result, &text);
  throw std::runtime_error(what + ": " + (text ? text : "unknown driver error") + " (" +
                           std::to_string(static_cast<int>(result)) + ")");
}

Gpu::Gpu() {
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device_, 0), "cuDeviceGet(0)");
  check(cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context_), "cuCtxSetCurrent");
}

Gpu::~Gpu() { cuDevicePrimaryCtxRelease(device_); }

std::string Gpu::name() const {
  char text[256];
  check(cuDeviceGetName(text, sizeof text, device_), "cuDeviceGetName");
  return text;
}

int Gpu::attribute(CUdevice_attribute which) const {
  int value = 0;
  check(cuDeviceGetAttribute(&value, which, device_), "cuDeviceGetAttribute");
  return value;
}

int Gpu::driver_version() {
  int version = 0;
  check(cuDriverGetVersion(&version), "cuDriverGetVersion");
  return version;
}

Floats::Floats(std::size_t count) : count_(count) {
  check(cuMemAlloc(&address_, count * sizeof(float)), "cuMemAlloc of " + std::to_string(count) + " floats");
}

Floats::Floats(std::span<const float> values) : Floats(values.size()) {
  check(cuMemcpyHtoD(address_, values.data(), values.size_bytes()), "cuMemcpyHtoD");
}

Floats::Floats(Floats&& other) noexcept
    : address_(std::exchange(other.address_, 0)), count_(std::exchange(other.count_, 0)) {}

Floats::~Floats() {
  if (address_) cuMemFree(address_);
}

void Floats::poison() { check(cuMemsetD32(address_, 0x7fc0dead, count_), "cuMemsetD32"); }

std::vector<float> Floats::read() const {
  std::vector<float> values(count_);
  check(cuMemcpyDtoH(values.data(), address_, count_ * sizeof(float)), "cuMemcpyDtoH");
  return values;
}

Kernel::Kernel(const std::string& module_path, const std::string& entry) {
  std::ifstream file(module_path, std::ios::binary);
  if (!file) throw std::runtime_error(module_path + ": cannot be read");
  std::string image{std::istreambuf_iterator<char>(file), {}};  // c_str() ends PTX with the zero it needs
  check(cuModuleLoadData(&module_, image.c_str()), module_path);
  check(cuModuleGetFunction(&function_, module_, entry.c_str()), module_path + ": " + entry);
}

Kernel::Kernel(Kernel&& other) noexcept
    : module_(std::exchange(other.module_, nullptr)),
      function_(std::exchange(other.function_, nullptr)),
      dynamic_bytes_(other.dynamic_bytes_) {}

Kernel::~Kernel() {
  if (module_) cuModuleUnload(module_);
}

void Kernel::pad(int dynamic_bytes) {
  check(cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic_bytes),
        std::to_string(dynamic_bytes) + " bytes of dynamic shared memory");
  dynamic_bytes_ = dynamic_bytes;
}

int Kernel::attribute(CUfunction_attribute which) const {
  int value = 0;
  check(cuFuncGetAttribute(&value, which, function_), "cuFuncGetAttribute");
  return value;
}

int Kernel::blocks_per_multiprocessor(int threads) const {
  int blocks = 0;
  check(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function_, threads,
                                                    static_cast<std::size_t>(dynamic_bytes_)),
        "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  return blocks;
}

void Kernel::launch(Extent grid, Extent block, void** arguments) const {
  const auto u = [](int i) { return static_cast<unsigned>(i); };
  check(cuLaunchKernel(function_, u(grid.x), u(grid.y), u(grid.z), u(block.x), u(block.y), u(block.z),
                       u(dynamic_bytes_), nullptr, arguments, nullptr),
        "cuLaunchKernel");
}

Stopwatch::Stopwatch() {
  check(cuEventCreate(&begin_, CU_EVENT_DEFAULT), "cuEventCreate");
  check(cuEventCreate(&end_, CU_EVENT_DEFAULT), "cuEventCreate");
}

Stopwatch::~Stopwatch() {
  cuEventDestroy(begin_);
  cuEventDestroy(end_);
}

void Stopwatch::start() { check(cuEventRecord(begin_, nullptr), "cuEventRecord"); }

double Stopwatch::stop() {
  check(cuEventRecord(end_, nullptr), "cuEventRecord");
  check(cuEventSynchronize(end_), "cuEventSynchronize: the kernel failed");
  float ms = 0;
  check(cuEventElapsedTime(&ms, begin_, end_), "cuEventElapsedTime");
  return ms;
}

}  // namespace warploom::bench
