#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "warploom/core/cuda_check.cuh"
#include "warploom/core/error.hpp"

namespace warploom::table {

/// As cuda_check(), and says what is lost where the error has ended the device's context: an error of a
/// kernel, or of the device, that every later call reports again.
inline void gpu_check(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return;
  if (cudaFree(nullptr) == cudaSuccess) cuda_check(error, what);
  throw Error(what + ": " + cudaGetErrorString(error) + " (CUDA error " +
              std::to_string(static_cast<int>(error)) +
              "). The device's context has ended and with it the tables in its memory; host memory is as it "
              "was. Start a new process and build them again");
}

}  // namespace warploom::table
