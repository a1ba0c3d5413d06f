#pragma once

#include "tile/sets/polyhedra.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {

/// Arrays of which the source does not say, nor do the accesses, how many elements they have.
struct UnknownExtents : BadInput {
  struct Extent {
    std::string array;
    std::size_t dimension = 0;
  };
  UnknownExtents(const std::string& message, std::vector<Extent> of)
      : BadInput(message), extents(std::move(of)) {}
  std::vector<Extent> extents;
};

/// The outermost extent of what the source has a pointer to, all of them where it has pointers to rows: what
/// its accesses reach, with a remark. Of accesses that reach differently far it is the most of all. Called
/// when all accesses are known.
/// @throws UnknownExtents (what they reach is no affine function of the sizes)
void infer_extents(Polyhedra& polyhedra);

}  // namespace warploom::tile
