#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "warploom/dp/solve.hpp"
#include "warploom/dp/value_type.hpp"

namespace warploom::dp {

struct Point {
  double x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

struct PolygonOptions {
  Options solve = {};
  ValueType type = ValueType::best;  ///< float64 (best) or float32, which the lengths are rounded to first
};

struct Triangulation {
  double weight = 0;     ///< the diagonals' lengths together
  double perimeter = 0;  ///< the sides' lengths together
  /// Vertices i < k < j of each triangle, n - 2: the one on side (0, n-1) first, each before those beyond its
  /// sides (i, k) and (k, j), left before right.
  std::vector<std::array<std::int64_t, 3>> triangles = {};
  std::vector<std::array<std::int64_t, 2>> diagonals = {};  ///< n - 3, the first vertex below the second
  bool convex = false;                                      ///< strictly: every chord is a diagonal
  ValueType type = ValueType::float64;
  Report report = {};

  /// The triangles' perimeters together. Each diagonal borders two triangles and each side one, so a
  /// triangulation is least in this exactly where it is in `weight`.
  double perimeters() const { return perimeter + 2 * weight; }
};

/// The triangulation of a simple polygon, convex or not, whose diagonals are shortest together:
///
///   m[i,i+1] = 0,  m[i,j] = |v_i v_j| + min over i < k < j of m[i,k] + m[k,j],  m[0,n-1] without its length
///
/// where a chord (i, j) that is no diagonal is unreachable. A diagonal is a chord that runs inside and meets
/// the polygon's boundary at its two ends alone: one that runs through a third vertex is none. Which chords
/// are, is decided exactly, whatever the rounding. The weight is within n u of the least, relatively (u =
/// 2^-53, of float32 2^-24); of triangulations that differ by less any may be taken. Ties: the triangle with
/// the least k.
/// @param polygon  n >= 3 vertices in order, either way round, none twice (the first is not repeated at the
///                 end); vertices on the line through their neighbours are allowed. A coordinate is 0 or of
///                 magnitude 1e-100 to 1e100 (float32: so that no sum exceeds its range).
/// @throws BadValue, BadInput (too few, a coordinate NaN or out of range, two equal vertices, two sides that
/// meet, each
///         with the vertices' numbers counted from 0; an integer type), and as solve()
/// @note Cost: that of solve() for n - 1 leaves and a weight a cell, O(n^3) time and n^2 values. Before that
/// O(n)
///       for a convex polygon, else O(n^2): sides are compared by sweeping, and from each vertex the
///       diagonals are found by walking through the triangles, of some triangulation, that it sees.
/// Source: Gilbert, Univ. of Illinois, 1979; Klincsek, Annals of Discrete Math. 9, 1980.
Triangulation triangulate(std::span<const Point> polygon, const PolygonOptions& options = {});

/// A picture of the polygon with its diagonals: x to the right, y up, vertices numbered if there are at
/// most 60.
/// @throws BadInput (too few vertices, a coordinate out of range, a diagonal between vertices that are not
/// there)
std::string triangulation_svg(std::span<const Point> polygon, const Triangulation& triangulation);

}  // namespace warploom::dp
