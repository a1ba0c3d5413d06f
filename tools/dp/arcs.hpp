#pragma once

#include <string>

#include "warploom/dp/base_pairs.hpp"

namespace warploom::tool {

/// A picture (SVG) of a structure: its bases along a line, 5' on the left, an arc over the line for each pair
/// in the colour of its kind, with a legend that counts each kind. Letters are shown if there are at most
/// 100.
std::string arcs_svg(const dp::BasePairs& structure);

}  // namespace warploom::tool
