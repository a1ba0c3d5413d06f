#pragma once

#include "warploom/tile/interpret.hpp"
#include "warploom/tile/nest.hpp"

namespace warploom::tile {

/// Runs the nest as interpret() does, on `memory`, and bounds how far each value may be from what the same
/// operations give without rounding: running error analysis (Higham, "Accuracy and Stability of Numerical
/// Algorithms", 2nd ed., 3.3), of first order in the unit roundoff u, 2^-24 or 2^-53 by C's type of each
/// operation. A sum of n terms, in one expression or in the runs of one reduction, counts (n - 1) u times the
/// sum of the terms' magnitudes, so that the bound holds whatever order the terms are taken in; so it does
/// where a product and a sum are rounded once. Calls of functions count 4 u. Comparisons that rounding may
/// turn round count with the difference of what they choose between. Two programs that compute the nest are
/// at most twice the bound apart.
/// @return the bound of each value after the run, in the unit of the value; infinite where nothing is known
///         (a division by what may be zero)
/// @throws as interpret()
/// @note about twice interpret()'s time
Memory rounding_bounds(const Nest& nest, Memory& memory);

}  // namespace warploom::tile
