#include "warploom/core/device.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <memory>

#include "core/cuda_driver.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"

namespace warploom {
namespace {

// The few entries of the CUDA driver API that are needed, as cuda.h declares them. The header belongs
// to the toolkit, which need not be here; the ABI of these functions and numbers is fixed.
using CUresult = int;
using CUdevice = int;
enum Attribute : int {
  kSharedPerBlock = 8,
  kMultiprocessors = 16,
  kThreadsPerSm = 39,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kSharedPerSm = 81,
  kRegistersPerSm = 82,
  kSharedPerBlockOptin = 97,
  kSharedReserved = 111,
};

struct DriverApi {
  CUresult (*init)(unsigned flags) = nullptr;
  CUresult (*driver_version)(int* version) = nullptr;
  CUresult (*device_count)(int* count) = nullptr;
  CUresult (*device)(CUdevice* device, int ordinal) = nullptr;
  CUresult (*device_name)(char* name, int length, CUdevice device) = nullptr;
  CUresult (*total_memory)(std::size_t* bytes, CUdevice device) = nullptr;
  CUresult (*attribute)(int* value, int attribute, CUdevice device) = nullptr;
  CUresult (*error_string)(CUresult error, const char** text) = nullptr;

  std::string describe(CUresult error) const {
    const char* text = nullptr;
    if (error_string(error, &text) != 0 || text == nullptr) return fmt::format("CUDA error {}", error);
    return fmt::format("CUDA error {}: {}", error, text);
  }
};

// False when the library lacks the symbol.
template <class Function>
bool load(void* library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
  return function != nullptr;
}

bool load_all(void* library, DriverApi& api) {
  return load(library, "cuInit", api.init) && load(library, "cuDriverGetVersion", api.driver_version) &&
         load(library, "cuDeviceGetCount", api.device_count) && load(library, "cuDeviceGet", api.device) &&
         load(library, "cuDeviceGetName", api.device_name) &&
         load(library, "cuDeviceTotalMem_v2", api.total_memory) &&
         load(library, "cuDeviceGetAttribute", api.attribute) &&
         load(library, "cuGetErrorString", api.error_string);
}

CudaDevice describe_device(const DriverApi& api, int ordinal) {
  CudaDevice result;
  result.ordinal = ordinal;
  CUdevice device = 0;
  std::array<char, 256> name{};
  std::size_t memory = 0;
  for (const CUresult error :
       {api.device(&device, ordinal), api.device_name(name.data(), name.size() - 1, device),
        api.total_memory(&memory, device)})
    if (error != 0)
      throw NoDevice(fmt::format("CUDA device {} does not answer: {}", ordinal, api.describe(error)));
  result.name = name.data();
  result.memory = memory;
  // A driver too old to know an attribute leaves it 0.
  const auto get = [&](Attribute attribute) {
    int value = 0;
    return api.attribute(&value, attribute, device) == 0 ? value : 0;
  };
  result.compute_capability = 10 * get(kCapabilityMajor) + get(kCapabilityMinor);
  result.multiprocessors = get(kMultiprocessors);
  result.shared_per_sm = static_cast<std::uint64_t>(get(kSharedPerSm));
  result.shared_per_block = static_cast<std::uint64_t>(get(kSharedPerBlock));
  result.shared_per_block_optin = static_cast<std::uint64_t>(get(kSharedPerBlockOptin));
  result.shared_reserved = static_cast<std::uint64_t>(get(kSharedReserved));
  result.threads_per_sm = get(kThreadsPerSm);
  result.registers_per_sm = get(kRegistersPerSm);
  return result;
}

}  // namespace

CudaDevices query_cuda_driver(const char* library) {
  CudaDevices result;
  const auto absent = [&](std::string why) {
    result.devices.clear();
    result.absent = std::move(why);
    return result;
  };
  // Never closed: the driver starts threads that outlive a dlclose.
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return absent(
        fmt::format("no NVIDIA driver: {} cannot be opened; install the driver of your GPU", library));
  DriverApi api;
  if (!load_all(handle, api))
    return absent(
        fmt::format("{} is not a usable NVIDIA driver: it lacks functions of the CUDA driver API; "
                    "install a newer driver",
                    library));
  if (const CUresult error = api.init(0); error != 0)
    return absent(
        fmt::format("the NVIDIA driver does not start ({}); check nvidia-smi and CUDA_VISIBLE_DEVICES",
                    api.describe(error)));
  int count = 0;
  if (api.driver_version(&result.driver_version) != 0) result.driver_version = 0;
  if (const CUresult error = api.device_count(&count); error != 0 || count == 0)
    return absent("the NVIDIA driver shows no device; check nvidia-smi and CUDA_VISIBLE_DEVICES");
  try {
    for (int ordinal = 0; ordinal < count; ++ordinal) result.devices.push_back(describe_device(api, ordinal));
  } catch (const NoDevice& error) {
    return absent(error.what());
  }
  return result;
}

const CudaDevices& cuda_devices() {
  static const CudaDevices devices = query_cuda_driver("libcuda.so.1");
  return devices;
}

Device parse_device(std::string_view text) {
  if (text == "cpu") return Device::cpu;
  if (text == "cuda") return Device::cuda;
  if (text == "auto") return Device::best;
  throw BadInput(fmt::format("device '{}' is not known; use cpu, cuda or auto", text));
}

std::string_view name(Device device) {
  switch (device) {
    case Device::cpu:
      return "cpu";
    case Device::cuda:
      return "cuda";
    case Device::best:
      return "auto";
  }
  throw Internal("a Device outside its enumeration");
}

Device choose_device(Device wanted) {
  if (wanted == Device::cpu) return Device::cpu;
  if (!cuda_devices().devices.empty()) return Device::cuda;
  if (wanted == Device::best) return Device::cpu;
  throw NoDevice(
      fmt::format("device 'cuda' was asked for, but {}; or use --device cpu or auto", cuda_devices().absent));
}

Device choose_device(Device wanted, bool built_with_cuda) {
  if (wanted == Device::cuda && !built_with_cuda)
    throw NoDevice(
        "device 'cuda' was asked for, but this Warploom was built without it: configure with "
        "-DWARPLOOM_CUDA=ON, or use "
        "--device cpu or auto");
  const Device chosen = built_with_cuda ? choose_device(wanted) : Device::cpu;
  if (wanted == Device::best) log(LogLevel::info, fmt::format("device: {}", name(chosen)));
  return chosen;
}

}  // namespace warploom
