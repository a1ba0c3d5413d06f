#pragma once

#include "tile/kernels/cuda_text.hpp"

namespace warploom::tile {

/// "for (int k = 0; k < nk; k++)"
std::string loop_header(const CudaNames& names, const Node& loop);

/// What one thread runs in order. An element that a loop updates and that stays the same in it is kept in a
/// register meanwhile: the compiler cannot know that no other subscript meets it, we do.
void write_statements(TextWriter& writer, const CudaNames& names, const std::vector<Node>& nodes);

}  // namespace warploom::tile
