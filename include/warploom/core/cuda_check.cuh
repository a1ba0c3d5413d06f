#pragma once

#include <cuda_runtime.h>

#include <string>

#include "warploom/core/error.hpp"

namespace warploom {

/// Turns a CUDA runtime error into an exception; `what` names the call and its sizes, as in
/// cuda_check(cudaMalloc(&p, n), "cudaMalloc of 4096 bytes"). The error is cleared where CUDA allows it; one
/// of a kernel, or of the device, ends the device's context: every later call reports it again, and the
/// message says so.
/// @throws OutOfMemory, NoDevice (no device or driver), Error (all others)
inline void cuda_check(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  std::string message = what + ": " + cudaGetErrorString(error) + " (CUDA error " +
                        std::to_string(static_cast<int>(error)) + ")";
  switch (error) {
    case cudaErrorMemoryAllocation:
      throw OutOfMemory(message);
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
      throw NoDevice(message);
    default:
      if (cudaFree(nullptr) == error)
        message +=
            ". The device's context has ended and with it what was in its memory; host memory is as it was. Start a new process";
      throw Error(message);
  }
}

}  // namespace warploom
