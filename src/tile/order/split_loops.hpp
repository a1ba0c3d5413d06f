#pragma once

#include <optional>

#include "warploom/tile/nest.hpp"

namespace warploom::tile {

/// Loops whose iterations depend on each other through one alone, that of the loop around (shortest paths:
/// row and column k), in three: before it, it, and after it. Nothing runs at another time; what is before and
/// after is parallel then, and made of vectors. @return nothing where there is no such loop
/// @note `around` and the loop have the same bounds, each a number, a size or a sum of these
std::optional<Nest> with_split_loops(const Nest& nest);

}  // namespace warploom::tile
