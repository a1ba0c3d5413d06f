#pragma once

/// Interpolation by cubic B-splines, mirrored at the outermost voxels' centres (Unser, IEEE SPM 16(6), 1999).

#include <array>
#include <cstdint>
#include <span>

#include "registration/trilinear.hpp"
#include "warploom/imaging/image.hpp"

namespace warploom::registration {

/// The values of one channel become coefficients, in place. All threads.
void to_coefficients(std::span<float> values, const imaging::Grid& grid);

/// The spline's value at an index within the faces of the outermost voxels.
double spline_value(const float* coefficients, const Extents& extents, const Point& index);

}  // namespace warploom::registration
