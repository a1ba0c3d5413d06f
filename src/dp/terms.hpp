#pragma once

/// What the back ends are given: a problem turned into a minimum, as pointers into host or device memory.

#include <cstdint>

#include "warploom/dp/problem.hpp"

namespace warploom::dp {

/// Null where the problem has none. Of a maximum all values are negated, products through `product_sign`.
template <class T>
struct Terms {
  std::int64_t points = 0;
  const T* leaves = nullptr;            // points - 1
  const T* row_weight = nullptr;        // points
  const T* column_weight = nullptr;     // points
  const T* factors = nullptr;           // points
  T product_sign = 1;                   // 1 or -1
  const T* cell_weight = nullptr;       // stored_cells(points), laid out as Triangle
  const std::uint8_t* codes = nullptr;  // points - 1
  const T* scores = nullptr;            // letters * letters, kUnreachable where no pair
  int letters = 0;
  std::int64_t minimum_span = 2;
  // Floating point: no term is negative, so that cells compare as integers of their bits.
  bool non_negative = false;

  /// w(i,j), in the order that Problem states; 0 without weights.
  WARPLOOM_HOST_DEVICE T weight(std::int64_t i, std::int64_t j) const {
    T w = row_weight != nullptr ? row_weight[i] + column_weight[j] : T(0);
    return cell_weight != nullptr ? w + cell_weight[cell_place(i, j)] : w;
  }
  WARPLOOM_HOST_DEVICE bool may_pair(std::int64_t i, std::int64_t j) const {
    return codes != nullptr && j - i >= minimum_span;
  }
  /// s(i,j), only where may_pair(i, j)
  WARPLOOM_HOST_DEVICE T score(std::int64_t i, std::int64_t j) const {
    return scores[codes[i] * letters + codes[j - 1]];
  }
};

/// A cell from the best of its candidates: the weight added, and what has no solution made kUnreachable
/// (integers; infinities of floating point need nothing).
template <class T>
WARPLOOM_HOST_DEVICE inline T finished(T best, T weight) {
  if constexpr (T(1) / 2 == T(0)) {  // an integer
    constexpr T unreachable = kUnreachable<T>, largest = kLargest<T>;
    if (best > largest) return unreachable;
    const T cell = best + weight;
    return cell > largest ? unreachable : cell;
  } else {
    return best + weight;
  }
}

}  // namespace warploom::dp
