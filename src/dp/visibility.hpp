#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "warploom/dp/polygon.hpp"

namespace warploom::dp {

/// Whether a closed chain of points is a polygon whose vertices all turn the same way, strictly, once around.
/// Cost: O(n). Exact.
bool strictly_convex(std::span<const Point> polygon);

/// @throws BadInput (two equal vertices, two sides that meet other than in the vertex they share), with
/// numbers Cost: sides sorted, and compared where they overlap in x: at worst O(n^2), on all threads.
void check_simple(std::span<const Point> polygon);

/// The diagonals of a simple polygon from each of its vertices.
class Visibility {
 public:
  /// Cost: O(n + n r) for r vertices that are not convex, at worst O(n^2).
  explicit Visibility(std::span<const Point> polygon);

  /// All vertices j such that (i, j) is a diagonal, in no particular order; none is repeated. Cost:
  /// O(triangles that i sees into). Safe from several threads.
  std::vector<std::int32_t> from(std::int32_t vertex) const;

 private:
  /// Counter-clockwise; across[k] is the triangle beyond the side opposite corner k, -1 where there is none.
  struct Triangle {
    std::array<std::int32_t, 3> corners, across;
  };
  void clip_ears();
  void link();

  std::vector<Point> points_;  // counter-clockwise: mirrored if need be
  std::vector<Triangle> triangles_;
  std::vector<std::int64_t> first_of_;  // a vertex's triangles stand from here in triangles_of_
  std::vector<std::int32_t> triangles_of_;
};

}  // namespace warploom::dp
