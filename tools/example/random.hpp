#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "warploom/count/workload.hpp"

namespace warploom::tool {

/// The same everywhere, as the standard's distributions are not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t next() { return table::splitmix64(seed_, drawn_++); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  ///< in [0, 1)
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  double normal() {
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t seed_, drawn_ = 0;
};

}  // namespace warploom::tool
