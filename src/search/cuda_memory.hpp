#pragma once

/// Memory that is carved up, and jobs that are brought to the device.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/cuda_owners.hpp"

namespace warploom::search {

/// Arrays one behind the other in one piece of memory. Without memory it only measures.
class Carver {
 public:
  explicit Carver(std::byte* memory) : begin_(reinterpret_cast<std::uintptr_t>(memory)) {}
  template <class T>
  T* take(std::int64_t count) {
    const std::size_t at = used_;
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 255) / 256 * 256;
    return reinterpret_cast<T*>(begin_ + at);
  }
  std::size_t used() const { return used_; }

 private:
  std::uintptr_t begin_;
  std::size_t used_ = 0;
};

/// Memory that grows as it is asked for more; what was in it is lost then.
struct DeviceBuffer {
  DeviceArray<std::byte> memory;
  std::size_t bytes = 0;
  void reserve(std::size_t wanted) {
    if (wanted <= bytes) return;
    bytes = 0;
    memory.reset();
    memory = make_device<std::byte>(wanted);
    bytes = wanted;
  }
};
struct PinnedBuffer {
  PinnedArray<std::byte> memory;
  std::size_t bytes = 0;
  void reserve(std::size_t wanted) {
    if (wanted <= bytes) return;
    bytes = 0;
    memory.reset();
    memory = make_pinned<std::byte>(wanted);
    bytes = wanted;
  }
};

/// Arrays of jobs on their way: to where the host keeps them, until they are copied, and the same places on
/// the device. Without memory it only measures.
class JobUpload {
 public:
  JobUpload(std::byte* host, std::byte* device) : writes_(host != nullptr), host_(host), device_(device) {}
  template <class Jobs>
  auto put(const Jobs& jobs) {
    using Job = typename Jobs::value_type;
    Job* const to = host_.take<Job>(std::ssize(jobs));
    if (writes_ && !jobs.empty()) std::memcpy(to, jobs.data(), jobs.size() * sizeof(Job));
    return static_cast<const Job*>(device_.take<Job>(std::ssize(jobs)));
  }
  std::size_t used() const { return host_.used(); }

 private:
  bool writes_;
  Carver host_, device_;
};

}  // namespace warploom::search
