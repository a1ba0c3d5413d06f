#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/dp/solve.hpp"
#include "warploom/dp/value_type.hpp"

namespace warploom::dp {

struct ChainOptions {
  Options solve = {};
  /// best: int32 or int64, where costs and the cube of the largest dimension are within its range; else
  /// float64 where costs are so small that it is exact, up to 2^53. Larger ones round, for which float64 is
  /// to be asked.
  ValueType type = ValueType::best;
};

/// In which order to multiply a chain of matrices.
struct ChainOrder {
  Number cost = {};           ///< multiplications of numbers
  Number left_to_right = {};  ///< the same for ((A1 A2) A3) ...; floating point where int64 does not hold it
  std::string parenthesisation = {};  ///< "((A1 (A2 A3)) A4)"
  /// The products, each before those within it, left before right: (A_i+1 .. A_k) times (A_k+1 .. A_j)
  std::vector<Split> splits = {};
  ValueType type = ValueType::int32;
  Report report = {};
};

/// The order of multiplying matrices A1 .. An, A_k of dimensions[k-1] x dimensions[k], that needs the fewest
/// multiplications of numbers:
///
///   m[i,i+1] = 0,  m[i,j] = min over i < k < j of m[i,k] + m[k,j] + d_i d_k d_j
///
/// Integers are exact. In floating point the cost is within about 4 n u, relatively, of the least (u = 2^-53
/// or 2^-24); another order may be taken where two differ by less. Ties: the leftmost last product.
/// @param dimensions  n + 1 >= 2 numbers, each >= 1
/// @throws BadValue, BadInput (no matrix, a dimension below 1, costs that may exceed the type's range), and
/// as solve()
/// @note Cost: that of solve() for n leaves, O(n^3). Where this order is all that is wanted, Hu and Shing's
///       algorithm (SIAM J. Comput. 11(2), 1982, and 13(2), 1984) needs O(n log n); ours is for comparison
///       and for chains of moderate length.
/// Source: Godbole, IEEE Trans. Comput. C-22(9), 1973; Cormen et al., Introduction to Algorithms, 3rd
/// ed., 15.2.
ChainOrder chain_order(std::span<const std::int64_t> dimensions, const ChainOptions& options = {});

/// The text of a chain of `matrices` factors, "((A1 (A2 A3)) A4)", from its products in any order. O(n).
/// @param name, first  of other leaves than matrices: with "" and 0 it is "((0 (1 2)) 3)"
/// @throws BadInput (a product that does not lie within the chain, numbers beyond 2^40), OutOfMemory
std::string parenthesisation(std::span<const Split> splits, std::int64_t matrices,
                             std::string_view name = "A", std::int64_t first = 1);

}  // namespace warploom::dp
