#pragma once

#include "warploom/imaging/image.hpp"

namespace warploom::imaging {

/// Solver::descent's start: the Cholesky factors of the positive semidefinite tensors d [6, voxels], in their
/// place, elements l11, l21, l31, l22, l32, l33. Near-singular tensors hold descent up (the gradient in L
/// vanishes with L), so a tenth of the mean eigenvalue is added to all. Voxels that hold NaN stay. @return
/// the largest trace
double factorise(const Grid& grid, float* d);

/// D = L L^T, in place.
void multiply_factors(const Grid& grid, float* l);

}  // namespace warploom::imaging
