#pragma once

#include "tile/order/parallelise_order.hpp"

/// Questions about integer sets that the order of loops turns on.
namespace warploom::tile {

/// A dependence between iterations whose order is not settled by the loops chosen so far.
struct Relation {
  const Dependence* summary;
  isl::map pairs;
};

/// The pairs of iterations that the loop does not separate.
isl::map same_iteration(const isl::map& pairs, int source_dimension, int sink_dimension);
isl::map same_iteration(const Relation& relation, const SharedLoop& loop);
/// Some pair lies in different iterations of the loop.
bool crosses(const Relation& relation, const SharedLoop& loop);
/// Some pair has its sink in an earlier iteration of the loop.
bool runs_back(const Relation& relation, const SharedLoop& loop, int direction);

/// S0[i, j, k] -> [the values of some of its loops]
isl::map onto(const isl::set& domain, const std::vector<int>& dimensions);
/// Equal wherever both are not empty: sizes for which one of them never runs do not matter.
bool same_range(const isl::set& a, const isl::set& b);
/// Iterations of `earlier` (a part of statement s) after which an iteration of statement t of the same
/// `around` and a later iteration of the loop runs.
isl::set followed(const isl::set& earlier, const isl::set& later,
                  const std::vector<std::pair<int, int>>& around, std::pair<int, int> loop, int direction);

}  // namespace warploom::tile
