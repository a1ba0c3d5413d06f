#include "warploom/core/device.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>

#include "core/architectures.hpp"
#include "core/automatic_device.hpp"
#include "core/cuda_driver.hpp"
#include "core/forks.hpp"
#include "core/several_devices.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/parse.hpp"

namespace warploom {
namespace {

// The few entries of the CUDA driver API that are needed, as cuda.h declares them. The header belongs
// to the toolkit, which need not be here; the ABI of these functions and numbers is fixed.
using CUresult = int;
using CUdevice = int;
using CUcontext = void*;
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

// False when the library lacks the symbol.
template <class Function>
bool load(void* library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
  return function != nullptr;
}

}  // namespace

struct CudaDriver::Api {
  CUresult (*init)(unsigned flags) = nullptr;
  CUresult (*driver_version)(int* version) = nullptr;
  CUresult (*device_count)(int* count) = nullptr;
  CUresult (*device)(CUdevice* device, int ordinal) = nullptr;
  CUresult (*device_name)(char* name, int length, CUdevice device) = nullptr;
  CUresult (*total_memory)(std::size_t* bytes, CUdevice device) = nullptr;
  CUresult (*attribute)(int* value, int attribute, CUdevice device) = nullptr;
  CUresult (*error_string)(CUresult error, const char** text) = nullptr;
  CUresult (*retain_context)(CUcontext* context, CUdevice device) = nullptr;
  CUresult (*push_context)(CUcontext context) = nullptr;
  CUresult (*pop_context)(CUcontext* context) = nullptr;
  CUresult (*current_device)(CUdevice* device) = nullptr;

  bool load_all(void* library) {
    return load(library, "cuInit", init) && load(library, "cuDriverGetVersion", driver_version) &&
           load(library, "cuDeviceGetCount", device_count) && load(library, "cuDeviceGet", device) &&
           load(library, "cuDeviceGetName", device_name) &&
           load(library, "cuDeviceTotalMem_v2", total_memory) &&
           load(library, "cuDeviceGetAttribute", attribute) &&
           load(library, "cuGetErrorString", error_string) &&
           load(library, "cuDevicePrimaryCtxRetain", retain_context) &&
           load(library, "cuCtxPushCurrent_v2", push_context) &&
           load(library, "cuCtxPopCurrent_v2", pop_context) &&
           load(library, "cuCtxGetDevice", current_device);
  }

  std::string describe(CUresult error) const {
    const char* text = nullptr;
    if (error_string(error, &text) != 0 || text == nullptr) return fmt::format("CUDA error {}", error);
    return fmt::format("CUDA error {}: {}", error, text);
  }

