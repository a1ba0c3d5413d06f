#pragma once

/// The dissertation's two decompositions as sequences of calls, whatever carries them out.

#include <cstdint>

#include "warploom/dp/solve.hpp"

namespace warploom::dp {

/// C(i, j) = min(C(i, j), A(i, k) + B(k, j) + weights) over k in [k_begin, k_end), for the blocks
/// [i, i + edge) x [j, j + edge) and the count - 1 blocks that follow it down the diagonal, everything
/// shifted by `edge` from one to the next. Cells outside the triangle's points may be computed or left out.
struct Rectangular {
  std::int64_t i = 0, j = 0, edge = 0, k_begin = 0, k_end = 0, count = 1;
  bool fresh = true;  ///< C starts as unreachable, whatever its cells hold
};

/// Finishes the same kind of blocks: the candidates with k in [i, i + edge) and [j, j + edge), the pairing
/// term, the weights. Where i = j: a block on the diagonal, from its leaves.
struct TriangularBlock {
  std::int64_t i = 0, j = 0, edge = 0, count = 1;
  bool fresh = true;  ///< no rectangular call came before
};

/// Carries out calls, one after the other.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void rectangular(const Rectangular& call) = 0;
  virtual void triangular(const TriangularBlock& call) = 0;
};

/// Makes the calls that fill the triangle over `points` points. @param decomposition  bottom_up,
/// divide_and_conquer or printed. @param separate_calls  see Options
/// @return what Table 1 of the dissertation counts: one for each block or product of two blocks, blocks on
/// the
///         diagonal left out
Calls decompose(std::int64_t points, int block, Decomposition decomposition, bool separate_calls,
                Executor& executor);

}  // namespace warploom::dp
