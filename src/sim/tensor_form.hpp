#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/step.hpp"
#include "warploom/sim/tensor_map.hpp"

namespace warploom::sim {

/// What an encoded TensorMap says, as copies use it.
struct TensorPlan {
  Address address = 0;
  unsigned rank = 0, element = 4, swizzle = 0;  ///< element: bytes
  std::uint64_t fill = 0;                       ///< bits of an element outside
  std::uint8_t type = 0;                        ///< of kElementTypes
  std::array<std::uint64_t, 5> extents{}, strides{};
  std::array<std::uint32_t, 5> box{}, steps{};  ///< box: elements that are copied
  /// Of .im2col, whose box is {channels, pixels, 1 ...}: the first and the last place of a pixel.
  bool columns = false;
  std::array<std::int64_t, 5> lower{}, upper{};

  std::uint32_t row_bytes() const { return box[0] * element; }
  /// From one row in shared memory to the next: a swizzled row takes as much as is swizzled.
  std::uint32_t pitch() const { return swizzle > row_bytes() ? swizzle : row_bytes(); }
  std::uint32_t shared_bytes() const { return rows() * pitch(); }
  std::uint32_t rows() const {
    std::uint32_t n = 1;
    for (unsigned d = 1; d < rank; ++d) n *= box[d];
    return n;
  }
  /// Where a byte of shared memory lies that would lie at `at` without swizzling: 16 bytes stay together.
  std::uint32_t swizzled(std::uint32_t at) const {
    return swizzle == 0 ? at : at ^ (at >> 7 & (swizzle / 16 - 1)) << 4;
  }
};
/// Of the bytes that encode() made; nothing if they are none.
std::optional<TensorPlan> tensor_plan(const std::byte* map);

/// What tensormap.replace may change.
enum class TensorField : std::uint8_t {
  address,
  rank,
  box,
  extent,
  stride,
  step,
  type,
  interleave,
  swizzle,
  fill
};
/// Changes the map; `dimension` from 0. Empty, or why that has no meaning.
std::string replace(std::byte* map, TensorField field, std::uint32_t dimension, std::uint64_t value);

enum class TensorChange : std::uint8_t { none, add, min, max, inc, dec, and_, or_, xor_ };

/// What cp.reduce.async.bulk of bytes does to elements; `none` of copies.
struct BulkReduction {
  TensorChange change = TensorChange::none;
  std::uint8_t type = 0;  ///< of kElementTypes
  bool operator==(const BulkReduction&) const = default;
};

/// cp.async.bulk.tensor.
struct TensorForm {
  unsigned rank = 0;
  std::array<Source, 5> coordinates{};
  bool columns = false;                      ///< .im2col
  std::array<Source, 5> offsets{};           ///< its offsets, of dimensions 1 to rank - 2
  TensorChange change = TensorChange::none;  ///< of cp.reduce
  bool multicast = false;  ///< to the blocks of the cluster that Step::c names, a bit a rank
};

/// A box at its place.
struct TensorBox {
  TensorPlan plan;
  std::array<std::int32_t, 5> at{};
  std::array<std::uint32_t, 5> offset{};  ///< of .im2col, added to each pixel's place
  TensorChange change = TensorChange::none;

  struct Row {
    std::uint32_t first = 0, count = 0;  ///< elements [first, first + count) of the row lie in the tensor
    Address address = 0;                 ///< of the first of these
  };
  /// Row number `row` of the box, the second dimension first; of .im2col pixel number `row`.
  Row row(std::uint32_t row) const;

 private:
  /// Where that row begins in all dimensions but the first.
  std::array<std::int64_t, 5> place(std::uint32_t row) const;
};

}  // namespace warploom::sim
