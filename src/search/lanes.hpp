#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "search/cpu_dtw_batch.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::search {

/// A channel's window, and how it is normalised; scale NaN: there is none, or it misses a sample.
struct LaneWindow {
  const float* begin;
  float mean, rest, scale;
};

/// Distances of windows here and there, as many at once as a vector has lanes; infinite where a channel's
/// window is not there. @param window_of  of a channel of the query's, and of one of [0, count)
template <typename WindowOf>
std::vector<float> lane_distances(const CpuQuery& query, std::int64_t count, const WindowOf& window_of) {
  constexpr std::int64_t kBlock = 16 * kMostLanes;  // of windows that share the memory of a batch
  std::vector<float> all(static_cast<std::size_t>(count), std::numeric_limits<float>::infinity());
  const auto compute = [&](DtwBatch& batch, std::int64_t begin, std::int64_t end) {
    const std::int64_t lanes = batch.lanes(), some = std::min(lanes, end - begin);
    bool whole[kMostLanes];
    std::fill_n(whole, kMostLanes, true);
    for (std::int64_t c = 0; c < query.count(); ++c) {
      LaneWindows windows;
      for (std::int64_t l = 0; l < lanes; ++l) {
        const LaneWindow window = window_of(c, begin + std::min(l, some - 1));
        whole[l] = whole[l] && !std::isnan(window.scale);
        windows.begin[l] = window.begin;
        windows.mean[l] = window.mean;
        windows.rest[l] = window.rest;
        windows.scale[l] = window.scale;
      }
      batch.load(c, windows.begin, windows.moments());
    }
    float of_lanes[kMostLanes];
    batch.compute(of_lanes);
    for (std::int64_t l = 0; l < some; ++l)
      if (whole[l]) all[begin + l] = of_lanes[l];
  };
  parallel_for((count + kBlock - 1) / kBlock, [&](std::int64_t b) {
    DtwBatch batch(query);
    const std::int64_t end = std::min(count, (b + 1) * kBlock);
    for (std::int64_t begin = b * kBlock; begin < end; begin += batch.lanes()) {
      check_interrupt();
      compute(batch, begin, end);
    }
  });
  return all;
}

}  // namespace warploom::search
