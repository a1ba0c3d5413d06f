#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "warploom/imaging/image.hpp"
#include "warploom/io/png.hpp"

namespace warploom::imaging {

/// A line in a plane of pixels: x to the right, y downwards, the centre of the first pixel at (0, 0).
struct Contour {
  std::vector<std::array<double, 2>> points = {};  ///< [pixels]; the first is not repeated at the end
  bool closed = false;                             ///< false: it begins and ends at the edge of the image
};

/// Where a level set is 0, by marching squares between pixel centres with linear interpolation; inside (> 0)
/// is on the right as one walks along, with y downwards. Where four pixels are ambiguous, their mean decides
/// whether the two inside are joined. Lines never cross or branch.
///
/// @param level_set  [ny, nx], finite
/// @return           open lines first, each kind in the order of its first point by rows
/// @throws BadInput (size is not nx * ny)
/// @note Work and memory: 17 bytes a pixel. Source: Lorensen & Cline 1987, in two dimensions.
std::vector<Contour> zero_contours(std::span<const float> level_set, std::int64_t nx, std::int64_t ny);

/// The contours of each slice z of a segmentation.
using SliceContours = std::vector<std::vector<Contour>>;
/// Of the first channel. @throws BadInput (data of another length than the shape needs)
SliceContours slice_contours(const Image& level_set);

/// One path for all contours, filled by the even-odd rule if asked to; a pixel is the square from its number
/// to the next, so the picture of the image may lie beneath.
std::string contour_svg(const std::vector<Contour>& contours, const Grid& grid);

/// The image in grey, from its 1st to its 99th percentile, with the contours on it: all of a plane, or of a
/// volume the slices (at most 20, evenly apart) from the first to the last that has a contour. Small planes
/// are enlarged, and pixels drawn as wide and high as they are.
/// Voxels that are not finite are black or white.
/// @param upwards  y runs upwards, as viewers of NIfTI files show it
/// @throws BadInput (data of another length than the shape needs, contours of another number of slices or
///         with points that are not finite, spacings that are not finite or not above 0, or make a plane of
///         more than 2^28 pixels)
io::Picture overlay(const Image& image, const SliceContours& contours, bool upwards);

}  // namespace warploom::imaging
