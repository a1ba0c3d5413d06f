#pragma once

/// Cells in device memory, and how kernels add and compare them.

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "dp/narrow.hpp"
#include "dp/terms.hpp"

namespace warploom::dp {

enum class Arithmetic {
  plain,         ///< the type's own
  non_negative,  ///< float: no cell is below 0, so that bits compare as integers (two additions and one
                 ///< three-input minimum)
  narrow         ///< int32 cells stored as 16 bits above a base for each tile; two to a register
};

/// A triangle laid out as Triangle<T>; Stored is what memory holds. Cells of tiles on the diagonal with j <=
/// i hold kUnreachable (narrow: kNarrowUnreachable), those of j >= points anything that makes no sum wrap.
template <class T, Arithmetic kArithmetic>
struct DeviceCells {
  static constexpr bool kNarrow = kArithmetic == Arithmetic::narrow;
  using Stored = std::conditional_t<kNarrow, std::int16_t, T>;

  Stored* cells = nullptr;
  /// narrow: a tile's base, at tile_place(): cell = base + stored. A fresh call sets it to the sum of the
  /// bases of its first two operands, base(I, K) + base(K, J), or 0 where it has none (tiles on the diagonal
  /// always 0); finishing a tile moves it to the cell in the tile's last row and first column, the shortest
  /// interval.
  std::int32_t* bases = nullptr;
  /// narrow: set where the cells cannot be relied on, see narrow.hpp.
  int* overflow = nullptr;
  std::int64_t points = 0;
};

/// A cell of the type T from what memory holds.
template <class T, class Stored>
WARPLOOM_HOST_DEVICE inline T widened(Stored stored, std::int32_t base) {
  if constexpr (std::is_same_v<T, Stored>)
    return stored;
  else
    return stored >= kNarrowUnreachable ? kUnreachable<T> : static_cast<T>(base + stored);
}

}  // namespace warploom::dp
