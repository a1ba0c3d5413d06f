#pragma once

#include "warploom/tile/source.hpp"

namespace warploom::tile {

/// Puts scalars in the place of their names that only carry a product or sum into a loop below:
///
///     float a = alpha * A[i][k];                    for (int j = 0; j < n; j++)
///     for (int j = 0; j < n; j++)          ->         C[i][j] += alpha * A[i][k] * B[k][j];
///       C[i][j] += a * B[k][j];
///
/// in a loop, so that the loops nest perfectly. Such a scalar does not live outside of the region, is
/// assigned once, is read within loops below only, and what it is made of is not written before its last
/// read.
void propagate_scalars(Region& region);

/// The type that C gives an expression of the region.
ScalarType type_of(const Region& region, const Expression& expression);

}  // namespace warploom::tile
