#include "imaging/adaptive_pool.hpp"

#include <algorithm>
#include <cstddef>

namespace warploom::imaging {
namespace {

constexpr float kOutside = -1;  // a distance that there is not

// The box of a brick with one voxel more on every side, where the distances of pairs stand.
struct Halo {
  std::int64_t begin[3], extent[3];
  explicit Halo(const AdaptiveBrick& brick) {
    for (int axis = 0; axis < 3; ++axis) {
      begin[axis] = brick.begin[axis] - 1;
      extent[axis] = brick.end[axis] - brick.begin[axis] + 2;
    }
  }
  std::size_t size() const { return static_cast<std::size_t>(extent[0] * extent[1] * extent[2]); }
  std::size_t at(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return static_cast<std::size_t>(((z - begin[2]) * extent[1] + y - begin[1]) * extent[0] + x - begin[0]);
  }
};

struct Offset {
  std::int64_t x, y, z;
};

bool holds(const AdaptiveView& grid, std::int64_t x, std::int64_t y, std::int64_t z) {
  return x >= 0 && y >= 0 && z >= 0 && x < grid.nx && y < grid.ny && z < grid.nz;
}

// Distances of all voxels of the halo to those an offset away.
void distances(const AdaptiveView& terms, const Halo& halo, const Offset& offset,
               std::vector<float>& result) {
  const std::int64_t voxels = terms.voxels(), away = (offset.z * terms.ny + offset.y) * terms.nx + offset.x;
  std::ranges::fill(result, kOutside);
  for (std::int64_t z = halo.begin[2]; z < halo.begin[2] + halo.extent[2]; ++z)
    for (std::int64_t y = halo.begin[1]; y < halo.begin[1] + halo.extent[1]; ++y) {
      if (!holds(terms, 0, y, z) || !holds(terms, 0, y + offset.y, z + offset.z)) continue;
      const std::int64_t first = std::max({halo.begin[0], std::int64_t{0}, -offset.x});
      const std::int64_t last = std::min({halo.begin[0] + halo.extent[0], terms.nx, terms.nx - offset.x});
      const std::int64_t row = (z * terms.ny + y) * terms.nx;
      const std::uint8_t* const fitted = terms.fitted + row;
      float* const to = result.data() + halo.at(first, y, z);
      for (std::int64_t x = first; x < last; ++x) {
        const float distance = pair_distance(terms.guide + row, terms.metric + row, voxels, x, away);
        to[x - first] = fitted[x] != 0 && fitted[x + away] != 0 ? distance : kOutside;
      }
    }
}

}  // namespace

std::vector<std::vector<AdaptiveSums>> pool_brick(const AdaptiveView& terms,
                                                  std::span<const double> bandwidths, int radius,
                                                  const AdaptiveBrick& brick) {
  const Halo halo(brick);
  const auto extent = [&](int axis) { return brick.end[axis] - brick.begin[axis]; };
  const auto voxels = static_cast<std::size_t>(extent(0) * extent(1) * extent(2));
  std::vector<std::vector<AdaptiveSums>> result(bandwidths.size(), std::vector<AdaptiveSums>(voxels));
  std::vector<float> pairs(halo.size());
  const std::int64_t step_y = halo.extent[0], step_z = halo.extent[0] * halo.extent[1];
  const std::int64_t faces[6] = {-1, 1, -step_y, step_y, -step_z, step_z};
  const std::int64_t reach = bandwidths.front() > 0 ? radius : 0;
  std::vector<float> scales;
  for (const double bandwidth : bandwidths)
    scales.push_back(bandwidth > 0 ? static_cast<float>(1 / bandwidth) : 0);
  for (Offset offset{-reach, -reach, -reach}; offset.z <= reach;) {
    distances(terms, halo, offset, pairs);
    std::size_t to = 0;
    for (std::int64_t z = brick.begin[2]; z < brick.end[2]; ++z)
      for (std::int64_t y = brick.begin[1]; y < brick.end[1]; ++y)
        for (std::int64_t x = brick.begin[0]; x < brick.end[0]; ++x, ++to) {
          const float* const pair = pairs.data() + halo.at(x, y, z);
          if (*pair < 0) continue;
          PairDistances distances(*pair);
          for (const std::int64_t face : faces)
            if (pair[face] >= 0) distances.add_face(pair[face]);
          const std::int64_t from = ((z + offset.z) * terms.ny + y + offset.y) * terms.nx + x + offset.x;
          for (std::size_t k = 0; k < scales.size(); ++k)
            if (const float weight = distances.weight(scales[k]); weight > 0)
              result[k][to].add(terms, from, weight);
        }
    if (++offset.x > reach) {
      offset.x = -reach;
      if (++offset.y > reach) offset.y = -reach, ++offset.z;
    }
  }
  return result;
}

}  // namespace warploom::imaging
