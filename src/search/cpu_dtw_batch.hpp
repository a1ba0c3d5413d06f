#pragma once

#include <cstdint>
#include <limits>
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

/// Goes on for kMostLanes windows that touch missing samples, so that a vector can be read anywhere.
void pad(WindowMoments& moments);

/// A channel of a pattern, and what it is compared with.
struct CpuChannel {
  std::span<const float> recorded;         ///< the recording's whole channel
  std::vector<float> samples;              ///< of the pattern, normalised
  const WindowMoments* moments = nullptr;  ///< of all windows of `recorded`, where they are kept; padded
};

/// A pattern as windows are compared with it.
struct CpuQuery {
  std::int64_t length, radius;
  Normalization normalization;
  Warping warping = Warping::together;
  std::vector<CpuChannel> channels;

  CpuQuery(const Signal& signal, std::int32_t channel, const Pattern& pattern, Normalization normalization);
  CpuQuery(const Signal& signal, const JointPattern& pattern, Normalization normalization);
  std::int64_t count() const { return std::ssize(channels); }
  /// Channels that one matrix is of: all or 1.
  std::int64_t in_a_matrix() const { return warping == Warping::together ? count() : 1; }
  /// What a channel's floats begin at, and how far they lie apart, in the layout of Matrices.
  std::int64_t place(std::int64_t channel) const {
    return warping == Warping::together ? channel : channel * length;
  }
};

/// Where rolling sums begin: `here`, at the first window, takes less for a few windows and gives numbers that
/// depend on them.
enum class MomentsBegin { at_a_block, here };

/// How windows [0, count) of a channel are normalised. Arrays go on for kMostLanes windows.
struct CpuWindows {
  const float* samples;  ///< where the first window begins
  std::int64_t first, count;
  const float *mean, *rest, *scale;  ///< [count + kMostLanes]; scale: NaN where a sample is missing

  CpuWindows(const CpuChannel& channel, const CpuQuery& query, std::int64_t first, std::int64_t count,
             MomentsBegin begin);
  CpuWindows(CpuWindows&&) = default;
  bool missing(std::int64_t window) const { return scale[window] != scale[window]; }
  LaneMoments lanes(std::int64_t window) const { return {mean + window, rest + window, scale + window}; }

 private:
  std::optional<WindowMoments> own_;  // not of those that are kept
};

/// The same windows of all channels of a query.
struct CpuWindowsOfAll {
  std::int64_t first, count;
  std::vector<CpuWindows> channels;

  CpuWindowsOfAll(const CpuQuery& query, std::int64_t first, std::int64_t count,
                  MomentsBegin begin = MomentsBegin::at_a_block);
  bool missing(std::int64_t window) const {
    for (const CpuWindows& channel : channels)
      if (channel.missing(window)) return true;
    return false;
  }
};

/// A window of a channel for each lane of a vector.
struct LaneWindows {
  const float* begin[kMostLanes];
  float mean[kMostLanes], rest[kMostLanes], scale[kMostLanes];

  void set(int lane, const CpuWindows& of, std::int64_t window) {
    begin[lane] = of.samples + window;
    mean[lane] = of.mean[window];
    rest[lane] = of.rest[window];
    scale[lane] = of.scale[window];
  }
  void set(int lane, const LaneWindows& of, int from) {
    begin[lane] = of.begin[from];
    mean[lane] = of.mean[from];
    rest[lane] = of.rest[from];
    scale[lane] = of.scale[from];
  }
  LaneMoments moments() const { return {mean, rest, scale}; }
};

/// Windows here and there: moments of a block of windows are found at once, and kept until one of another is
/// asked for.
class CpuWindowsAt {
 public:
  explicit CpuWindowsAt(const CpuQuery& query) : query_(query) {}
  /// Windows among which is the one that begins at `offset`.
  const CpuWindowsOfAll& around(std::int64_t offset);

 private:
  const CpuQuery& query_;
  std::optional<CpuWindowsOfAll> block_;
};

/// What lower bounds tell of the windows of a batch.
struct BatchBounds {
  /// Matrices::remaining of a channel, or of all, with `more` added to each lane.
  virtual void remaining(std::int64_t channel, const float* more, float* to) = 0;
  float bound = std::numeric_limits<float>::infinity();  ///< of the sum over channels

 protected:
  ~BatchBounds() = default;
};

/// Computes distances of as many windows at once as a vector has lanes.
class DtwBatch {
 public:
  explicit DtwBatch(const CpuQuery& query);

  int lanes() const { return dtw_.lanes; }
  /// Of a channel's adjacent windows. @param samples  length + lanes - 1 of them
  void load_adjacent(std::int64_t channel, const float* samples, const LaneMoments& moments);
  /// Of windows that begin at each of `samples`, one for each lane.
  void load(std::int64_t channel, const float* const* samples, const LaneMoments& moments);
  /// What was loaded of a matrix's channels, the first of which is this; laid out as Matrices::windows.
  const float* windows(std::int64_t channel) const {
    return windows_.data() + query_.place(channel) * lanes();
  }
  /// Of windows whose channels were all loaded and have all samples; of others anything. With `bounds`
  /// distances that are more than the bound may be anything more than it.
  /// @return cells computed
  std::int64_t compute(float* distances, BatchBounds* bounds = nullptr);

 private:
  std::int64_t sums_of_each(float* sums, BatchBounds* bounds);

  const CpuDtw& dtw_;
  const CpuQuery& query_;
  std::vector<float> samples_;  // of the query, laid out as Matrices::query
  Lines windows_, row_, remaining_;
};

}  // namespace warploom::search
