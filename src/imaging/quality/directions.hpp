#pragma once

#include <string>

#include "warploom/imaging/quality_page.hpp"
#include "warploom/imaging/slices.hpp"

namespace warploom::imaging {

/// The part of a slice with the largest FA, about 30 voxels wide.
SliceWindow most_anisotropic(const SlicePlane& plane, const QualityPage& page);

/// V1 of `tensors` as a line in every voxel of the window, over its FA; an SVG picture. Lines are as long as
/// the part of V1 in the plane, and coloured by direction; none where FA is below 0.15.
/// @param label  what the picture shows; text
std::string direction_picture(const SlicePlane& plane, const SliceWindow& window, const Image& tensors,
                              const QualityPage& page, const std::string& label);

}  // namespace warploom::imaging
