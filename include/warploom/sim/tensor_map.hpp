#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "warploom/sim/sim.hpp"

namespace warploom::sim {

/// A tensor in global memory, and the box of it that cp.async.bulk.tensor copies: what the host gives to
/// cuTensorMapEncodeTiled. Innermost dimension first.
struct TensorMap {
  std::string type = "f32";                 ///< u8 u16 u32 u64 i32 i64 f16 bf16 f32 f64
  Address address = 0;                      ///< multiple of 16
  std::vector<std::uint64_t> extents = {};  ///< [elements] of 1 to 5 dimensions
  std::vector<std::uint64_t> strides =
      {};  ///< [bytes] of all dimensions but the first, multiples of 16; empty: dense
  std::vector<std::uint32_t> box = {};    ///< [elements], 1 to 256 each
  std::vector<std::uint32_t> steps = {};  ///< every so many elements (the first does not count); empty: all
  std::uint32_t swizzle = 0;              ///< 0, 32, 64 or 128 bytes
  bool fill_nan = false;                  ///< what lies outside the tensor reads as NaN, else as 0

  /// From the first element's first byte to the last one's last. @throws BadInput (no such type, 2^64 or
  /// more)
  std::uint64_t bytes() const;
};

/// The 128 bytes that a kernel takes as its CUtensorMap, in the simulator's own form.
/// @throws BadInput naming the member, its value and the limit, where cuTensorMapEncodeTiled refuses it as
/// well
std::array<std::byte, 128> encode(const TensorMap& map);

}  // namespace warploom::sim
