#pragma once

#include "tile/sets/polyhedra.hpp"

/// How long values last that do not live outside of the region: where each iteration of some loops writes a
/// variable before it reads it, it has one of its own, and what other iterations do with it does not matter.
namespace warploom::tile {

/// Fills Polyhedra::lifetimes: a prefix of the loops around each statement, of which no value leaves an
/// iteration. It is read from the text: a read sees nothing older than the last assignments before it, in
/// loops around it, that together run whenever it does; and nothing leaves the loop that declares it.
void find_lifetimes(Polyhedra& polyhedra);

/// How many of the outermost loops both statements are in the same iteration of wherever they share the
/// variable's copy; 0 if it has none.
std::size_t shared_lifetime(const Polyhedra& polyhedra, const std::string& variable, int a, int b);

}  // namespace warploom::tile
