#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "warploom/core/device.hpp"

namespace warploom {

/// The driver in a shared library, which is opened at run time.
class CudaDriver {
 public:
  /// Never throws for a machine without one: devices().absent says why.
  explicit CudaDriver(const char* library);
  ~CudaDriver();

  const CudaDevices& devices() const { return devices_; }
  /// Makes a GPU the calling thread's current one, until pop(). @throws NoDevice
  void push(int ordinal) const;
  void pop() const noexcept;
  /// The number of the calling thread's current GPU; 0, which the CUDA runtime takes, where none was made so.
  int current() const;

 private:
  struct Api;
  std::unique_ptr<Api> api_;
  CudaDevices devices_;
};

/// choose_device() among a driver's GPUs, for code that was built for these architectures
/// (architectures.hpp).
Device choose_device(Device wanted, const CudaDriver& driver, std::string_view architectures);

/// What "cuda:all" names. @throws NoDevice (there is none)
std::vector<Device> all_gpus(const CudaDriver& driver);

}  // namespace warploom
