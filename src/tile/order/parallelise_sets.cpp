#include "tile/order/parallelise_sets.hpp"

namespace warploom::tile {
namespace {

/// Pairs whose sink's iteration is after the source's (direction 1) or before (-1), by the iterator's value.
isl::map ordered(const isl::map& pairs, int source_dimension, int sink_dimension, int direction) {
  isl_map* (*const order)(isl_map*, isl_dim_type, int, isl_dim_type, int) =
      direction > 0 ? isl_map_order_lt : isl_map_order_gt;
  return isl::manage(order(pairs.copy(), isl_dim_in, source_dimension, isl_dim_out, sink_dimension));
}

}  // namespace

isl::map same_iteration(const isl::map& pairs, int source_dimension, int sink_dimension) {
  return isl::manage(isl_map_equate(pairs.copy(), isl_dim_in, source_dimension, isl_dim_out, sink_dimension));
}

isl::map same_iteration(const Relation& relation, const SharedLoop& loop) {
  return same_iteration(relation.pairs, loop.dimension.at(relation.summary->source),
                        loop.dimension.at(relation.summary->sink));
}

bool crosses(const Relation& relation, const SharedLoop& loop) {
  return runs_back(relation, loop, 1) || runs_back(relation, loop, -1);
}

bool runs_back(const Relation& relation, const SharedLoop& loop, int direction) {
  return !ordered(relation.pairs, loop.dimension.at(relation.summary->source),
                  loop.dimension.at(relation.summary->sink), -direction)
              .is_empty();
}

isl::map onto(const isl::set& domain, const std::vector<int>& dimensions) {
  std::vector<isl::aff> iterators;
  for (const int dimension : dimensions) iterators.push_back(iterator_aff(domain, dimension));
  return onto(domain, iterators);
}

bool same_range(const isl::set& a, const isl::set& b) {
  const isl::set both = a.params().intersect(b.params());
  return a.intersect_params(both).is_equal(b.intersect_params(both));
}

isl::set followed(const isl::set& earlier, const isl::set& later,
                  const std::vector<std::pair<int, int>>& around, std::pair<int, int> loop, int direction) {
  isl::map pairs = isl::manage(isl_map_from_domain_and_range(earlier.copy(), later.copy()));
  for (const auto& [of_earlier, of_later] : around) pairs = same_iteration(pairs, of_earlier, of_later);
  return ordered(pairs, loop.first, loop.second, direction).domain();
}

}  // namespace warploom::tile
