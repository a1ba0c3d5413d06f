#pragma once

#include "tile/sets/affine_expression.hpp"
#include "tile/sets/polyhedra.hpp"

namespace warploom::tile {

/// A statement while its accesses are read.
struct StatementScope {
  const AffineScope& names;
  isl::multi_id tuple;  ///< S0[i, j]
  isl::set runs;        ///< its iterations: a set of loops and sizes, all as parameters
};

/// Fills references, accesses (on the iterations of `scope`, without what `Polyhedra::parameters` says) and
/// reduction.
/// @throws BadInput (subscripts that are not affine or do not fit the array's extents)
void add_references(const StatementScope& scope, Statement& statement, StatementSets& sets);

/// Sizes for which some iteration leaves an array are taken away from `parameters`, with a remark, unless
/// none would remain for which the statement runs.  @throws BadInput naming the subscript, its value and the
/// iteration
void keep_within_extents(const StatementScope& scope, const Statement& statement, Polyhedra& polyhedra);

/// An integer expression of the source. @param role  "subscript", "bound of loop i"
/// @throws BadInput with the place and the whole expression
isl::pw_aff read_affine(const AffineScope& scope, const Expression& expression, const std::string& role);
[[noreturn]] void refuse(const Region& region, Position at, std::string construct, std::string why);

}  // namespace warploom::tile
