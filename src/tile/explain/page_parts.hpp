#pragma once

#include "tile/explain/rows.hpp"

/// Parts of the page; each is HTML. Hovering a row marks what it speaks of: rows and drawings of reference
/// row R of a nest carry data-r="R", those of dependence row D data-d="D".
namespace warploom::tile {

/// The colour of an array, as a CSS hue.
int hue_of(const Nest& nest, const std::string& array);

/// The lines of the nest with its references marked.
/// @param text  the whole file; empty: the nest is written anew, without numbers
std::string source_section(const Nest& nest, const std::vector<ReferenceRow>& rows, std::string_view text);

/// Iteration spaces of chains of two loops and more, with dependences and orders of traversal.
std::string space_sections(const Nest& nest, const Explanation& explanation);

/// What is done on the GPU: kernels, placements, costs.
std::string kernel_sections(const PagePart& part);

}  // namespace warploom::tile
