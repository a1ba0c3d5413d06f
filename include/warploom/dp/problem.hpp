#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "warploom/dp/triangle.hpp"

namespace warploom::dp {

enum class Optimum { minimum, maximum };
/// "min" or "max". @throws BadInput naming the two
Optimum parse_optimum(std::string_view text);
std::string_view name(Optimum optimum);

/// What a cell holds, or a weight may hold, where there is no solution; of a maximum its negative. Integers
/// keep room above it, so that the sum of two does not wrap.
template <Value T>
inline constexpr T kUnreachable = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                                       : std::numeric_limits<T>::max() / 2;
/// Integers: the largest magnitude that a cell with a solution may have, 2^29 - 1 or 2^61 - 1.
template <Value T>
inline constexpr T kLargest = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::max()
                                                                   : std::numeric_limits<T>::max() / 4;

/// A term for pairing problems (Nussinov's base pairs): the interval (i, j) may close around (i+1, j-1),
/// whose value is 0 where i+1 = j-1.
template <Value T>
struct Pairing {
  std::vector<std::uint8_t> codes;  ///< a letter a leaf, below `letters`
  std::int64_t letters = 0;         ///< at most 16
  std::vector<T> scores;            ///< [letters][letters] of the first and the last leaf; kUnreachable (of a
                                    ///< maximum -kUnreachable) where the two may not pair
  std::int64_t minimum_span = 2;    ///< pairs only where j - i is at least this, >= 2
};

/// A nonserial polyadic dynamic programme over the points 0 .. n:
///
///   m[i,i+1] = leaves[i]
///   m[i,j]   = w(i,j) + opt( m[i+1,j-1] + s(i,j),  opt over i < k < j of  m[i,k] + m[k,j] + w(i,k,j) )
///
/// with w(i,j) = row_weight[i] + column_weight[j] + cell_weight(i,j), w(i,k,j) = factors[i] * factors[k] *
/// factors[j], and s(i,j) of `pairing`. What is empty takes no part. In floating point the order is
///
///   (m[i,k] + m[k,j]) + (p_i * p_j) * p_k      and      opt + ((row + column) + cell),
///
/// each operation rounded by itself, on every back end: all give the same bits.
/// Source: the dissertation's equations 1 and 2 (chapter 3), of which this is the transformed domain; the
/// weights and the pairing term are ours.
template <Value T>
struct Problem {
  Optimum optimum = Optimum::minimum;
  std::vector<T> leaves = {};                          ///< n >= 1 values: the problem's size
  std::vector<T> row_weight = {}, column_weight = {};  ///< n + 1 each, or both empty
  std::vector<T> factors = {};                         ///< n + 1, or empty
  Triangle<T> cell_weight = {};                        ///< over n + 1 points, read where j - i >= 2; or empty
  std::optional<Pairing<T>> pairing = {};
  /// Integers: what no cell and no product of factors exceeds in magnitude, where the caller knows better
  /// than the bound that is taken from the largest terms; 0: not known. A wrong one gives wrong cells.
  T bound = 0;

  std::int64_t points() const { return static_cast<std::int64_t>(leaves.size()) + 1; }
};

}  // namespace warploom::dp
