#pragma once

#include "warploom/tile/source.hpp"

namespace warploom::tile {

/// Arrays that the source has as pointers to their elements, of which all subscripts together show rows:
/// A[i * lda + k] becomes A[i][k] with extents [?][lda], A[(c * h + y) * w + x] A[c][y][x]. That k stays
/// below lda is left to the check of extents, which says what it assumes. What remains of products of sizes
/// (m * n) becomes a size of its own, m_n. Both are told in `remarks`. Subscripts without rows stay as they
/// are.
/// @return those sizes
struct ProductOfSizes {
  std::string name = {};
  std::vector<std::string> factors = {};
};
std::vector<ProductOfSizes> delinearise(Region& region);

}  // namespace warploom::tile
