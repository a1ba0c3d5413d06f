#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "warploom/dp/solve.hpp"

/// The recurrence of include/warploom/dp/problem.hpp written down from its text, sharing nothing with the
/// code that is tested: three loops, maxima as maxima, floating point in the documented order.
namespace warploom::oracle {

using namespace dp;

__extension__ typedef __int128 Wide;

/// A value, or none where there is no solution.
template <class Cell>
using Maybe = std::optional<Cell>;

template <class Cell>
struct Table {
  std::vector<std::vector<Maybe<Cell>>> cells;  // [points][points], where i < j
  /// The first candidate that gives the cell, its weight added: k; i: a pair; -1: a leaf, or no solution.
  std::vector<std::vector<std::int64_t>> decisions;

  /// The decisions from the whole interval down, left before right.
  std::vector<Split> trace() const;
};

/// Every cell, computed in `Cell`: the problem's type, or Wide, which no sum of 64-bit terms leaves.
template <class Cell, Value T>
Table<Cell> fill(const Problem<T>& problem);

/// What the tree of these decisions adds up to, each cell in the documented order; none if they are no tree
/// over the whole interval in the order of Solution::trace, or use what is unreachable.
template <Value T>
Maybe<T> evaluate(const Problem<T>& problem, std::span<const Split> splits);

/// The sums of all trees over all the leaves, one each, without any choice. Exponential.
template <Value T>
std::vector<T> every_sum(const Problem<T>& problem);

}  // namespace warploom::oracle
