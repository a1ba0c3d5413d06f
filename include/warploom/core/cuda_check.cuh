#pragma once

#include <cuda_runtime.h>

#include <string>

#include "warploom/core/error.hpp"

namespace warploom {

/// Turns a CUDA runtime error into an exception; `what` names the call and its sizes, as in
/// cuda_check(cudaMalloc(&p, n), "cudaMalloc of 4096 bytes"). The error is cleared where CUDA allows it.
/// @throws OutOfMemory, NoDevice (no device or driver), Error (all others)
inline void cuda_check(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  const std::string message = what + ": " + cudaGetErrorString(error) + " (CUDA error " +
                              std::to_string(static_cast<int>(error)) + ")";
  switch (error) {
    case cudaErrorMemoryAllocation:
      throw OutOfMemory(message);
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
      throw NoDevice(message);
    default:
      throw Error(message);
  }
}

}  // namespace warploom
