#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace warploom::imaging {

inline constexpr std::size_t kUnknowns = 7;
/// D times the largest b-value as xx xy xz yy yz zz (no unit), then ln S0.
using Unknowns = std::array<double, kUnknowns>;

/// ln S = row . unknowns, for every measurement.
struct TensorDesign {
  double largest_b = 0;        ///< [ms/um^2]
  std::vector<Unknowns> rows;  ///< [measurements]
  std::vector<Unknowns>
      inverse;  ///< [measurements] columns of the pseudo-inverse: unknowns = sum of column * ln S
};

/// @param b [s/mm^2] @throws BadInput (see fit_tensors)
TensorDesign tensor_design(std::int64_t volumes, std::span<const double> b,
                           std::span<const std::array<double, 3>> directions);

}  // namespace warploom::imaging
