#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "warploom/sim/sim.hpp"

namespace warploom::sim {

/// The pixels of an image, or of several, as a convolution takes them: what cuTensorMapEncodeIm2col has
/// beside a tensor of dimensions C, W, H, D and N (3 to 5 of them; the first, the last and those between). A
/// copy takes so many pixels one after the other, W first, each within a bounding box that goes from `lower`
/// to the last pixel plus `upper`.
struct ImageColumns {
  std::vector<std::int32_t> lower = {}, upper = {};  ///< of W, H and D
  std::uint32_t channels = 0, pixels = 0;            ///< of a copy; 1 to 256, 1 to 1024
};

/// A tensor in global memory, and the box of it that cp.async.bulk.tensor copies: what the host gives to
/// cuTensorMapEncodeTiled, or cuTensorMapEncodeIm2col. Innermost dimension first.
struct TensorMap {
  std::string type = "f32";                 ///< u8 u16 u32 u64 i32 i64 f16 bf16 f32 f64
  Address address = 0;                      ///< multiple of 16
  std::vector<std::uint64_t> extents = {};  ///< [elements] of 1 to 5 dimensions
  std::vector<std::uint64_t> strides =
      {};  ///< [bytes] of all dimensions but the first, multiples of 16; empty: dense
  std::vector<std::uint32_t> box = {};    ///< [elements], 1 to 256 each; empty with `columns`
  std::vector<std::uint32_t> steps = {};  ///< every so many elements (the first does not count); empty: all
  std::uint32_t swizzle = 0;              ///< 0, 32, 64 or 128 bytes
  bool fill_nan = false;                  ///< what lies outside the tensor reads as NaN, else as 0
  std::optional<ImageColumns> columns = {};  ///< copies are .im2col

  /// From the first element's first byte to the last one's last. @throws BadInput (no such type, 2^64 or
  /// more)
  std::uint64_t bytes() const;
};

/// The 128 bytes that a kernel takes as its CUtensorMap, in the simulator's own form.
/// @throws BadInput naming the member, its value and the limit, where cuTensorMapEncodeTiled refuses it as
/// well
std::array<std::byte, 128> encode(const TensorMap& map);

}  // namespace warploom::sim
