#pragma once

#include "warploom/tile/dependence.hpp"

namespace warploom::tile {

/// The loops around each statement in the text, outermost first; the nodes are the region's own.
std::vector<std::vector<const Node*>> loop_paths(const Nest& nest);

/// Statements with the same loops around them and no other statement between them: chains of loops.
std::vector<Band> loop_chains(const Nest& nest);

}  // namespace warploom::tile
