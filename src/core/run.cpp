#include "warploom/core/run.hpp"

#include <algorithm>
#include <utility>

#include "core/automatic_device.hpp"
#include "core/current_scope.hpp"

namespace warploom {

const RunScope*& current_scope() {
  static thread_local const RunScope* scope = nullptr;
  return scope;
}

const Run& current_run() {
  static const Run nothing_set;
  return current_scope() == nullptr ? nothing_set : current_scope()->run();
}

std::uint64_t within_cap(std::uint64_t available) {
  const std::uint64_t cap = current_run().memory;
  return cap == 0 ? available : std::min(cap, available);
}

RunScope::RunScope(Run run) : run_(std::move(run)), outer_(current_scope()) {
  const Run& around = current_run();
  if (run_.devices.empty()) run_.devices = around.devices;
  if (run_.memory == 0) run_.memory = around.memory;
  if (run_.threads == 0) run_.threads = around.threads;
  // For who copies this Run to another thread; the scopes around are asked as well.
  if (run_.stop == nullptr) run_.stop = around.stop;
  if (!run_.progress) run_.progress = around.progress;
  if (!run_.log) run_.log = around.log, run_.threshold = around.threshold;
  current_scope() = this;
}

RunScope::~RunScope() { current_scope() = outer_; }

bool RunScope::stop_requested() const {
  return (run_.stop != nullptr && *run_.stop) || (outer_ != nullptr && outer_->stop_requested());
}

bool gpu_pays(const Run& run, double cpu, double gpu) {
  constexpr double kStart = 0.14;  // of the driver and a context (bench/python/auto_device.py) [s]
  const std::vector<Device>& devices = run.devices.empty() ? current_run().devices : run.devices;
  if (!devices.empty() && devices.front() != Device::best) return true;
  return cpu > gpu && (cpu > gpu + kStart || cuda_is_up());
}

DeviceScope::DeviceScope(const Run& run, std::string_view work, bool built_with_cuda)
    : scope_(run),
      device_(choose_device(one_device(scope_.run().devices, work), built_with_cuda)),
      current_(device_) {}

}  // namespace warploom
