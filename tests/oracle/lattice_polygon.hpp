#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "warploom/dp/polygon.hpp"

/// Polygons on the integer grid, where everything is decided in integers, one chord against one side at a
/// time.
namespace warploom::oracle {

struct LatticePoint {
  std::int64_t x = 0, y = 0;
  friend auto operator<=>(const LatticePoint&, const LatticePoint&) = default;
};
using LatticePolygon = std::vector<LatticePoint>;

std::vector<dp::Point> points_of(const LatticePolygon& polygon);

/// Vertices distinct, no two sides with a point in common but the vertex they share.
bool is_simple(const LatticePolygon& polygon);
/// Twice the area, positive where the polygon runs counter-clockwise.
std::int64_t doubled_area(std::span<const LatticePoint> polygon);
/// Whether chord (i, j) of a simple polygon runs inside and meets no vertex and no side but its ends.
bool is_diagonal(const LatticePolygon& polygon, std::int64_t i, std::int64_t j);
/// The least sum of lengths over all sets of n - 3 diagonals of which no two cross, tried one by one.
double least_weight(const LatticePolygon& polygon);

/// A simple polygon of `vertices` random points of a grid of `extent` x `extent`: a random order, in which
/// two sides that cross are swapped until none do. Few points of a small grid lie in general position.
LatticePolygon random_polygon(int vertices, std::int64_t extent, std::uint64_t seed);
/// Convex: random points' hull, without vertices of 180 degrees.
LatticePolygon random_convex_polygon(int points, std::int64_t extent, std::uint64_t seed);

}  // namespace warploom::oracle
