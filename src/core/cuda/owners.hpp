#pragma once

/// Owners of what the CUDA runtime gives out.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "warploom/core/cuda_check.cuh"
#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/run.hpp"

namespace warploom {

struct CudaRelease {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
template <class Handle>
using CudaOwner = std::unique_ptr<std::remove_pointer_t<Handle>, CudaRelease>;
using CudaStream = CudaOwner<cudaStream_t>;
using CudaEvent = CudaOwner<cudaEvent_t>;

inline CudaStream make_stream() {
  cudaStream_t stream = nullptr;
  cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return CudaStream(stream);
}

inline CudaEvent make_event() {
  cudaEvent_t event = nullptr;
  cuda_check(cudaEventCreate(&event), "cudaEventCreate");
  return CudaEvent(event);
}

/// @throws as cuda_check (one of them was not recorded yet)
inline double seconds_between(const CudaEvent& from, const CudaEvent& to) {
  float milliseconds = 0;
  cuda_check(cudaEventElapsedTime(&milliseconds, from.get(), to.get()), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) / 1e3;
}

/// Waits at the end of a scope for what was asked of a stream, so that nothing is released that is in use.
class WaitAtEnd {
 public:
  explicit WaitAtEnd(cudaStream_t stream) : stream_(stream) {}
  WaitAtEnd(const WaitAtEnd&) = delete;
  WaitAtEnd& operator=(const WaitAtEnd&) = delete;
  ~WaitAtEnd() { cudaStreamSynchronize(stream_); }

 private:
  cudaStream_t stream_;
};

/// What is asked of `stream` from now on comes after what `before` has.
inline void come_after(cudaStream_t stream, cudaStream_t before) {
  const CudaEvent event = make_event();
  cuda_check(cudaEventRecord(event.get(), before), "cudaEventRecord of the caller's stream");
  cuda_check(cudaStreamWaitEvent(stream, event.get(), 0), "cudaStreamWaitEvent");
}

/// Of memory that somebody else gives: kernels that wrote elsewhere would end the process's context.
/// @throws BadInput unless it is null or the current device can reach it: its own, managed or pinned
inline void require_reachable(const void* memory, const std::string& what) {
  if (memory == nullptr) return;
  cudaPointerAttributes found{};
  int current = 0;
  cuda_check(cudaPointerGetAttributes(&found, memory), "cudaPointerGetAttributes");
  cuda_check(cudaGetDevice(&current), "cudaGetDevice");
  if (found.type == cudaMemoryTypeUnregistered)
    throw BadInput(what + " is in memory of the host that the GPU does not reach");
  if (found.type == cudaMemoryTypeDevice && found.device != current)
    throw BadInput(what + " is in the memory of GPU " + std::to_string(found.device) + ", the work on GPU " +
                   std::to_string(current) + ": give `device` cuda:" + std::to_string(found.device));
}

struct DeviceFree {
  void operator()(void* p) const { cudaFree(p); }
};
struct PinnedFree {
  void operator()(void* p) const { cudaFreeHost(p); }
};

/// Not initialised.
template <class T>
using DeviceArray = std::unique_ptr<T[], DeviceFree>;
template <class T>
using PinnedArray = std::unique_ptr<T[], PinnedFree>;

struct DeviceBytes {
  std::uint64_t free, total;  ///< [bytes]
};
/// Of the current device; free is what the current Run's cap allows of it.
inline DeviceBytes device_memory() {
  std::size_t free = 0, total = 0;
  cuda_check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return {within_cap(free), total};
}

/// @throws OutOfMemory (more than the device has free or the current Run's cap allows), with both numbers
template <class T>
DeviceArray<T> make_device(std::size_t count) {
  const std::uint64_t bytes = count * sizeof(T);
  void* p = nullptr;
  const cudaError_t error = bytes > within_cap(bytes) ? cudaErrorMemoryAllocation : cudaMalloc(&p, bytes);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    const DeviceBytes memory = device_memory();
    throw OutOfMemory(bytes_text(bytes) + " of the GPU's memory were wanted, " + bytes_text(memory.free) +
                      " of " + bytes_text(memory.total) + " are free or allowed");
  }
  cuda_check(error, "cudaMalloc of " + std::to_string(bytes) + " bytes");
  return DeviceArray<T>(static_cast<T*>(p));
}

/// Of the host, where devices can reach it.
template <class T>
PinnedArray<T> make_pinned(std::size_t count) {
  void* p = nullptr;
  cuda_check(cudaMallocHost(&p, count * sizeof(T)),
             "cudaMallocHost of " + std::to_string(count * sizeof(T)) + " bytes");
  return PinnedArray<T>(static_cast<T*>(p));
}

}  // namespace warploom
