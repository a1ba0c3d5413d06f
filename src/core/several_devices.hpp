#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "warploom/core/run.hpp"

namespace warploom {

/// A RunScope of work that several devices may share, each chosen as choose_device() does; the first of them
/// is the calling thread's current one. One device may be named several times, and is then as many shards of
/// the work: so each protocol among devices runs on a single GPU or on the CPU, too.
class DevicesScope {
 public:
  /// @throws NoDevice; BadInput (several that are neither all GPUs by their numbers nor all the CPU)
  DevicesScope(const Run& run, bool built_with_cuda);
  const std::vector<Device>& devices() const { return devices_; }
  bool on_gpu() const { return devices_.front().is_gpu(); }

 private:
  RunScope scope_;
  std::vector<Device> devices_;
  OnDevice current_;
};

/// "cuda:0,cuda:1"
std::string names(std::span<const Device> devices);

/// body(k) for each of the devices at once, each on a thread of its own (the first on the caller's), where
/// devices[k] is the current one and the only one of the Run. The first one's progress is shown. Returns when
/// all have.
///
/// What the first body throws that fails is thrown again here; the others are asked to stop then, as by
/// Run::stop. A body that waits for another one calls check_interrupt() while it does.
void on_devices(std::span<const Device> devices, const std::function<void(std::size_t)>& body);

}  // namespace warploom
