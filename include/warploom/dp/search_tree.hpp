#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "warploom/dp/solve.hpp"
#include "warploom/dp/value_type.hpp"

namespace warploom::dp {

struct SearchTreeOptions {
  Options solve = {};
  /// best: of integers int32 where no cost can leave its range, else int64; of real numbers float64.
  ValueType type = ValueType::best;
};

/// Keys are counted from 1; 0 stands for a gap, where a search ends without success.
struct SearchTreeNode {
  std::int64_t left = 0, right = 0;  ///< the children's keys
  std::int64_t depth = 0;            ///< of the root: 0
  friend bool operator==(const SearchTreeNode&, const SearchTreeNode&) = default;
};

struct SearchTree {
  Number cost = {};                           ///< see search_tree()
  Number total = {};                          ///< the sum of p and q
  std::int64_t root = 0;                      ///< its key
  std::vector<SearchTreeNode> nodes = {};     ///< of key k at k - 1
  std::vector<std::int64_t> level_keys = {};  ///< keys at each depth; as many as the tree is high
  ValueType type = ValueType::float64;
  Report report = {};
};

/// The binary search tree of least expected cost for n keys: p_k (k = 1 .. n) is how often key k is looked
/// for, q_k (k = 0 .. n) how often something between keys k and k + 1. Probabilities, or counts; they need
/// not sum to
/// 1. A search costs as many nodes as it visits, the gap it ends in included:
///
///   cost = sum of (depth(k) + 1) p_k + sum of (depth(gap k) + 1) q_k
///
/// so that cost / total is the mean number of nodes visited. With e[i,j] of the source as m[i-1,j+1]:
///
///   m[i,i+1] = q_i,  m[i,j] = w(i,j) + min over keys i < k < j of m[i,k] + m[k,j]
///   w(i,j)   = p_i+1 + .. + p_j-1 + q_i + .. + q_j-1,  as a difference of two prefix sums
///
/// Integers are exact. Of real numbers the prefix sums are summed in extended precision and rounded once, so
/// every w(i,j) is within 3 u + n 2^-63, relative to the total, of its value (u = 2^-53, or 2^-24 of float32)
/// and never negative; the tree's true cost is within n (10 u + n 2^-62), relatively, of the least. `cost` is
/// summed anew over the tree, within 3 n 2^-53. Ties: the least key as root.
/// @param p  n >= 1 numbers, >= 0
/// @param q  n + 1 numbers, >= 0
/// @throws BadValue, BadInput (no key, lengths, what is negative or not finite, costs that may exceed the
/// type's range,
///         integers asked for real numbers), and as solve()
/// @note Cost: that of solve() for n + 1 leaves, O(n^3). Where only the tree is wanted, Knuth's bound on the
///       roots, which Yao generalised, gives it in O(n^2) (Knuth, Acta Informatica 1, 1971; Yao, STOC 1980).
/// Source: Cormen et al., Introduction to Algorithms, 3rd ed., 15.5.
SearchTree search_tree(std::span<const double> p, std::span<const double> q,
                       const SearchTreeOptions& options = {});
SearchTree search_tree(std::span<const std::int64_t> p, std::span<const std::int64_t> q,
                       const SearchTreeOptions& options = {});

}  // namespace warploom::dp
