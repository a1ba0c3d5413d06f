#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include "fold/gpu.hpp"
#include "warploom/core/cuda_check.cuh"

namespace warploom::fold::gpu {

/// As many blocks as are resident together, `most` at most, which share the launch's tasks.
template <class Kernel, class Arguments>
void launch_persistent(Kernel* kernel, int threads, std::size_t shared, const Arguments& launch,
                       cudaStream_t stream, int most = 1 << 16) {
  const int bytes = static_cast<int>(shared);
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
             "shared memory of " + std::to_string(bytes) + " bytes");
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                  cudaSharedmemCarveoutMaxShared),
             "cudaFuncSetAttribute");
  int device = 0, multiprocessors = 0, resident = 0;
  cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
             "cudaDeviceGetAttribute");
  cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, shared),
             "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  const int blocks = std::min({resident * multiprocessors, static_cast<int>(launch.task_count), most});
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), shared, stream>>>(launch);
  cuda_check(cudaGetLastError(), "launch of a kernel of fold");
}

}  // namespace warploom::fold::gpu
