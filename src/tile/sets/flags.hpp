#pragma once

#include "tile/sets/polyhedra.hpp"

namespace warploom::tile {

/// Sizes of which only matters whether they are 0, as in `if (!transposed_a && !transposed_b)`: 0 and 1 stand
/// for all values. "Not 0" is two pieces of a set, of several such sizes more, and isl looks at pairs of
/// pieces. Finds them, and leaves these two values of them in the sets of the statements.
void find_flags(Polyhedra& polyhedra);

/// Their values in the sets of statements, of all parameters.
isl::set values_of_flags(const Polyhedra& polyhedra);

/// The points for all values of the flags, from those for 0 and 1.
isl::map for_all_values_of_flags(isl::map points, const Polyhedra& polyhedra);

/// The value that stands for this one of a size, where it is a flag.
std::int64_t value_in_sets(const Polyhedra& polyhedra, const std::string& size, std::int64_t value);

}  // namespace warploom::tile
