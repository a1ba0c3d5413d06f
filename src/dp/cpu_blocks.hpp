#pragma once

/// Products and closures of blocks on a CPU, compiled for several instruction sets: solve_cpu.cpp takes the
/// set that the processor at hand can run. A block is a part of a tile, or a tile: its rows lie kTile cells
/// apart. Its edge is 16, 32 or 64. Columns of a triangle that lie behind its last point hold kUnreachable.

#include <cstdint>

#include "warploom/dp/triangle.hpp"

namespace warploom::dp {

/// The factors of a block's rows, of the points between, and of its columns; null: the problem has none.
template <class T>
struct BlockFactors {
  const T* row = nullptr;
  const T* middle = nullptr;
  const T* column = nullptr;
  T sign = 1;
};

/// A block at (i, j), i < j, or on the diagonal. Pointers into arrays over points begin at the block's.
template <class T>
struct OpenBlock {
  int edge = kTile;
  /// Points of a block on the diagonal, where they are fewer than `edge`; what lies behind them may stay as
  /// it is.
  int live = kTile;
  std::int64_t i = 0, j = 0;
  T* cells = nullptr;             ///< the best candidates with k in neither block; kUnreachable: none yet
  const T* rows = nullptr;        ///< the block (i, i), finished
  const T* columns = nullptr;     ///< the block (j, j), finished
  const T* leaves = nullptr;      ///< of the rows: leaf r is the cell (i + r, i + r + 1)
  const T* row_weight = nullptr;  ///< or null, as are those that follow where the problem has none
  const T* column_weight = nullptr;
  const T* cell_weight = nullptr;       ///< laid out as the block
  BlockFactors<T> factors;              ///< `middle` is not looked at
  const std::uint8_t* codes = nullptr;  ///< letters of the rows' leaves
  const T* scores = nullptr;  ///< [letters][score_pitch], at the first column: of that letter and the
                              ///< leaf before a column
  std::int64_t score_pitch = 0, minimum_span = 2;
  const T* below =
      nullptr;  ///< pairing: m[i + edge, j - 1 + c] of each column c; not of a block on the diagonal
  const T* left = nullptr;  ///< pairing: m[i + 1 + r, j - 1] of each row r
};

/// What the next product of tiles will read, to be fetched meanwhile; anything where none follows.
template <class T>
struct NextOperands {
  const T* a = nullptr;
  const T* b = nullptr;
};

template <class T>
struct BlockKernels {
  /// c = min(c, a + b + factors) for `rows` rows, a multiple of 16, of c: a (min, +) product of blocks.
  void (*product)(T* c, const T* a, const T* b, int rows, int edge, const BlockFactors<T>& factors,
                  const NextOperands<T>& next);
  /// Makes a block's cells final; on the diagonal also those with j <= i, kUnreachable.
  void (*finish)(const OpenBlock<T>& block);
};

/// int32 tiles stored as 16 bits above a base; the rules stand in device_cells.cuh.
struct NarrowKernels {
  /// As BlockKernels::product, of tiles; `shift` is what the bases of a and b are above that of c.
  /// @return false if 16 bits could not tell what the result is
  bool (*product)(std::int16_t* c, const std::int16_t* a, const std::int16_t* b, int rows, std::int32_t shift,
                  const NextOperands<std::int16_t>& next);
  void (*widen)(std::int32_t* to, const std::int16_t* from, std::int32_t base);
  /// Of the first `columns` columns, the rest becomes unreachable.
  /// @return false if a cell does not fit, other than on and below the diagonal of a tile on the diagonal
  bool (*narrow)(std::int16_t* to, const std::int32_t* from, std::int32_t base, int columns, bool diagonal);
};

struct CpuBlocks {
  BlockKernels<std::int32_t> int32;
  BlockKernels<std::int64_t> int64;
  BlockKernels<float> float32;
  BlockKernels<double> float64;
  NarrowKernels narrow;

  template <class T>
  const BlockKernels<T>& of() const {
    if constexpr (std::same_as<T, std::int32_t>) return int32;
    if constexpr (std::same_as<T, std::int64_t>) return int64;
    if constexpr (std::same_as<T, float>) return float32;
    if constexpr (std::same_as<T, double>) return float64;
  }
};

namespace baseline {
extern const CpuBlocks cpu_blocks;
}
namespace avx2 {
extern const CpuBlocks cpu_blocks;
}
namespace avx512 {
extern const CpuBlocks cpu_blocks;
}

}  // namespace warploom::dp
