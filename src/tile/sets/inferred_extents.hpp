#pragma once

#include "tile/sets/polyhedra.hpp"

namespace warploom::tile {

/// The outermost extent of what the source has a pointer to: what its accesses reach, with a remark. Of
/// accesses that reach differently far it is the most of all. Called when all accesses are known.
/// @throws BadInput (what they reach is no affine function of the sizes)
void infer_extents(Polyhedra& polyhedra);

}  // namespace warploom::tile
