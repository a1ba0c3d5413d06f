#pragma once

/// int32 cells stored as 16 bits above a base for each tile.
///
/// A product adds the difference of the bases, base(A) + base(B) - base(C), to the sum of two stored cells.
/// Where that difference is not within kNarrowShift, or a finished cell is further than kNarrowLargest from
/// its base, the run does not hold and is repeated with 32 bits. A GPU is strict about the first; a CPU lets
/// a difference pass that is above kNarrowShift, cut to it, if no such sum is less than what a cell has: then
/// the true one is not either.

namespace warploom::dp {

/// |stored - base| of finished cells, and what an unreachable one is stored as.
inline constexpr int kNarrowLargest = 8191;
inline constexpr int kNarrowUnreachable = 16383;
/// 16 bits hold kNarrowUnreachable + kNarrowShift and -2 kNarrowLargest - kNarrowShift.
inline constexpr int kNarrowShift = 16000;

}  // namespace warploom::dp
