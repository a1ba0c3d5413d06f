#pragma once

#include <string>

#include "warploom/imaging/contour.hpp"

namespace warploom::tool {

/// Size, spacing, and for each slice that has any: z and its contours' points [pixels].
std::string contour_json(const imaging::SliceContours& contours, const imaging::Grid& grid);

}  // namespace warploom::tool
