#pragma once

#include "tile/sets/polyhedra.hpp"
#include "warploom/tile/parallelise.hpp"

/// Variables of which iterations have their own, in a tree that a schedule became.
namespace warploom::tile {

/// Node::locals: the outermost parallel loops around what names such a variable declare it, for no value of
/// it leaves an iteration of theirs; or loops further inside whose bodies write it before they read it.
/// @param code  of a schedule that Schedule::verdict() found legal
void declare_locals(const Polyhedra& polyhedra, Node& code);

/// The same for kernels: of which parallel loops of the tree each iteration has a copy.
std::vector<Privatised> privatised_in(const Nest& nest, const Node& code);

}  // namespace warploom::tile
