#pragma once

#include <memory>

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

 private:
  struct Api;
  std::unique_ptr<Api> api_;
  CudaDevices devices_;
};

}  // namespace warploom
