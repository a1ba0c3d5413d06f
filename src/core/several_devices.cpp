#include "core/several_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "core/current_scope.hpp"
#include "warploom/core/error.hpp"

namespace warploom {
namespace {

std::vector<Device> choose_devices(std::span<const Device> wanted, bool built_with_cuda) {
  if (wanted.size() <= 1) return {choose_device(wanted.empty() ? Device::best : wanted[0], built_with_cuda)};
  const auto is_cpu = [](Device device) { return device == Device::cpu; };
  const auto is_numbered = [](Device device) { return device.is_gpu() && device.ordinal >= 0; };
  if (!std::ranges::all_of(wanted, is_cpu) && !std::ranges::all_of(wanted, is_numbered))
    throw BadInput(fmt::format(
        "devices {} do not share work: name GPUs by their numbers (cuda:0,1), or the CPU several times",
        names(wanted)));
  std::vector<Device> chosen;
  for (const Device device : wanted) chosen.push_back(choose_device(device, built_with_cuda));
  return chosen;
}

}  // namespace

DevicesScope::DevicesScope(const Run& run, bool built_with_cuda)
    : scope_(run),
      devices_(choose_devices(scope_.run().devices, built_with_cuda)),
      current_(devices_.front()) {}

std::string names(std::span<const Device> devices) {
  std::string text;
  for (const Device device : devices) text += (text.empty() ? "" : ",") + name(device);
  return text;
}

void on_devices(std::span<const Device> devices, const std::function<void(std::size_t)>& body) {
  const RunScope* const around = current_scope();
  std::atomic<bool> stop = false;
  std::mutex mutex;
  std::exception_ptr error;  // guarded by mutex
  const auto work = [&](std::size_t k) {
    try {
      Run run{.devices = {devices[k]}, .stop = &stop};
      if (k > 0) run.progress = [](const ProgressState&) {};
      const RunScope scope(run);
      const OnDevice current(devices[k]);
      body(k);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      stop = true;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t k = 1; k < devices.size(); ++k) {
      try {
        threads.emplace_back([&, k] {
          current_scope() = around;  // as parallel_for does
          work(k);
        });
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        stop = true;
        break;
      }
    }
    if (!devices.empty() && !stop) work(0);
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace warploom
