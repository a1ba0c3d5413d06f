#pragma once

#include "warploom/tile/nest.hpp"

namespace warploom::tile {

/// Neighbours that add to one element, `x += a; x += b;`, become `x = x + a + b`, which is rounded alike and
/// leaves x in a register: where the types of what is added are no wider than x, and nothing that is added
/// may be the element itself.
void join_sums(Node& node, const Nest& nest);

}  // namespace warploom::tile
