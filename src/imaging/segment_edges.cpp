#include "imaging/segment_edges.hpp"

#include <cmath>
#include <numbers>
#include <vector>

namespace warploom::imaging {
namespace {

using Vector = std::array<double, 3>;

/// Directions that lie evenly: in a plane all round the circle, in space on the golden spiral of a sphere.
std::vector<Vector> even_directions(int axes) {
  constexpr int kDirections = 1 << 15;
  std::vector<Vector> out(kDirections);
  for (int k = 0; k < kDirections; ++k) {
    const double share = (k + 0.5) / kDirections;
    const double z = axes == 3 ? 1 - 2 * share : 0;
    const double angle =
        axes == 3 ? k * std::numbers::pi * (3 - std::sqrt(5.0)) : 2 * std::numbers::pi * share;
    const double r = std::sqrt(1 - z * z);
    out[static_cast<std::size_t>(k)] = {r * std::cos(angle), r * std::sin(angle), z};
  }
  return out;
}

}  // namespace

Edges edges_of(const std::array<double, 3>& spacing) {
  std::array<std::size_t, 3> axis{};  // those with more than one voxel come first
  int axes = 0;
  for (std::size_t a = 0; a < 3; ++a)
    if (spacing[a] > 0) axis[static_cast<std::size_t>(axes++)] = a;

  Edges out;
  std::vector<double> length;
  std::vector<Vector> unit;
  for (int dz = 0; dz <= (spacing[2] > 0 ? 1 : 0); ++dz)
    for (int dy = dz > 0 && spacing[1] > 0 ? -1 : 0; dy <= (spacing[1] > 0 ? 1 : 0); ++dy)
      for (int dx = (dz > 0 || dy > 0) && spacing[0] > 0 ? -1 : 0; dx <= (spacing[0] > 0 ? 1 : 0); ++dx) {
        if (dx == 0 && dy == 0 && dz == 0) continue;
        const Vector step{dx * spacing[0], dy * spacing[1], dz * spacing[2]};
        length.push_back(std::hypot(step[0], step[1], step[2]));
        Vector along{};
        for (int a = 0; a < axes; ++a)
          along[static_cast<std::size_t>(a)] = step[axis[static_cast<std::size_t>(a)]] / length.back();
        unit.push_back(along);
        out.edge[out.count++] = {dx, dy, dz, 0};
      }
  if (axes < 2) {  // a line: its borders are points, which count 1
    for (int e = 0; e < out.count; ++e) out.edge[e].weight = 1;
    return out;
  }
  std::vector<int> nearest(length.size());
  const auto directions = even_directions(axes);
  for (const Vector& direction : directions) {
    std::size_t best = 0;
    double largest = -1;
    for (std::size_t e = 0; e < unit.size(); ++e) {
      const double cosine =
          std::abs(direction[0] * unit[e][0] + direction[1] * unit[e][1] + direction[2] * unit[e][2]);
      if (cosine > largest) largest = cosine, best = e;
    }
    ++nearest[best];
  }
  for (std::size_t e = 0; e < unit.size(); ++e)
    out.edge[e].weight = static_cast<float>(nearest[e] / static_cast<double>(directions.size()) *
                                            (axes == 3 ? 2 : std::numbers::pi / 2) / length[e]);
  return out;
}

}  // namespace warploom::imaging
