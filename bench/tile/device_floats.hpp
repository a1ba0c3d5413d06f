#pragma once

#include <cstdint>

namespace warploom::tile {

/// Floats on the device. @throws what cuda_check does
class DeviceFloats {
 public:
  explicit DeviceFloats(std::int64_t count);
  DeviceFloats(const DeviceFloats&) = delete;
  DeviceFloats& operator=(const DeviceFloats&) = delete;
  ~DeviceFloats();
  /// Values between -0.5 and 0.5 that no compiler or cache can guess, small so that repeated sums stay
  /// finite.
  void fill(unsigned seed);

  float* data = nullptr;
  std::int64_t count = 0;
};

/// By four floats a thread, as many as `from` has; a multiple of 1024.
void copy_floats(DeviceFloats& to, const DeviceFloats& from);

}  // namespace warploom::tile
