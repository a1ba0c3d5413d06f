#pragma once

/// GPUs of one machine that read and write each other's memory.

#include <cuda_runtime_api.h>

#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "warploom/core/cuda_check.cuh"
#include "warploom/core/device.hpp"
#include "warploom/core/error.hpp"

namespace warploom {

/// Kernels of each of these GPUs may use the memory of the others from now on, until the process ends; what
/// cudaMalloc gave before, too. Of GPUs that are named several times, or for which it was done before, it
/// does nothing. All have numbers.
/// @throws NoDevice: two of them do not reach each other
inline void enable_peers(std::span<const Device> devices) {
  static std::mutex mutex;
  static std::set<std::pair<int, int>> enabled;  // guarded by mutex
  const std::lock_guard lock(mutex);
  for (const Device from : devices)
    for (const Device to : devices) {
      if (from == to || enabled.contains({from.ordinal, to.ordinal})) continue;
      int can = 0;
      cuda_check(cudaDeviceCanAccessPeer(&can, from.ordinal, to.ordinal), "cudaDeviceCanAccessPeer");
      const std::string both =
          "GPU " + std::to_string(from.ordinal) + " to GPU " + std::to_string(to.ordinal);
      if (can == 0)
        throw NoDevice(
            "no way leads from " + both +
            ", neither NVLink nor PCIe, by which one reads the other's memory (nvidia-smi topo -p2p r shows "
            "between which there is one): name one of them, or GPUs that have one");
      const OnDevice current(from);
      const cudaError_t error = cudaDeviceEnablePeerAccess(to.ordinal, 0);
      if (error == cudaErrorPeerAccessAlreadyEnabled)
        cudaGetLastError();
      else
        cuda_check(error, "peer access from " + both);
      enabled.emplace(from.ordinal, to.ordinal);
    }
}

}  // namespace warploom
