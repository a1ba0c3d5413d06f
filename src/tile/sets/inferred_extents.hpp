#pragma once

#include "tile/sets/polyhedra.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {

/// Arrays of which the source does not say, nor do the accesses, how many elements they have.
struct UnknownExtents : BadInput {
  UnknownExtents(const std::string& message, std::vector<std::string> of)
      : BadInput(message), arrays(std::move(of)) {}
  std::vector<std::string> arrays;
};

/// The outermost extent of what the source has a pointer to: what its accesses reach, with a remark. Of
/// accesses that reach differently far it is the most of all. Called when all accesses are known.
/// @throws UnknownExtents (what they reach is no affine function of the sizes)
void infer_extents(Polyhedra& polyhedra);

}  // namespace warploom::tile
