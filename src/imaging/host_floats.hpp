#pragma once

/// Memory of the host for images that a solver works on.

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "warploom/core/error.hpp"

namespace warploom::imaging {

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

inline constexpr std::int64_t kLargePage = std::int64_t{2} << 20;

/// Floats in large pages where the system has them, not initialised. @throws OutOfMemory
class HostFloats {
 public:
  explicit HostFloats(std::int64_t count) {
    const std::int64_t bytes = round_up(count * std::int64_t{sizeof(float)}, kLargePage);
    memory_.reset(static_cast<float*>(
        std::aligned_alloc(static_cast<std::size_t>(kLargePage), static_cast<std::size_t>(bytes))));
    if (memory_ == nullptr)
      throw OutOfMemory("denoising needs " + std::to_string(bytes) + " bytes more for its work");
    madvise(memory_.get(), static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  }
  float* get() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> memory_;
};

}  // namespace warploom::imaging
