#pragma once

#include <array>

#include "imaging/cholesky.hpp"

namespace warploom::imaging {

/// The minimiser of q(d) = (d - free)^T metric (d - free) / 2 over the positive semidefinite tensors d (xx xy
/// xz yy yz zz), with q within 1e-9 of q(0) of the least. Its eigenvalues are above 0, if only by rounding.
/// @param free    the minimiser without the constraint
/// @param metric  symmetric positive definite
std::array<double, 6> positive_tensor(const std::array<double, 6>& free, const SquareMatrix<6>& metric);

}  // namespace warploom::imaging
