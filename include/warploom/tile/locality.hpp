#pragma once

#include "warploom/tile/dependence.hpp"

namespace warploom::tile {

enum class ReuseKind { self_temporal, self_spatial, group_temporal, group_spatial };
std::string_view name(ReuseKind kind);

/// Reuse of one reference along one loop.
struct Reuse {
  ReuseKind kind = ReuseKind::self_temporal;
  int statement = 0, reference = 0;
  std::string loop = {};
  std::int64_t distance =
      1;  ///< iterations of the loop between the uses; spatial: elements between neighbours
  int other_statement = -1, other_reference = -1;  ///< group reuse: with which
};

/// Every reuse of every reference and loop. Row-major arrays; a line holds `line_bytes`.
/// Source: Wolf and Lam, "A Data Locality Optimizing Algorithm" (PLDI 1991); the lecture, "Reuse and
/// Locality".
/// @throws BadInput (line_bytes outside [1, 2^20])
std::vector<Reuse> reuse(const Nest& nest, int line_bytes = 128);

/// The elements of one array that a tile of iterations touches.
struct Footprint {
  std::string array = {};
  std::string formula = {};   ///< "(TI + 2) * TJ"
  std::int64_t elements = 0;  ///< for the tile sizes asked
  std::int64_t bytes = 0;
  bool exact = false;  ///< the accesses fill one box; else they are at most so many
};
/// Of full tiles: those that bounds cut off touch fewer elements.
/// @param tile  extents of the tile for each loop; loops not named: 1 iteration
/// @throws BadInput (an extent below 1)
std::vector<Footprint> footprint(const Nest& nest, const std::map<std::string, std::int64_t>& tile);

}  // namespace warploom::tile
