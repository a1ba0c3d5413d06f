#pragma once

/// The triangular part of a block, in shared memory: what is left when the products of the blocks between
/// are taken in. There are two forms of it, a wavefront for all problems and a linear one for the simplest.

#include <type_traits>

#include "dp/closure_linear.cuh"
#include "dp/closure_wavefront.cuh"

namespace warploom::dp {

/// Finishes blocks; all threads of a thread block call. @tparam kEdge  16, 32, 64 (narrow: 64) @tparam
/// kThreads of the thread block: 64, 128, 256
template <class T, Arithmetic kArithmetic, bool kFactors, int kEdge, int kThreads>
class Closure {
  using Cells = DeviceCells<T, kArithmetic>;
  static_assert(kEdge == 16 || kEdge == 32 || kEdge == 64);
  static_assert(!Cells::kNarrow || (kEdge == 64 && !kFactors));

  using Wavefront = WavefrontClosure<T, kArithmetic, kFactors, kEdge, kThreads>;
  using Linear = LinearClosure<kArithmetic, kEdge, kThreads>;
  static constexpr bool kCanBeLinear = std::is_same_v<T, std::int32_t> && !kFactors;
  struct None {};

 public:
  /// The block.
  using Best = typename ClosureBlock<T, kArithmetic, kEdge, kThreads>::Best;
  /// What else it takes.
  union Tables {
    typename Wavefront::Tables wavefront;
    std::conditional_t<kCanBeLinear, typename Linear::Tables, None> linear;
  };
  struct Shared {
    Best best;
    Tables tables;
  };

  /// `best` holds the best candidates with k outside the blocks of i and j (kUnreachable: none;
  /// narrow: true values, bases added). Finishes block (i, j), or, where i = j, the block on the diagonal,
  /// whatever `best` holds, and writes it to m (narrow: with its new base, and the overflow flag).
  /// Reads the diagonal blocks (i, i) and (j, j) and, for pairing, the row below and the column left of the
  /// block. The caller makes sure that they are finished and visible, that j is a point, and has a barrier
  /// between this and what follows: publishing the cells, or using the memory.
  __device__ static void finish(const Cells& m, const Terms<T>& terms, std::int64_t i, std::int64_t j,
                                Shared& shared) {
    prepare(m, terms, i, j, shared.tables);
    finish_prepared(m, terms, i, j, shared.best, shared.tables);
  }

  /// The two halves of finish(). The first needs only the diagonal blocks, which are finished early, and can
  /// go before the wait for the others.
  __device__ static void prepare(const Cells& m, const Terms<T>& terms, std::int64_t i, std::int64_t j,
                                 Tables& tables) {
    if constexpr (kCanBeLinear)
      if (is_linear(terms, i, j)) return Linear(m, terms, i, j, nullptr, tables.linear).prepare();
    Wavefront(m, terms, i, j, nullptr, tables.wavefront).prepare();
  }
  __device__ static void finish_prepared(const Cells& m, const Terms<T>& terms, std::int64_t i,
                                         std::int64_t j, Best& best, Tables& tables) {
    if constexpr (kCanBeLinear)
      if (is_linear(terms, i, j)) return Linear(m, terms, i, j, best.cells, tables.linear).run();
    Wavefront(m, terms, i, j, best.cells, tables.wavefront).run();
  }

 private:
  /// Whether block (i, j) is off the diagonal and has neither weights nor pairs.
  __device__ static bool is_linear(const Terms<T>& terms, std::int64_t i, std::int64_t j) {
    return i != j && terms.row_weight == nullptr && terms.cell_weight == nullptr && terms.codes == nullptr;
  }
};

}  // namespace warploom::dp
