#pragma once

/// How several devices share a table's keys.

#include <cstddef>
#include <cstdint>

#include "warploom/table/hash.hpp"

namespace warploom::table {

/// Which of several tables that share all keys has this one: by the half of the hash that Placement leaves.
WARPLOOM_HOST_DEVICE constexpr std::uint32_t share_of(std::uint64_t key, std::uint32_t shares) {
  return scaled(static_cast<std::uint32_t>(mix(key)), shares);
}

/// Parts of a batch for a table on several GPUs
inline constexpr std::size_t kMostParts = 16;

/// What a table does of a batch that several share.
struct Share {
  std::uint32_t mine = 0, of = 1;
  /// Operations that ended as `full` are repeated, and no others are done.
  bool only_full = false;
};

}  // namespace warploom::table
