#pragma once

/// The edges that total variation and the length of a contour are measured on, for CPU and GPU alike.

#include <array>
#include <cstdint>

namespace warploom::imaging {

/// From a voxel to one of its neighbours, and the weight of a unit difference along it.
struct Edge {
  int dx, dy, dz;
  float weight;
};

inline constexpr int kMostEdges = 13;  // half of the 26 neighbours in space

struct Edges {
  int count = 0;
  Edge edge[kMostEdges] = {};
};

/// Half of the neighbours of a voxel, 1, 4 or 13 by the axes with more than one voxel, each after the voxel
/// in memory. The weights make the sum of weight |difference| the length of a contour (or the area of a
/// surface, over the volume of a voxel), by Cauchy-Crofton's formula: share of the directions nearest to the
/// edge, times 2 in space or pi/2 in a plane, over the edge's length.
/// @param spacing  in units of the smallest; 0 along an axis with one voxel
Edges edges_of(const std::array<double, 3>& spacing);

}  // namespace warploom::imaging
