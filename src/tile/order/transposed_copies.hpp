#pragma once

#include <optional>

#include "warploom/tile/nest.hpp"

namespace warploom::tile {

/// The nest with transposes of matrices that it only reads and that a sum of products runs down while it runs
/// along the rows of what it writes (syrk: `C[i][j] += A[i][k] * A[j][k]`), made before it. The innermost
/// loop reads them along, so that it becomes one of vectors. Each costs a pass over the matrix and its
/// memory.
/// @return none where there is no such matrix
std::optional<Nest> with_transposed_copies(const Nest& nest);

}  // namespace warploom::tile
