#pragma once

#include <cstdint>

#include "fold/gpu.hpp"
#include "fold/sums.hpp"
#include "warploom/core/host_device.hpp"

/// What gpu_ensemble.cpp and the kernels of the partition function share: strips, tiles and powers of two are
/// those of partition.hpp. All pointers are to device memory.
namespace warploom::fold::gpu {

/// A thread block walks along a strip, two threads a row.
inline constexpr int kSumThreads = 2 * kStripRows;
/// Of a long sequence, products that lie before so many tiles are summed for all of them together: what a
/// strip has of M is read once for them. Their sums are kept in memory, two products of a block.
/// So that a strip starts no later for it, the rows of the kNearStrips strips next to it are left out.
inline constexpr int kFarTiles = 4, kNearStrips = 4;
inline constexpr std::int64_t kFarFrom = 8'192;  // bases
inline constexpr int kMostBlocks = 1'024;        // of a launch
inline constexpr std::int64_t kFarProduct = std::int64_t{kFarTiles} * kTileColumns * kStripRows;
inline constexpr std::int64_t kAwayNumbers = 59;  // of a thread, put away meanwhile
inline constexpr std::int64_t kFarCells = 2 * kFarProduct + kAwayNumbers * kSumThreads;

/// Of a triangle's numbers, those of the strips before one: kStripRows rows of a column side by side.
WARPLOOM_HOST_DEVICE constexpr std::int64_t panel_of(std::int64_t n, std::int64_t strip) {
  return (strip * n - kStripRows * (strip * (strip - 1) / 2)) * kStripRows;
}
WARPLOOM_HOST_DEVICE constexpr std::int64_t panel_cells(std::int64_t n) {
  return panel_of(n, (n + kStripRows - 1) / kStripRows);
}
WARPLOOM_HOST_DEVICE constexpr std::int64_t panel_cell(std::int64_t n, std::int64_t i, std::int64_t j) {
  const std::int64_t strip = (i - 1) / kStripRows;
  return panel_of(n, strip) + (j - 1 - strip * kStripRows) * kStripRows + (i - 1) % kStripRows;
}

/// Of the same numbers those before a tile of columns: four rows of each of its columns, then the next four.
/// Panels have what products take along a row in few pages of memory, these what they take along a column.
WARPLOOM_HOST_DEVICE constexpr std::int64_t turned_of(std::int64_t tile) {
  return tile * (tile + 1) / 2 * (kTileColumns * kTileColumns);
}
WARPLOOM_HOST_DEVICE constexpr std::int64_t turned_cells(std::int64_t n) {
  return turned_of((n + kTileColumns - 1) / kTileColumns);
}
inline constexpr std::int32_t kTurnedRows = 4;

/// What loops weigh whose outer pair is (i, j): by b_j, b_(j-1), b_i, b_(i+1), as digits of base 5. Numbers
/// of a kind lie side by side: the rows of a column look them up in two lines of memory.
struct OuterSums {
  double interior[kQuads], interior_1n[kQuads], interior_23[kQuads], end[kQuads], hairpin[kQuads],
      stack[kQuads], closing[kQuads];
};
/// Whose inner pair it is, and it as a stem of a multiloop: by b_j, b_(j+1), b_i, b_(i-1).
struct InnerSums {
  double interior[kQuads], interior_1n[kQuads], interior_23[kQuads], end[kQuads], stem[kQuads];
};

struct SumTables {
  OuterSums outer;
  InnerSums inner;
  double bulge_one[kQuads];  ///< of one base: by b_j, b_q, b_i, b_p of the pairs (i, j) and (p, q)
  /// As SmallLoops.
  double one_one[kTriples][kTriples], one_two[kQuads][kTriples], two_one[kTriples][kQuads],
      two_two[kQuads][kQuads];
  double hairpin_of_3[kBases * kBases];  ///< by b_i, b_j
  /// Whole weights as in Tables, -1 where there is none.
  double triloops[1 << 10], tetraloops[1 << 12], hexaloops[1 << 16];
  double exterior[kBases][kBases][kBases + 1][kBases + 1];  ///< as in Tables
  double base_power[kStripRows + 1];                        ///< of an unpaired base of a multiloop
  std::uint32_t pairs_with[kBases];                         ///< bits
};

struct SumSequence {
  std::int64_t codes;          ///< place of base 0, which is none; base n + 1 is none, too
  std::int64_t cells;          ///< of the panels
  std::int64_t turned;         ///< of what is turned; negative: the sequence is short, nothing is
  std::int64_t exponents;      ///< by strip and tile
  std::int64_t columns;        ///< of column 0 in what strips hand on, and of the sum of no bases
  std::int64_t flags;          ///< of the first strip's progress
  std::int64_t end_exponents;  ///< of the first kStripRows sums of bases
  std::int32_t n, strips, tiles;
};

/// What a strip has of one column for the one that comes next: that before it inside, behind it outside.
struct alignas(16) HandedSums {
  double row[kBelow];  ///< B, or what it is worth: the strip's row that is next to that strip, and on
  double generic[27];  ///< of 4 to 30 bases, of the row next to it
  double one, split;   ///< inside: the sum with one stem, that with two and more; outside: what they get
  double unused[3];
};
static_assert(sizeof(HandedSums) == 512);

/// A pair that is wanted on the host.
struct ListedPair {
  std::int32_t i, j;
  double probability;
};
/// Which are: those at least so probable, in more than half of the ensemble, or such that a structure of
/// greatest expected accuracy may have them.
struct SumChoice {
  double cutoff, gamma;
};
/// What a strip's probabilities sum up to.
struct alignas(16) ReadStrip {
  double differ, centroid;  ///< p (1 - p), and what is not in the centroid or not in a structure
  std::uint32_t count, unused;
};

/// A number and a power of two: of all structures of a sequence.
struct SumTotal {
  double number;
  std::int64_t exponent;
};

struct SumLaunch {
  const SumTables* tables;
  SizeWeights sizes;
  const double* hairpin_of;  ///< by unpaired bases
  std::int32_t max_span;
  bool lonely_pairs;
  const SumSequence* sequences;
  std::int32_t count;
  const Task* tasks;  ///< inside from the last strip, outside from the first
  std::int32_t task_count;
  std::uint32_t *next_task, *next_outside;  ///< 0 before
  const std::uint8_t* codes;
  const Mark* marks;           ///< a code each; null: there are no constraints
  double *b, *m1, *m, *split;  ///< b becomes the probability of the pair, outside
  double *turned, *m_turned;   ///< of long sequences: M1 inside, `split` outside; and M
  double* far;                 ///< of them: kFarCells of a block
  std::int32_t* exponents;
  HandedSums* handed;
  std::uint32_t *done, *done_outside;  ///< a strip each, 0 before: tiles up to it are there
  std::uint32_t *next_ends, *next_worths, *done_ends, *done_worths;  ///< the same, of sums outside of pairs
  double *ends, *worths;  ///< of the first bases; n + 1 of a sequence
  std::int64_t* end_exponents;
  SumTotal* totals;  ///< a sequence each
  // Reading off.
  SumChoice choice;
  double* unpaired;  ///< n + 1 of a sequence, from base 1
  ReadStrip* read;   ///< a task each
  ListedPair* pairs;
  const std::uint64_t* pair_places;  ///< a task each: the first of its pairs
  const std::uint32_t* stop;         ///< may become 1: the results are no longer wanted
  std::uint32_t* stopped;            ///< 0 before; 1: the sums are not there
};

}  // namespace warploom::fold::gpu
