#pragma once

/// When lower bounds pay on a GPU. Costs are instructions of a thread, as DtwKernel::cost has them.

#include <algorithm>
#include <cstdint>

#include "warploom/core/host_device.hpp"

namespace warploom::search {

/// Adjacent windows whose bounds a block finds.
inline constexpr int kBoundWindows = 256;
/// Of a position of a window that a bound looks at: it is read, normalised, held against the envelope, added.
inline constexpr double kPositionCost = 10;
/// A matrix of a window of a list, which shares fewer samples with its neighbours, beside one of all windows.
inline constexpr double kListed = 1.1;
/// All matrices of a search that make up less are computed: seeds, samples and the wait for what is left take
/// longer.
inline constexpr double kLeastWork = 3e9;

/// What bounds did in a sample of a job's windows.
struct BoundSample {
  std::int64_t windows;
  std::int64_t positions;  ///< looked at, of all of them
  std::int64_t left;       ///< windows that were not excluded
};

/// Of a window, of bounds and of the matrices that they leave.
WARPLOOM_HOST_DEVICE inline double cost_with_bounds(const BoundSample& sample, double matrix_cost) {
  return (kPositionCost * static_cast<double>(sample.positions) +
          kListed * matrix_cost * static_cast<double>(sample.left)) /
         static_cast<double>(sample.windows);
}
WARPLOOM_HOST_DEVICE inline bool bounds_pay(const BoundSample& sample, double matrix_cost) {
  return cost_with_bounds(sample, matrix_cost) < matrix_cost;
}

/// Where seeds are looked for: in the offsets [g * stride, g * stride + kBoundWindows) of each group g, of
/// which the window with the least bound is compared. Two of them lie more than twice the exclusion zone
/// apart, so that no candidate is farther than the `limit`-th nearest of them.
struct Seeding {
  std::int64_t stride = 1, groups = 0;  ///< 0: too few for a bound
};
inline constexpr std::int64_t kMostGroups = 16384;

/// As many groups as take a twentieth of what all matrices take, or four times as many as candidates are
/// wanted, if there is room for them.
/// @param offsets  of a piece of a task
inline Seeding seeding(std::int64_t offsets, std::int64_t exclusion, std::int64_t limit, std::int64_t length,
                       double matrix_cost) {
  const std::int64_t least = 2 * std::min(exclusion, offsets) + kBoundWindows;
  const double share = kPositionCost * static_cast<double>(length) / (.05 * matrix_cost);
  const auto cheap = static_cast<std::int64_t>(std::min(share * kBoundWindows, 1e15));
  const std::int64_t wanted = std::min(cheap, offsets / (4 * std::min(limit, kMostGroups)));
  const std::int64_t stride = std::max({least, wanted, (offsets + kMostGroups - 1) / kMostGroups});
  const std::int64_t groups = (offsets + stride - 1) / stride;
  return groups < limit ? Seeding{} : Seeding{stride, groups};
}

/// Evenly spaced groups of windows on which bounds are tried: a sixteenth of all, if that is neither too
/// little nor more than it takes.
struct Sampling {
  std::int64_t stride, groups;
  std::int64_t windows;  ///< in all groups
};
inline Sampling sampling(std::int64_t windows) {
  const std::int64_t all = (windows + kBoundWindows - 1) / kBoundWindows;
  const std::int64_t groups = std::min(std::clamp<std::int64_t>(all / 16, 4, 256), all);
  const std::int64_t stride = all / groups * kBoundWindows, last = (groups - 1) * stride;
  return {stride, groups,
          (groups - 1) * kBoundWindows + std::min<std::int64_t>(kBoundWindows, windows - last)};
}

}  // namespace warploom::search
