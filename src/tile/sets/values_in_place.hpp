#pragma once

#include <optional>

#include "tile/sets/polyhedra.hpp"

namespace warploom::tile {

/// The region in which a scalar that holds an element's value for a while, and goes back into it, is that
/// element:
///
///     w = A[i][j];                              A[i][j] -= A[i][k] * A[k][j];   (in the loop over k)
///     for (k ...) w -= A[i][k] * A[k][j];  ->   A[i][j] = A[i][j] / A[j][j];
///     A[i][j] = w / A[j][j];
///
/// if both have one type and nothing between touches the element, which is asked exactly. Orders of loops,
/// and kernels, are then free that one scalar for all would forbid.
/// @return nothing where there is no such scalar; else with one of them replaced
std::optional<Region> with_value_in_place(const Polyhedra& polyhedra);

}  // namespace warploom::tile
