#pragma once

#include <cstdint>
#include <random>

namespace warploom {

/// Reproducible random choices for tests: the same on every platform.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  /// 0 to n - 1. @pre n > 0
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }
  bool chance(std::uint32_t percent) { return below(100) < percent; }

 private:
  std::mt19937 engine_;
};

}  // namespace warploom
