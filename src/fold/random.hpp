#pragma once

#include <cstdint>

namespace warploom::fold {

/// Numbers that a seed alone decides. Source: splitmix64, Steele, Lea & Flood, OOPSLA 2014.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }
  /// One of 0 .. count - 1, count < 2^32, with probabilities that differ by count / 2^32 of their own at
  /// most.
  std::uint32_t below(std::uint32_t count) {
    return static_cast<std::uint32_t>((((*this)() >> 32) * count) >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace warploom::fold
