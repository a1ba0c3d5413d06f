#pragma once

#include <cstdint>

#include "fold/energy_tables.hpp"

/// The partition function's arithmetic on a strip of rows, compiled for several instruction sets;
/// partition.cpp and outside.cpp call it. Columns and strips are as in rows.hpp, with sums in place of
/// minima.
///
/// A number is kept as a double times a power of two, the same for a tile of a strip's rows and kTileColumns
/// columns; where numbers of different tiles meet, `scale` brings them together. So nothing overflows at any
/// length, and as powers of two are exact, what tiles there are does not change a bit of a result.
namespace warploom::fold {

inline constexpr int kStripRows = 64, kTileColumns = 32;
inline constexpr int kBelow = 32;  ///< rows of the next strip that interior loops reach
inline constexpr int kReach = 32;  ///< columns that they reach, column j itself among them
inline constexpr int kWide = kStripRows + kBelow + 8;

using StripRow = double[kStripRows];
using WideRow = double[kWide];

/// What loops weigh whose outer pair is (i, j), by row.
struct OuterWeights {
  alignas(64) StripRow interior, interior_1n, interior_23, hairpin, stack,
      bulge_left, closing;           ///< by b_j and b_(j-1)
  alignas(64) StripRow bulge_right;  ///< by b_j and b_(j-2)
};
/// What loops weigh whose inner pair is (i, j), and it as a stem of a multiloop, by b_j and b_(j+1).
struct InnerWeights {
  alignas(64) WideRow interior, interior_1n, interior_23, stem;
};
/// By row, 1 or 0: whether the base of the row, and so many bases behind it, may be unpaired.
struct Stretches {
  alignas(64) StripRow own, behind[kMaxLoop + 1];
};
struct StripWeights {
  OuterWeights outer[kBases * kBases];
  InnerWeights inner[kBases * kBases];
  alignas(64) WideRow end[kBases];  ///< of a bulge, by b_j
  StripRow multi_base;              ///< of the row's base, unpaired in a multiloop
  double multi_base_above;          ///< of the row before
  bool all_unpaired = true;         ///< all bases may be; else `stretches` says which
  Stretches stretches;
};
struct SizeWeights {
  double bulge[kMaxLoop + 1], interior[kMaxLoop + 1], one_n[kMaxLoop + 1], asymmetry[kMaxLoop + 1], two_three;
};

/// Columns before j (inside) or behind it (outside), by their number modulo kReach: of B times what each kind
/// of loop weighs for its inner pair, or of what these products are worth.
struct Rings {
  alignas(64) WideRow b[kReach], interior[kReach], interior_1n[kReach], interior_23[kReach], end[kReach];
  /// [unpaired][row] of the last column: interior loops with two bases at least on each side, without what
  /// depends on their size and on the outer pair.
  alignas(64) WideRow generic[kMaxLoop + 1];
};

struct LoopColumn {
  std::int64_t j = 0;
  const OuterWeights* outer = nullptr;
  const double* bulge_right = nullptr;
  const double* end = nullptr;
  /// [d]: from column j - d to column j; [0], of give_interior() alone: from column j + 1.
  double scale[kReach];
  const Stretches* stretches = nullptr;  ///< null: all bases may be unpaired; else
  int unpaired = kMaxLoop;               ///< so many bases before j may,
  bool own = true;                       ///< and whether j may
};

/// Probabilities of interior loops that the kernels sum, by size and by the difference of their sides; of
/// each the sum over rows in some parts.
struct ShapeSums {
  using Parts = double[8];
  Parts bulge[kMaxLoop + 1], one_n[kMaxLoop + 1], generic[kMaxLoop + 1], difference[kMaxLoop + 1], two_three;
};
/// The same by outer pair.
struct OuterSums {
  alignas(64) StripRow bulge, one_n, generic, two_three;
};

struct SumKernels {
  /// b[r] = the sum of the interior loops that (i, j) closes, but for those of tables that have them whole.
  /// The rings have the columns before j; generic becomes that of column j.
  void (*interior)(const LoopColumn& column, const SizeWeights& sizes, Rings& rings, double* b);
  /// The transpose: `outer` is what (i, j) is worth, by row; it is given out to columns before j. Generic is
  /// that of column j + 1 and becomes that of j; its row 0 is given, of row i - 1: generic[u] + 1 is the
  /// strip's first.
  void (*give_interior)(const LoopColumn& column, const SizeWeights& sizes, const double* outer,
                        Rings& rings);
  /// Adds what interior() sums to `shapes`, and gives it by row, each times what the outer pair is worth.
  void (*count)(const LoopColumn& column, const SizeWeights& sizes, const double* worth, Rings& rings,
                ShapeSums& shapes, OuterSums& rows);
  /// c[column][row] += a[k][row] b[k][column]: kStripRows rows, kTileColumns columns
  void (*product)(const double* a, const double* b, int count, double* c);
  /// c[column][k] += factor[k] sum over rows of a[k][row] b[column][row]
  void (*dots)(const double* const* a, const double* factor, const double* b, double* c);
  /// y[row] += x[row] factor
  void (*add)(const double* x, double factor, double* y);
};

namespace baseline {
extern const SumKernels sum_kernels;
}
namespace avx2 {
extern const SumKernels sum_kernels;
}
namespace avx512 {
extern const SumKernels sum_kernels;
}

}  // namespace warploom::fold
