#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "cli/verb.hpp"
#include "warploom/core/device.hpp"
#include "warploom/json/json.hpp"

namespace warploom::tool {
namespace {

unsigned cpu_threads() { return std::max(1U, std::thread::hardware_concurrency()); }

std::string driver_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string as_text(const CudaDevices& cuda) {
  std::string text = fmt::format("cpu     {} threads\n", cpu_threads());
  for (const CudaDevice& device : cuda.devices)
    text += fmt::format(
        "cuda:{}  {}, sm_{}, {} multiprocessors, {}; shared memory {} a multiprocessor, {} a block ({} with opt-in)\n",
        device.ordinal, device.name, device.compute_capability, device.multiprocessors,
        byte_text(device.memory), byte_text(device.shared_per_sm), byte_text(device.shared_per_block),
        byte_text(device.shared_per_block_optin));
  if (cuda.devices.empty()) text += fmt::format("cuda    none: {}\n", cuda.absent);
  if (cuda.driver_version > 0) text += fmt::format("driver  CUDA {}\n", driver_text(cuda.driver_version));
  return text + fmt::format("auto    {}\n", name(choose_device(Device::best)));
}

Json as_json(const CudaDevices& cuda) {
  Json devices = Json::array();
  for (const CudaDevice& device : cuda.devices)
    devices.push_back({{"ordinal", device.ordinal},
                       {"name", device.name},
                       {"compute_capability", device.compute_capability},
                       {"multiprocessors", device.multiprocessors},
                       {"memory_bytes", device.memory},
                       {"shared_bytes_per_multiprocessor", device.shared_per_sm},
                       {"shared_bytes_per_block", device.shared_per_block},
                       {"shared_bytes_per_block_optin", device.shared_per_block_optin},
                       {"shared_bytes_reserved_per_block", device.shared_reserved},
                       {"threads_per_multiprocessor", device.threads_per_sm},
                       {"registers_per_multiprocessor", device.registers_per_sm}});
  Json result = {{"cpu", {{"threads", cpu_threads()}}},
                 {"cuda", {{"devices", std::move(devices)}}},
                 {"auto", name(choose_device(Device::best))}};
  if (cuda.driver_version > 0) result["cuda"]["driver"] = driver_text(cuda.driver_version);
  if (cuda.devices.empty()) result["cuda"]["absent"] = cuda.absent;
  return result;
}

std::function<int()> add(Command& command) {
  auto json = std::make_shared<bool>(false);
  command.add_json(*json);
  return [json] {
    if (*json)
      print_json(as_json(cuda_devices()));
    else
      print(as_text(cuda_devices()));
    return kDone;
  };
}

}  // namespace

Verb devices_verb() {
  return {"devices", "List the processors that --device can name, with their memory [bytes]",
          "warploom devices --json | jq '.cuda.devices[].name'", add};
}

}  // namespace warploom::tool
