#pragma once

#include <optional>

#include "warploom/tile/nest.hpp"

namespace warploom::tile {

/// The nest with an array for each scalar that every iteration of some loops writes before it reads it, and
/// uses in loops of its own (symm: `temp2 = 0; for k: temp2 += ...`): iterations no longer wait for the
/// scalar. If others may see it, it is assigned at the end of each iteration. Costs an element for each
/// iteration.
/// @return none where there is no such scalar
std::optional<Nest> with_expanded_scalars(const Nest& nest);

}  // namespace warploom::tile
