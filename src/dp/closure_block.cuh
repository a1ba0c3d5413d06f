#pragma once

/// What the two forms of the triangular part share: see closure.cuh.

#include "dp/product.cuh"  // how cells are added and compared

namespace warploom::dp {

template <class T>
__device__ T least(T x, T y) {
  return ProductWord<T, Arithmetic::plain>::least(x, y);
}

/// min(best, a + b)
template <class T>
__device__ T least_sum(T best, T a, T b) {
  return ProductWord<T, Arithmetic::plain>::accumulate(best, a, b);
}

/// min(best, a + b + weight * factor), the product where kFactors.
template <bool kFactors, class T>
__device__ T least_candidate(T best, T a, T b, [[maybe_unused]] T weight, [[maybe_unused]] T factor) {
  if constexpr (kFactors) a = sum(a, b), b = product(weight, factor);
  return least_sum(best, a, b);
}

/// Cells that follow each other in a row.
template <class T, int kCount>
struct alignas(kCount * sizeof(T) < 16 ? kCount * sizeof(T) : 16) Pack {
  T cell[kCount];
};

/// A block in shared memory. @tparam kThreads  of the thread block
template <class T, Arithmetic kArithmetic, int kEdge, int kThreads>
class ClosureBlock {
 public:
  using Cells = DeviceCells<T, kArithmetic>;
  using Stored = typename Cells::Stored;
  static constexpr bool kNarrow = Cells::kNarrow;
  static constexpr int kVector = 16 / static_cast<int>(sizeof(T));
  static constexpr int kPitch = kEdge + kVector;
  /// The block. Beyond it: the row below it in cells[kEdge], the column left of it in cells[..][kPitch - 1],
  /// a row higher than it is.
  struct Best {
    alignas(16) T cells[kEdge + 1][kPitch];
  };

 protected:
  /// @param best  nullptr for prepare(), which does without
  __device__ ClosureBlock(const Cells& m, const Terms<T>& terms, std::int64_t i, std::int64_t j,
                          T (*best)[kPitch])
      : m_(m), terms_(terms), best_(best), i_(i), j_(j), diagonal_(i == j) {}

  __device__ bool inside(int column) const { return j_ + column < m_.points; }

  /// kUnreachable where an integer is above kLargest.
  static __device__ T with_solution(T value) {
    if constexpr (std::is_integral_v<T>) return value > kLargest<T> ? kUnreachable<T> : value;
    return value;
  }

  /// The finished block into m.
  __device__ void write() {
    constexpr int kCount = 16 / static_cast<int>(sizeof(Stored)), kAcross = kEdge / kCount;
    [[maybe_unused]] const T base = diagonal_ ? T(0) : best_[kEdge - 1][0];
    [[maybe_unused]] bool overflow = false;
    for (int n = static_cast<int>(threadIdx.x); n < kEdge * kAcross; n += kThreads) {
      const int row = n / kAcross, first = n % kAcross * kCount;
      Pack<Stored, kCount> cells;
#pragma unroll
      for (int c = 0; c < kCount; ++c) {
        const int column = first + c;
        T value = best_[row][column];
        const bool below = diagonal_ && column <= row;
        if (below || !inside(column)) value = kUnreachable<T>;
        if constexpr (kNarrow) {
          const T difference = value - base;
          const bool far = difference > kNarrowLargest || difference < -kNarrowLargest || value > kLargest<T>;
          overflow |= far && !below && inside(column);
          cells.cell[c] = static_cast<Stored>(below ? kNarrowUnreachable : far ? kNarrowLargest : difference);
        } else {
          cells.cell[c] = value;
        }
      }
      __stcg(reinterpret_cast<uint4*>(m_.cells + cell_place(i_ + row, j_ + first)),
             __builtin_bit_cast(uint4, cells));
    }
    if constexpr (kNarrow) {
      if (threadIdx.x == 0) m_.bases[tile_place(i_ / kTile, j_ / kTile)] = base;
      if (overflow) atomicExch(m_.overflow, 1);
    }
  }

  const Cells& m_;
  const Terms<T>& terms_;
  T (*const best_)[kPitch];
  const std::int64_t i_, j_;
  const bool diagonal_;
};

}  // namespace warploom::dp
