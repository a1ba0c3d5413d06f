#pragma once

/// How many lines a table on the GPU has.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "warploom/table/line.hpp"

namespace warploom::table {

/// Before more than this many lines are appended a table is too small for its own good.
inline constexpr std::uint64_t kLeastPool = 32;

struct GpuLayout {
  std::uint64_t buckets = 0;  ///< of each table
  std::uint64_t chains = 0;   ///< home lines
  std::uint64_t pool = 0;     ///< lines to be appended

  std::uint64_t lines() const { return chains + pool; }
  std::uint64_t line_bytes() const { return lines() * kLineBytes; }
  /// With LinePool::stack, which comes after the lines
  std::uint64_t bytes() const { return line_bytes() + pool * sizeof(LineIndex); }
};

/// Pairs a home line at the default load, of 14 or 7 slots
constexpr double default_load(int slots) { return 8.25 / 14 * slots; }

/// Of a Poisson distribution with mean 8.25 (4.125) a part of 0.022 (0.059) is above 14 (7): so many chains
/// have an appended line, of random keys at the default load. The rest is for chains that had one at another
/// time.
inline constexpr double kDefaultPoolFraction = 0.12;

/// @param buckets  of each table; 0: from the capacity
inline GpuLayout gpu_layout(std::uint64_t capacity, std::uint64_t tables, std::uint64_t buckets,
                            double pool_fraction, int slots) {
  const double load = default_load(slots);
  GpuLayout layout;
  layout.buckets = buckets;
  if (buckets == 0) {
    const double homes = std::ceil(static_cast<double>(capacity) / load / static_cast<double>(tables));
    layout.buckets = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(homes));
  }
  layout.chains = tables * layout.buckets;
  double pool = pool_fraction * static_cast<double>(layout.chains);
  // Longer chains: k pairs need ceil(k / slots) - 1 lines more, which is less than k / slots.
  if (static_cast<double>(capacity) > load * static_cast<double>(layout.chains))
    pool += (1 + pool_fraction) * static_cast<double>(capacity) / slots;
  layout.pool = kLeastPool + static_cast<std::uint64_t>(std::ceil(std::min(pool, 0x1p62)));
  return layout;
}

}  // namespace warploom::table
