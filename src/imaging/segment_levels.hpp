#pragma once

/// Bins of the convex method's v, for CPU and GPU alike.

#include "warploom/core/host_device.hpp"

namespace warploom::imaging {

inline constexpr int kLevels = 1024;  // over [0, 1]
// Sums of u are whole numbers, so that the order does not matter: coarse by levels, where 2^15 of them must
// fit into 32 bits, and as fine as single precision is over a set.
inline constexpr int kLevelPoint = 1 << 16, kSetPoint = 1 << 24;

WARPLOOM_HOST_DEVICE static inline int level_of(float v) {
  const float bin = v * static_cast<float>(kLevels);
  return !(bin > 0.0F) ? 0 : bin >= static_cast<float>(kLevels) ? kLevels - 1 : static_cast<int>(bin);
}

/// Of 0 <= u <= 1.
WARPLOOM_HOST_DEVICE static inline unsigned level_fixed(float u) {
  return static_cast<unsigned>(u * static_cast<float>(kLevelPoint) + 0.5F);
}
WARPLOOM_HOST_DEVICE static inline long long set_fixed(float u) {
  return static_cast<long long>(u * static_cast<float>(kSetPoint) + 0.5F);
}

}  // namespace warploom::imaging
