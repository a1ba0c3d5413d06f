#pragma once

#include <string>
#include <string_view>

#include "warploom/fold/ensemble.hpp"

namespace warploom::fold {

/// A picture (SVG) of an ensemble: above the diagonal a square for each pair (i, j), in column j and row i,
/// whose area is its probability; below it the pairs of a structure, in full.
/// @param sequence   a letter a base
/// @param structure  dot-bracket
/// @throws BadInput as partners() and pairing_letters(), also: lengths that differ, an empty sequence, one
/// with characters that are no letters
std::string dot_plot_svg(std::string_view sequence, std::string_view structure, const Ensemble& ensemble);

}  // namespace warploom::fold
