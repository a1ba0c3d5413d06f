#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warploom/imaging/contour.hpp"
#include "warploom/imaging/segment.hpp"
#include "warploom/io/png.hpp"

namespace warploom::tool {

/// The contours of each slice z of a segmentation.
using SliceContours = std::vector<std::vector<imaging::Contour>>;
SliceContours slice_contours(const imaging::Image& level_set);

/// One path for all contours, filled by the even-odd rule if asked to; a pixel is the square from its number
/// to the next, so the picture of the image may lie beneath.
std::string contour_svg(const std::vector<imaging::Contour>& contours, const imaging::Grid& grid);

/// Version, size, spacing, and for each slice that has any: z and its contours' points [pixels].
std::string contour_json(const SliceContours& contours, const imaging::Grid& grid);

/// The image in grey, from its 1st to its 99th percentile, with the contours on it: all of a plane, or of a
/// volume the slices (at most 20, evenly apart) from the first to the last that has a contour. Small planes
/// are enlarged, and pixels drawn as wide and high as they are.
/// @param upwards  y runs upwards, as viewers of NIfTI files show it
io::Picture overlay(const imaging::Image& image, const SliceContours& contours, bool upwards);

}  // namespace warploom::tool
