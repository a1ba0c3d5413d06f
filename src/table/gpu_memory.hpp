#pragma once

/// Device memory in stream order, from the user's allocator or CUDA's.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/cuda/owners.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/table/gpu_table.cuh"

namespace warploom::table {

/// An allocator with what all allocations share.
class GpuMemory {
 public:
  /// @throws NoDevice
  explicit GpuMemory(GpuAllocator allocator) : allocator_(std::move(allocator)) {
    int device = 0, pools = 0;
    cuda_check(cudaGetDevice(&device), "looking for a CUDA device");
    if (allocator_.allocate) return;
    cuda_check(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device),
               "cudaDeviceGetAttribute");
    if (pools != 0) cuda_check(cudaDeviceGetDefaultMemPool(&pool_, device), "cudaDeviceGetDefaultMemPool");
  }

  /// @throws OutOfMemory, before it is tried where it cannot succeed
  void* allocate(std::uint64_t bytes, const std::string& what, cudaStream_t stream) const {
    void* memory = nullptr;
    if (allocator_.allocate) {
      memory = allocator_.allocate(bytes, stream);
      if (memory == nullptr)
        throw OutOfMemory("the allocator given has no " + bytes_text(bytes) + " for " + what);
      if (reinterpret_cast<std::uintptr_t>(memory) % 128 != 0) {
        allocator_.release(memory, bytes, stream);
        throw BadInput("the allocator given returned memory that is not aligned to 128 bytes");
      }
      return memory;
    }
    require(bytes, what);
    const std::string call = "allocating " + bytes_text(bytes) + " for " + what;
    if (pool_ != nullptr)
      cuda_check(cudaMallocAsync(&memory, bytes, stream), call);
    else
      cuda_check(cudaMalloc(&memory, bytes), call);
    return memory;
  }

  void release(void* memory, std::uint64_t bytes, cudaStream_t stream) const {
    if (allocator_.release)
      allocator_.release(memory, bytes, stream);
    else if (pool_ != nullptr)
      cudaFreeAsync(memory, stream);
    else
      cudaFree(memory);
  }

 private:
  /// Small amounts are not worth asking.
  void require(std::uint64_t bytes, const std::string& what) const {
    constexpr std::uint64_t kSmall = 64 << 20;
    if (bytes < kSmall) return;
    const auto [free, total] = device_memory();
    std::uint64_t reserved = 0, used = 0;  // of the pool: what it keeps can be had, too
    if (pool_ != nullptr) {
      cuda_check(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved),
                 "cudaMemPoolGetAttribute");
      cuda_check(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used),
                 "cudaMemPoolGetAttribute");
    }
    const std::uint64_t available = within_cap(free + (reserved - used));
    if (bytes > available)
      throw OutOfMemory(what + " need " + bytes_text(bytes) + " of the GPU's memory, " +
                        bytes_text(available) + " of " + bytes_text(total) +
                        " are free; take a smaller capacity, or the CPU");
  }

  GpuAllocator allocator_;
  cudaMemPool_t pool_ = nullptr;
};

/// Owns memory of a GpuMemory, which outlives it. It is given back in the order of the stream that it is
/// from, or of the one that followed.
class DeviceBlock {
 public:
  DeviceBlock() = default;
  DeviceBlock(const GpuMemory& memory, std::uint64_t bytes, const std::string& what, cudaStream_t stream)
      : memory_(&memory), start_(memory.allocate(bytes, what, stream)), bytes_(bytes), stream_(stream) {}
  DeviceBlock(DeviceBlock&& other) noexcept { *this = std::move(other); }
  DeviceBlock& operator=(DeviceBlock&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~DeviceBlock() {
    if (start_ != nullptr) memory_->release(start_, bytes_, stream_);
  }

  template <class T>
  T* at() const {
    return static_cast<T*>(start_);
  }
  std::uint64_t bytes() const { return bytes_; }
  void follow(cudaStream_t stream) { stream_ = stream; }

 private:
  const GpuMemory* memory_ = nullptr;
  void* start_ = nullptr;
  std::uint64_t bytes_ = 0;
  cudaStream_t stream_ = nullptr;
};

}  // namespace warploom::table
