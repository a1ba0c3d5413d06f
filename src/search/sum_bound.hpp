#pragma once

#include <cstdint>

#include "warploom/core/host_device.hpp"

namespace warploom::search {

/// Sums are compared with this, so that what rounding adds to a lower bound or takes from a sum never
/// excludes a window whose distance is not above the bound: a sum has at most 2 * length terms, and two sums
/// are added.
WARPLOOM_HOST_DEVICE inline float sum_bound(float distance, std::int64_t length) {
  constexpr double kMost = 0x1.fffffep127;  // of floats
  const auto m = static_cast<double>(length);
  const double sum = double{distance} * distance * m * (1 + 3e-7 * (m + 8));
  return static_cast<float>(sum < kMost ? sum : kMost);
}

}  // namespace warploom::search
