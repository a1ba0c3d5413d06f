#pragma once

#include <cstdint>

#include "fold/energy_tables.hpp"

/// Columns of the recurrences for a strip of rows, compiled for several instruction sets; fill.cpp chooses.
///
/// All that C(i,j) needs lies in columns before j, so a vector holds rows i, i+1, ... of one column, where
/// b_j is the same: what an energy table says of a pair and its neighbours is then an array over rows
/// (Strip), made once a strip. Strips go from the last rows to the first, so that their last 32 columns stay
/// in the cache.
namespace warploom::fold {

inline constexpr int kRows = 128;    ///< of a strip at most; it has a multiple of kBlock
inline constexpr int kHalo = 32;     ///< rows of the strip above that interior loops reach
inline constexpr int kColumns = 32;  ///< that interior loops reach, column j itself among them
inline constexpr int kBlock = 32;    ///< rows that M2's candidates are tried on at once
inline constexpr int kStep = 16;     ///< rows that interior loops are tried on at once
/// Of a column of a strip, with what a vector reads beyond: an odd number of cache lines, so that a row's
/// columns lie in different sets of a cache.
inline constexpr int kWidth = kRows + kHalo + 3 * kStep;
inline constexpr int kContexts = kBases * kBases;
inline constexpr int kTriples = 125, kQuads = 625;

using Rows = std::int32_t[kRows];

/// Of a pair (i, j) seen from inside, by b_j and b_(j-1).
struct Outside {
  Rows interior, interior_1n, interior_23, hairpin, stack, bulge_left, closing;
  Rows bulge_right;  ///< by b_j and b_(j-2)
};
/// Of a pair (i, j) seen from outside, by b_j and b_(j+1).
struct Inside {
  Rows interior, interior_1n, interior_23, stem;
};
/// What Outside and Inside say where a base beside a stem counts for that stem alone (dangles 1 and 3): of
/// one or two unpaired bases with the stem that they lie beside.
struct Dangling {
  struct Closing {
    Rows behind, before, both;  ///< of (i, j), by b_j and b_(j-1): i + 1, j - 1, both are unpaired
  };
  struct Stem {
    Rows before;        ///< i and the stem (i + 1, j), by b_j
    Rows behind, both;  ///< the stem (i, j) and j + 1; i, the stem (i + 1, j) and j + 1
  };
  Closing closing[kContexts];
  Stem stem[kContexts];          ///< by b_j and b_(j+1)
  Rows is_pair[kBases][kPairs];  ///< by b_j: 0 where (i, j) is that pair, else kNone
};
struct Strip {
  std::int64_t first = 0;  ///< row 0 is i = first
  int rows = kRows;        ///< of it; those of the strip above are behind them
  const Dangling* dangling = nullptr;
  Outside outside[kContexts];
  Inside inside[kContexts];
  Rows end_outside[kBases], end_inside[kBases];  ///< by b_j: a bulge's ends
  std::uint16_t triple[kRows], quad[kRows];      ///< b_i b_(i+1) b_(i+2) and four, as digits of base 5
  std::uint8_t pairing[kBases][kRows];           ///< rows that pair with a base, ascending
  int pairings[kBases];
  std::uint8_t seen[kBases][kRows];  ///< the pair of b_j and b_i
};

/// Of the loops of four and of fewer unpaired bases that a table has whole: [j, j-1, ...][i, i+1, ...].
struct SmallLoops {
  std::int32_t one_one[kTriples][kTriples];
  std::int32_t one_two[kQuads][kTriples];  ///< one unpaired on the left, two on the right
  std::int32_t two_one[kTriples][kQuads];
  std::int32_t two_two[kQuads][kQuads];
};

/// What is the same for all strips.
struct LoopConstants {
  std::int32_t bulge[kMaxLoop + 1], interior[kMaxLoop + 1];
  std::int32_t one_n[kMaxLoop + 1];      ///< by unpaired bases, asymmetry added
  std::int32_t asymmetry[kMaxLoop + 1];  ///< by the difference
  std::int32_t two_three, multi_base;
  bool lonely_pairs, coaxial;
  std::int32_t coaxial_gain[kPairs], coaxial_stems[kPairs][kPairs];  ///< Loops'
};

/// A ring of columns, by j % kColumns. Row kAligned begins a cache line: loops of many columns read there.
template <int kAligned>
struct Ring {
  std::int32_t* operator[](std::int64_t slot) { return cells[slot] + kStep - kAligned; }
  const std::int32_t* operator[](std::int64_t slot) const { return cells[slot] + kStep - kAligned; }
  alignas(64) std::int32_t cells[kColumns][kWidth];
};
/// The last columns of a strip, with the rows of the strip above behind its own. C with what each kind of
/// loop adds for its inner pair.
struct Recent {
  Ring<0> c;
  Ring<3> interior;
  Ring<2> interior_1n;
  Ring<3> interior_23;
  Ring<1> end;
  /// generic[u][r]: the best of the interior loops of u unpaired bases, at least two a side, without what
  /// depends on u and on the outer pair: G_u(i,j) = min(G_(u-2)(i+1,j-1), those with two on a side).
  alignas(64) std::int32_t generic[kMaxLoop + 1][kWidth];
  std::int32_t m[kWidth], m2[kWidth], unrestricted[kWidth];  ///< of column j - 1, and after the call of j
  std::int32_t m2_before[kWidth];                            ///< of the column before that
};

struct Candidate {
  std::int32_t k, energy;  ///< a stem from k to j, and C(k,j) as such
};

/// A stem (k, j) that may be better stacked on another one than as a stem alone: C(k,j) is near M(k,j).
struct Near {
  std::int32_t k, energy, seen;  ///< C(k,j); the pair (j, k)
};
struct NearList {
  const Near* stems = nullptr;
  int count = 0;
};
/// A multiloop of (i, j) whose last stem (k, j - 1) stacks on it: M(i + 1, k - 1) + energy, where (i, j) is
/// the pair `outer`.
struct Joint {
  std::int32_t k, energy, outer;
};

/// By row: the best loop of (i, j) around a G-quadruplex; the quadruplex from i to j as a stem of a
/// multiloop.
struct QuadruplexRows {
  Rows around, stems;
};

struct Column {
  std::int64_t j = 0;
  const std::uint8_t* codes = nullptr;     ///< of the sequence, from 0
  const std::int32_t* hairpins = nullptr;  ///< by row: that of j - i - 1 bases; kNone below 7
  std::int32_t small_hairpins[4] = {};     ///< of 3, 4, 5 and 6 bases: of rows j - 4 to j - 7
  std::int32_t m_above = kNone;            ///< M(first + rows, j)
  const std::int32_t* matrix = nullptr;    ///< M, a Triangle, at row `first` of column 0
  const Candidate* candidates = nullptr;   ///< of this column, in rows above
  int count = 0;
  NearList near = {};                  ///< of this column, in rows above
  const NearList* own_near = nullptr;  ///< of each column, in the strip's rows
  const Joint* joints = nullptr;
  int joint_count = 0;
  const std::int32_t* coaxial = nullptr;  ///< by row: the best of (i, j) on the stem that begins at i + 1
  const std::int32_t* extra = nullptr;    ///< by row: what the pair adds whatever its loop; null: nothing
  /// By row and of the column: what a stack adds; null: nothing.
  const std::int32_t* stack_extra = nullptr;
  std::int32_t column_stack_extra = 0;
  const QuadruplexRows* quadruplexes = nullptr;  ///< null: there are none
  std::int64_t first_in_span = 0;                ///< the first row that may pair with j
  const std::int32_t* marks = nullptr;           ///< by row: a constraint's; null: there is none
  std::int32_t mark = 0;                         ///< what a row's has to be
};

/// What a column gives: C and M of the strip's rows, and its candidates.
struct Filled {
  Rows c, m;
  Candidate candidates[kRows];
  Near near[kRows];
  int count, near_count;
};

struct RowKernels {
  void (*column)(const Strip& strip, const SmallLoops& small, const LoopConstants& loops, Recent& recent,
                 const Column& column, Filled& out);
  /// min over k < count of f[k] + c[k] + ends[k]
  std::int32_t (*best_end)(const std::int32_t* f, const std::int32_t* c, const std::int32_t* ends,
                           std::int64_t count);
};

namespace baseline {
extern const RowKernels row_kernels;
}
namespace avx2 {
extern const RowKernels row_kernels;
}
namespace avx512 {
extern const RowKernels row_kernels;
}

}  // namespace warploom::fold
