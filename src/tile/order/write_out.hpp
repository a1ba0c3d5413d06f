#pragma once

#include "warploom/tile/nest.hpp"

namespace warploom::tile {

/// Where jammed loops (Node::strip) stand within another loop, and their strips are full, their iterations
/// are written out, and the sums among them joined. Whether strips are full is asked before the loop around
/// them, or by its bounds. What is not full keeps its loops: every iteration keeps its place in the order.
void write_out_strips(Node& node, const Nest& nest);

}  // namespace warploom::tile
