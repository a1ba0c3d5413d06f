#pragma once

/// The linear form of the triangular part: see closure.cuh.
///
/// Without weights, pairs and rounding the recurrence within a block off the diagonal is linear: C = A C0 B
/// with the finished blocks on the diagonal, which have 0 for their diagonals. Two products are quicker than
/// a wavefront.

#include "dp/closure_block.cuh"

namespace warploom::dp {

/// See Closure, of whose finish() these are the two halves. @tparam kThreads  of the thread block
template <Arithmetic kArithmetic, int kEdge, int kThreads>
class LinearClosure : ClosureBlock<std::int32_t, kArithmetic, kEdge, kThreads> {
  using T = std::int32_t;
  using Block = ClosureBlock<T, kArithmetic, kEdge, kThreads>;
  using Block::inside, Block::with_solution, Block::write;
  using Block::kNarrow, Block::kPitch;
  using Block::m_, Block::terms_, Block::best_, Block::i_, Block::j_;
  using typename Block::Cells, typename Block::Stored;

  static constexpr int kOperands = kEdge == 64 ? 1 : 2;

 public:
  /// The operands: one after the other where both are too large.
  struct Tables {
    alignas(16) T operand[kOperands][kEdge][kPitch];
  };

  __device__ LinearClosure(const Cells& m, const Terms<T>& terms, std::int64_t i, std::int64_t j,
                           T (*best)[kPitch], Tables& tables)
      : Block(m, terms, i, j, best), tables_(tables) {}

  __device__ void prepare() {
    stage_block(j_, tables_.operand[0]);
    if (kOperands > 1) stage_block(i_, tables_.operand[kOperands - 1]);
  }

  __device__ void run() {
    T(*const right)[kPitch] = tables_.operand[0];
    T(*const left)[kPitch] = tables_.operand[kOperands - 1];
    if (threadIdx.x == 0 && j_ - i_ == kEdge)
      best_[kEdge - 1][0] = inside(0) ? terms_.leaves[j_ - 1] : kUnreachable<T>;
    __syncthreads();
    add_product(best_, right, [&] {
      if (kOperands == 1) stage_block(i_, left);
    });
    add_product(left, best_, [] {});
    write();
  }

 private:
  // A thread's cells: four that follow each other in each of several rows.
  static constexpr int kAcross = kEdge / 4, kDown = kThreads / kAcross, kOwnRows = kEdge / kDown;
  static_assert(kThreads >= kAcross);
  __device__ int own_row(int r) const { return static_cast<int>(threadIdx.x) / kAcross + kDown * r; }
  __device__ int own_column() const { return static_cast<int>(threadIdx.x) % kAcross * 4; }

  /// The finished block on the diagonal from point `first` on.
  __device__ void stage_block(std::int64_t first, T (*to)[kPitch]) const {
    constexpr int kCount = 16 / static_cast<int>(sizeof(Stored)), kVectors = kEdge / kCount;
#pragma unroll 4
    for (int n = static_cast<int>(threadIdx.x); n < kEdge * kVectors; n += kThreads) {
      const int row = n / kVectors, column = n % kVectors * kCount;
      const auto stored = __builtin_bit_cast(
          Pack<Stored, kCount>,
          __ldcg(reinterpret_cast<const uint4*>(m_.cells + cell_place(first + row, first + column))));
#pragma unroll
      for (int c = 0; c < kCount; ++c)  // the base of a diagonal tile is 0
        to[row][column + c] =
            kNarrow && stored.cell[c] == kNarrowUnreachable ? kUnreachable<T> : stored.cell[c];
    }
  }

  /// best = min(best, a b), what has no solution kUnreachable. `between` is called when `a` and `b` have been
  /// read.
  template <class Between>
  __device__ void add_product(const T (*a)[kPitch], const T (*b)[kPitch], Between between) {
    T own[kOwnRows][4];
#pragma unroll
    for (int r = 0; r < kOwnRows; ++r)
#pragma unroll
      for (int c = 0; c < 4; ++c) own[r][c] = best_[own_row(r)][own_column() + c];
#pragma unroll 2
    for (int k = 0; k < kEdge; k += 4) {
      Pack<T, 4> row[kOwnRows];
#pragma unroll
      for (int r = 0; r < kOwnRows; ++r) row[r] = *reinterpret_cast<const Pack<T, 4>*>(&a[own_row(r)][k]);
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const auto columns = *reinterpret_cast<const Pack<T, 4>*>(&b[k + n][own_column()]);
#pragma unroll
        for (int r = 0; r < kOwnRows; ++r)
#pragma unroll
          for (int c = 0; c < 4; ++c) own[r][c] = least_sum(own[r][c], row[r].cell[n], columns.cell[c]);
      }
    }
    __syncthreads();
    between();
#pragma unroll
    for (int r = 0; r < kOwnRows; ++r)
#pragma unroll
      for (int c = 0; c < 4; ++c) best_[own_row(r)][own_column() + c] = with_solution(own[r][c]);
    __syncthreads();
  }

  Tables& tables_;
};

}  // namespace warploom::dp
