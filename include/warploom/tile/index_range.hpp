#pragma once

#include "warploom/tile/nest.hpp"

/// Whether the integers that emitted text counts with can hold what the sizes allow.
namespace warploom::tile {

enum class Emitted {
  c,     ///< counts with int; with long where the source declares a size wider than int, or has such a number
  cuda,  ///< kernels count with int; elements are numbered with 64 bits
};

/// Whether the C of a region counts with long.
bool counts_with_long(const Region& region);

/// Looks at sizes, extents, loops, conditions and subscripts of a tree, each with the interval of its values:
/// what `Nest::sizes` leaves open is not judged, but a size declared wider than int has to be bounded for
/// CUDA.
/// @param code  what is to be emitted: a schedule's code
/// @throws BadInput: where, what, which value, which limit, what to do
void check_index_range(const Nest& nest, const Node& code, Emitted as);

}  // namespace warploom::tile
