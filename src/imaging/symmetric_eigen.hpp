#pragma once

#include <cstddef>
#include <vector>

namespace warploom::imaging {

struct SymmetricEigen {
  std::vector<double> values;   ///< [n] from the smallest
  std::vector<double> vectors;  ///< [n, n] row k: of values[k], norm 1
};

/// Of a symmetric matrix of any size (eigen.hpp has the one of 3 x 3), by Householder's tridiagonalisation and
/// implicit QL. @param matrix [n, n]
/// @throws Internal (no convergence)
SymmetricEigen symmetric_eigen(std::vector<double> matrix, std::size_t n);

}  // namespace warploom::imaging
