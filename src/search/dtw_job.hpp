#pragma once

#include <cstdint>

namespace warploom::search {

/// How a window is normalised on the device: (x - mean) * scale + offset. The offset holds what the mean
/// loses as a float. Scale 0: constant, all zeros; scale NaN: touches a missing sample.
struct WindowScale {
  float mean, scale, offset;
};

/// What stands where there is no sample: its square is finite, and larger than any that counts.
inline constexpr float kFar = 1.5e19F;

/// Entries of a profile on the device: the distance's bits (it is not negative) above the pattern's number,
/// so that less is nearer and of equal distances the first pattern's.
using ProfileEntry = unsigned long long;
inline constexpr ProfileEntry kNoEntry = ~0ULL;

/// A pattern against windows of one channel, all pointers to device memory.
struct DtwJob {
  /// Sample 0; samples -front_pad() to length + kBackPad + radius - 1 can be read and are kFar outside [0,
  /// length). Sample `radius` is aligned to 16 bytes.
  const float* query;
  const float* samples;         ///< where window 0 begins; kSamplePad more than the windows' can be read
  const std::int64_t* begins;   ///< of each window from `samples`; null: one after the other
  const WindowScale* scales;    ///< of each window
  ProfileEntry* profile;        ///< of each window; the least of what is there and the distance stays
  const std::uint32_t* list;    ///< the windows to compare, by number; null: all, 0 to windows - 1
  std::int64_t windows;         ///< to compare; with a list as many as it has
  std::int32_t length, radius;  ///< radius < length
  std::uint32_t pattern;
  std::uint32_t first_block;  ///< of the launch
};

inline constexpr int kDtwThreads = 128;  ///< of a block

inline constexpr std::int64_t kBackPad = 160, kSamplePad = 160;
/// More than the radius by at least 1,151.
inline std::int64_t front_pad(std::int64_t radius) { return (2 * radius + 1155) / 4 * 4 - radius; }

}  // namespace warploom::search
