#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/cpu_dtw.hpp"
#include "search/windows.hpp"
#include "warploom/search/index.hpp"

namespace warploom::search {

/// Floats in whole lines, so that no vector lies across two of them.
class Lines {
 public:
  explicit Lines(std::int64_t floats) : lines_(static_cast<std::size_t>(floats / kLine + 1)) {}
  float* data() { return lines_.data()->floats; }
  const float* data() const { return lines_.data()->floats; }

 private:
  static constexpr int kLine = 16;
  struct alignas(4 * kLine) Line {
    float floats[kLine];
  };
  std::vector<Line> lines_;
};

/// A pattern as windows are compared with it.
struct CpuQuery {
  std::int64_t length, radius;
  std::vector<float> samples;              ///< normalised
  const WindowMoments* moments = nullptr;  ///< of all windows of the channel it meets, where they are kept

  CpuQuery(const Pattern& pattern, Normalization normalization);
};

/// How windows [0, count) of `samples` are normalised. Arrays go on for kMostLanes windows that touch missing
/// samples.
struct CpuWindows {
  const float* samples;  ///< where the first window begins
  std::int64_t first, count;
  std::vector<float> mean, rest, scale;

  CpuWindows(std::span<const float> channel, const CpuQuery& query, Normalization normalization,
             std::int64_t first, std::int64_t count);
  bool missing(std::int64_t window) const { return scale[window] != scale[window]; }
  LaneMoments lanes(std::int64_t window) const {
    return {mean.data() + window, rest.data() + window, scale.data() + window};
  }
};

/// Windows here and there: moments of a block of windows are found at once, and kept until one of another is
/// asked for.
class CpuWindowsAt {
 public:
  CpuWindowsAt(std::span<const float> channel, const CpuQuery& query, Normalization normalization)
      : channel_(channel), query_(query), normalization_(normalization) {}
  /// Windows among which is the one that begins at `offset`.
  const CpuWindows& around(std::int64_t offset);

 private:
  std::span<const float> channel_;
  const CpuQuery& query_;
  Normalization normalization_;
  std::optional<CpuWindows> block_;
};

/// Computes distances of as many windows at once as a vector has lanes.
class DtwBatch {
 public:
  explicit DtwBatch(const CpuQuery& query);

  int lanes() const { return dtw_.lanes; }
  /// Of adjacent windows. @param samples  length + lanes - 1 of them
  void load_adjacent(const float* samples, const LaneMoments& moments);
  /// Of windows that begin at each of `samples`, one for each lane. `moments` are read in compute() once
  /// more.
  void load(const float* const* samples, const LaneMoments& moments);
  /// The windows that were loaded: sample j of lane l at [j * lanes + l].
  const float* windows() const { return windows_.data(); }
  /// Infinity where a sample is missing. With `remaining` as in Matrices, distances that are more than the
  /// bound may be anything more than it.
  /// @return cells computed
  std::int64_t compute(float* distances, const float* remaining = nullptr, float bound = 0);

 private:
  const CpuDtw& dtw_;
  const CpuQuery& query_;
  Lines windows_, row_;
  LaneMoments moments_{};
};

}  // namespace warploom::search