  CudaDevice describe_device(int ordinal) const {
    CudaDevice result;
    result.ordinal = ordinal;
    CUdevice number = 0;
    std::array<char, 256> name{};
    std::size_t memory = 0;
    for (const CUresult error : {device(&number, ordinal), device_name(name.data(), name.size() - 1, number),
                                 total_memory(&memory, number)})
      if (error != 0)
        throw NoDevice(fmt::format("CUDA device {} does not answer: {}", ordinal, describe(error)));
    result.name = name.data();
    result.memory = memory;
    // A driver too old to know an attribute leaves it 0.
    const auto get = [&](Attribute which) {
      int value = 0;
      return attribute(&value, which, number) == 0 ? value : 0;
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
};

CudaDriver::CudaDriver(const char* library) : api_(std::make_unique<Api>()) {
  static std::atomic<unsigned> started = 0;  // 1 + the generation that started a driver
  if (const unsigned before = started; before != 0 && before != 1 + fork_generation()) {
    devices_.absent =
        "this process was forked from one that had started CUDA, which works in no such child: fork before the first "
        "use of a GPU, or let the child exec";
    return;
  }
  // Never closed: the driver starts threads that outlive a dlclose.
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    devices_.absent =
        fmt::format("no NVIDIA driver: {} cannot be opened; install the driver of your GPU", library);
    return;
  }
  if (!api_->load_all(handle)) {
    devices_.absent = fmt::format(
        "{} is not a usable NVIDIA driver: it lacks functions of the CUDA driver API; install a newer driver",
        library);
    return;
  }
  if (const CUresult error = api_->init(0); error != 0) {
    devices_.absent =
        fmt::format("the NVIDIA driver does not start ({}); check nvidia-smi and CUDA_VISIBLE_DEVICES",
                    api_->describe(error));
    return;
  }
  started = 1 + fork_generation();
  int count = 0;
  if (api_->driver_version(&devices_.driver_version) != 0) devices_.driver_version = 0;
  if (const CUresult error = api_->device_count(&count); error != 0 || count == 0)
    devices_.absent = "the NVIDIA driver shows no device; check nvidia-smi and CUDA_VISIBLE_DEVICES";
  else
    try {
      for (int ordinal = 0; ordinal < count; ++ordinal)
        devices_.devices.push_back(api_->describe_device(ordinal));
    } catch (const NoDevice& silent) {
      devices_.devices.clear();
      devices_.absent = silent.what();
    }
}

CudaDriver::~CudaDriver() = default;

void CudaDriver::push(int ordinal) const {
  // The device's primary context is what the CUDA runtime works in. It is never released: memory that
  // outlives the call lies in it.
  CUdevice number = 0;
  CUcontext context = nullptr;
  CUresult error = api_->device(&number, ordinal);
  if (error == 0) error = api_->retain_context(&context, number);
  if (error == 0) error = api_->push_context(context);
  if (error != 0)
    throw NoDevice(fmt::format("CUDA device {} cannot be used: {}", ordinal, api_->describe(error)));
}

void CudaDriver::pop() const noexcept {
  CUcontext ignored = nullptr;
  api_->pop_context(&ignored);
}

int CudaDriver::current() const {
  CUdevice number = 0;
  return api_->current_device(&number) == 0 ? number : 0;
}

namespace {

PerProcess<CudaDriver> process_driver;
const CudaDriver& system_driver() { return process_driver.get("libcuda.so.1"); }

}  // namespace

bool cuda_is_up() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (driver != nullptr) dlclose(driver);
  return driver != nullptr;
}

const CudaDevices& cuda_devices() { return system_driver().devices(); }

namespace {

constexpr std::string_view kAllGpus = "cuda:all";

bool is_numbered(Device device) { return device.is_gpu() && device.ordinal >= 0; }

const CudaDriver* make_current(Device device, const CudaDriver& driver) {
  const CudaDevices& there = driver.devices();
  if (!there.absent.empty() || device.ordinal >= std::ssize(there.devices))
    throw NoDevice(fmt::format("there is no GPU {}: {}", device.ordinal,
                               there.absent.empty()
                                   ? fmt::format("the highest number here is {}", there.devices.size() - 1)
                                   : there.absent));
  driver.push(device.ordinal);
  return &driver;
}

}  // namespace

// The driver is opened for a GPU alone: where there is one, that takes longer than many a small job.
OnDevice::OnDevice(Device device) {
  if (is_numbered(device)) driver_ = make_current(device, system_driver());
}
OnDevice::OnDevice(Device device, const CudaDriver& driver) {
  if (is_numbered(device)) driver_ = make_current(device, driver);
}
OnDevice::~OnDevice() {
  if (driver_ != nullptr) driver_->pop();
}

namespace {

/// "cuda:1", and "1" where it stands behind another.
std::optional<Device> numbered_gpu(std::string_view word, bool behind_another) {
  constexpr std::string_view kPrefix = "cuda:";
  if (word.starts_with(kPrefix))
    word.remove_prefix(kPrefix.size());
  else if (!behind_another)
    return std::nullopt;
  int ordinal = 0;
  if (!parse_whole(word, ordinal) || ordinal < 0) return std::nullopt;
  return Device::gpu(ordinal);
}

}  // namespace

std::vector<Device> parse_devices(std::string_view text) {
  if (text == kAllGpus) return all_gpus(system_driver());  // which is opened for no other word
  for (const Device device : {Device::cpu, Device::cuda, Device::best})
    if (text == name(device)) return {device};
  std::vector<Device> devices;
  for (std::string_view rest = text;;) {
    const std::string_view word = rest.substr(0, rest.find(','));
    const bool first = devices.empty();
    const std::optional<Device> device =
        word == name(Device::cpu) ? Device::cpu : numbered_gpu(word, !first && devices.back().is_gpu());
    if (!device || (!first && device->kind != devices.back().kind))
      throw BadInput(fmt::format(
          "device '{}' is not known; use cpu, cuda or auto, or GPUs by number: cuda:1, cuda:0,1 or cuda:all",
          text));
    devices.push_back(*device);
    if (word.size() == rest.size()) return devices;
    rest.remove_prefix(word.size() + 1);
  }
}

std::vector<Device> all_gpus(const CudaDriver& driver) {
  const CudaDevices& there = driver.devices();
  if (!there.absent.empty())
    throw NoDevice(fmt::format("device '{}' was asked for, but {}; or use `device` cpu or auto", kAllGpus,
                               there.absent));
  std::vector<Device> all;
  for (const CudaDevice& device : there.devices) all.push_back(Device::gpu(device.ordinal));
  return all;
}

std::string name(Device device) {
  if (device.ordinal >= 0) return fmt::format("cuda:{}", device.ordinal);
  return device == Device::cpu ? "cpu" : device == Device::cuda ? "cuda" : "auto";
}

Device choose_device(Device wanted) {
  return wanted == Device::cpu ? wanted : choose_device(wanted, system_driver(), built_architectures());
}

Device choose_device(Device wanted, const CudaDriver& driver, std::string_view architectures) {
  if (wanted == Device::cpu) return Device::cpu;
  const CudaDevices& there = driver.devices();
  std::string absent = there.absent;
  if (absent.empty() && wanted.ordinal >= std::ssize(there.devices))
    absent = fmt::format("the highest number here is {}", there.devices.size() - 1);
  if (absent.empty()) {
    const int ordinal = wanted.ordinal < 0 ? driver.current() : wanted.ordinal;
    const CudaDevice& gpu = there.devices[static_cast<std::size_t>(ordinal)];
    if (runs_on(architectures, gpu.compute_capability)) return {Device::Kind::cuda, wanted.ordinal};
    absent = fmt::format(
        "no code was built for {0}, sm_{1}, only for {2}: configure with -DCMAKE_CUDA_ARCHITECTURES={1}",
        gpu.name, gpu.compute_capability, architectures);
    if (wanted == Device::best) log(LogLevel::info, absent);
  }
  if (wanted == Device::best) return Device::cpu;
  throw NoDevice(
      fmt::format("device '{}' was asked for, but {}; or use `device` cpu or auto", name(wanted), absent));
}

Device choose_device(Device wanted, bool built_with_cuda) {
  if (wanted.is_gpu() && !built_with_cuda)
    throw NoDevice(fmt::format(
        "device '{}' was asked for, but this Warploom was built without it: configure with -DWARPLOOM_CUDA=ON, or use "
        "`device` cpu or auto",
        name(wanted)));
  const Device chosen = built_with_cuda ? choose_device(wanted) : Device::cpu;
  if (wanted == Device::best) log(LogLevel::info, fmt::format("device: {}", name(chosen)));
  return chosen;
}

Device one_device(std::span<const Device> wanted, std::string_view work) {
  if (wanted.size() <= 1) return wanted.empty() ? Device::best : wanted.front();
  throw BadInput(fmt::format("{} uses one device, not {}: name one of them", work, names(wanted)));
}

}  // namespace warploom
