#pragma once

#include "warploom/tile/gpu.hpp"

/// What one access of a warp costs, from its addresses.
namespace warploom::tile {

struct WarpAccess {
  double sectors = 0, ideal_sectors = 0;  ///< of 32 bytes, for global memory
  int bank_conflicts = 1;                 ///< for shared memory: 32 banks of 4 bytes
};
/// @param strides  elements between threads that are neighbours in x, in y, in z
/// @param block    threads of the block along x, y, z: the first 32 in that order are the warp
WarpAccess warp_access(const std::array<std::int64_t, 3>& strides, const std::array<int, 3>& block,
                       int element_bytes);

/// Peak figures of the devices that we know, for predictions: data with its source.
struct DeviceRates {
  double tera_flops = 0;  ///< fp32, fused multiply-add counted as two, measured or on paper
  double global_gb_s = 0, shared_gb_s = 0;
  double launch_us = 0;
  int multiprocessors = 0;
  double second_level_mb = 0;  ///< of 2^20 bytes
};
/// By architecture name; unknown ones get those of the nearest older.
const DeviceRates& device_rates(std::string_view architecture);

}  // namespace warploom::tile
