#pragma once

#include <cstdint>

#include "fold/energy_tables.hpp"
#include "fold/rows.hpp"
#include "warploom/core/host_device.hpp"

/// What gpu_fold.cpp and the kernels share. All pointers are to device memory.
namespace warploom::fold::gpu {

/// Cells (i, j) of a strip are kRows rows, a thread each.
inline constexpr int kThreads = kRows;
/// Unpaired bases that a pair encloses at least.
inline constexpr int kLeastHairpin = 3;

/// C(i, j) and M(i, j) of a sequence of n bases: of kRows rows one column after another, so that whoever
/// walks along a strip stays in one place of the memory.
WARPLOOM_HOST_DEVICE constexpr std::int64_t cells_before(std::int64_t n, std::int64_t strips) {
  return (strips * n - kRows * (strips * (strips - 1) / 2)) * kRows;
}
WARPLOOM_HOST_DEVICE constexpr std::int64_t cell_of(std::int64_t n, std::int64_t i, std::int64_t j) {
  const std::int64_t strip = (i - 1) / kRows;
  return cells_before(n, strip) + (j - 1 - strip * kRows) * kRows + (i - 1) % kRows;
}
WARPLOOM_HOST_DEVICE constexpr std::int64_t cells_of(std::int64_t n) {
  return cells_before(n, (n + kRows - 1) / kRows);
}

/// Of a pair (i, j) seen from inside: by b_j, b_(j-1), b_i, b_(i+1), as digits of base 5.
struct alignas(16) OutsideTerms {
  std::int32_t interior, interior_1n, interior_23, hairpin, stack, closing, end, pairs;
};
/// Of a pair (i, j) seen from outside: by b_j, b_(j+1), b_i, b_(i-1).
struct alignas(16) InsideTerms {
  std::int32_t interior, interior_1n, interior_23, stem, end, unused[3];
};

struct Tables {
  OutsideTerms outside[kQuads];
  InsideTerms inside[kQuads];
  std::int32_t bulge_one[kQuads];  ///< of one base: by b_j, b_q, b_i, b_p of the pairs (i, j) and (p, q)
  SmallLoops small;
  std::int32_t hairpin_of_3[kBases * kBases];  ///< by b_i, b_j
  /// Whole energies by the letters, two bits each (A 0, C, G, U 3), the first letter highest; else kNone.
  std::int32_t triloops[1 << 10], tetraloops[1 << 12], hexaloops[1 << 16];
  /// Of a stem outside of all pairs: by b_i, b_j, b_(i-1), b_(j+1); 5 where there is none.
  std::int32_t exterior[kBases][kBases][kBases + 1][kBases + 1];
};

struct Sequence {
  std::int64_t codes;       ///< place of base 0, which is none; base n + 1 is none, too
  std::int64_t cells;       ///< of C and M, as cell_of() has them
  std::int64_t columns;     ///< of column 0 in what strips hand down; sequences of one strip have none
  std::int64_t candidates;  ///< of column 0's
  std::int64_t flags;       ///< of the first strip's progress
  std::int64_t bases;       ///< place of f(0), and of the first base of the structure and of its stack
  std::int32_t n, strips;
  std::int32_t most_candidates;  ///< that are kept of a column; where there are more, all splits are tried
};

/// The first rows of a strip in one column, which the strip below reads.
inline constexpr int kNearRows = 4;  // that loops of a table and 2x3 loops reach
struct alignas(16) Handed {
  std::int32_t end[kHalo], one_n[kHalo], interior[kHalo];
  std::int32_t c[kNearRows], two_three[kNearRows];
  std::int32_t generic[28];  ///< of 4 to 30 bases
  std::int32_t m, m2, unrestricted, unused;
};
static_assert(sizeof(Handed) == 544);
inline constexpr int kHandedWords = sizeof(Handed) / sizeof(std::int32_t);

/// Blocks that look for structures at once.
inline constexpr int kPartBlocks = 1'024;

/// Of a constraint, a base each: i < j may pair if i's `first` is j's `second`, and longer than the span if
/// that is odd (see Marks).
struct Mark {
  std::int32_t first, second;
};

/// A strip of a sequence; strips are counted from the last rows.
struct Task {
  std::int32_t sequence, strip;
};

struct Launch {
  const Tables* tables;
  LoopConstants constants;
  std::int32_t max_span;
  const std::int32_t* hairpin_of;  ///< by unpaired bases
  const Sequence* sequences;
  std::int32_t count;
  const Task* tasks;  ///< a strip comes after the one above
  std::int32_t task_count;
  std::uint32_t* next_task;  ///< 0 before
  const std::uint8_t* codes;
  const Mark* marks;  ///< a code each; null: there are no constraints
  std::int32_t *c, *m;
  Handed* handed;                  ///< a column each
  Candidate* candidates;           ///< Sequence::most_candidates a column
  std::int32_t* candidate_counts;  ///< a column each, 0 before; -1: too many
  std::uint32_t* done;             ///< a strip each, 0 before: columns up to it are there
  std::int32_t* f;                 ///< n + 1 of a sequence
  std::uint64_t* stack;            ///< n + 1 of a sequence, where a warp finds its structure
  const std::uint32_t* stop;       ///< may become 1: the results are no longer wanted
  std::uint32_t* stopped;          ///< 0 before; 1: C and M are not there
  // Where blocks share the work; all 0 before.
  const Task* chunks;  ///< `tasks` as columns of f, counted from the first, in the order of their numbers
  std::uint32_t* next_chunk;
  std::uint32_t* ended;  ///< a sequence each: chunks of f that are there
  std::uint64_t* parts;  ///< of structures, that are to be found; as many as bases and kPartBlocks
  std::uint32_t *part_count, *next_part, *open_parts;
  char* structures;        ///< n + 1 of a sequence, the last 0; null: none is wanted
  std::int32_t* energies;  ///< of a sequence; kNone: the way to the energy was lost
};

}  // namespace warploom::fold::gpu
