#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warploom::fold {

struct Place {
  double x = 0, y = 0;  ///< y downwards
};

/// Where each base of a structure is drawn: every loop is a regular polygon whose sides, bonds of the
/// backbone and pairs, have length 1, so that stems are straight ladders. The loop outside of all pairs has
/// its open side on top, but where there is a single stem, this hangs down. From 5' to 3' it goes
/// counterclockwise. Branches of large structures may cover each other.
/// @param structure  dot-bracket
/// @throws as partners()
/// Source: Bruccoleri & Heinrich, CABIOS 4:167 (1988), call this the simple radial drawing.
std::vector<Place> radial_layout(std::string_view structure);

/// A picture (SVG) of a structure by radial_layout(): pairs in the colours of arcs_svg(), bases in those of
/// their loops, or of their reactivities where these are given; letters and numbers as far as there is room.
/// @param sequence      a letter for each of the structure's
/// @param reactivities  none, or one a base: white for 0 to red for 1 and more, grey where it is negative
/// @throws BadInput as partners(), also: lengths that differ, an empty structure, a reactivity that is no
/// number,
///         a sequence with characters that are no letters
std::string radial_svg(std::string_view sequence, std::string_view structure,
                       std::span<const double> reactivities = {});

}  // namespace warploom::fold
