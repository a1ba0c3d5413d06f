#include "imaging/adaptive_pool.hpp"

#include <algorithm>
#include <cmath>
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

bool holds(const Grid& grid, std::int64_t x, std::int64_t y, std::int64_t z) {
  return x >= 0 && y >= 0 && z >= 0 && x < grid.nx && y < grid.ny && z < grid.nz;
}

// Distances of all voxels of the halo to those an offset away.
void distances(const AdaptiveTerms& terms, const Halo& halo, const Offset& offset,
               std::vector<float>& result) {
  const Grid& grid = terms.grid;
  const std::int64_t voxels = grid.voxels(), away = (offset.z * grid.ny + offset.y) * grid.nx + offset.x;
  std::ranges::fill(result, kOutside);
  for (std::int64_t z = halo.begin[2]; z < halo.begin[2] + halo.extent[2]; ++z)
    for (std::int64_t y = halo.begin[1]; y < halo.begin[1] + halo.extent[1]; ++y) {
      if (!holds(grid, 0, y, z) || !holds(grid, 0, y + offset.y, z + offset.z)) continue;
      const std::int64_t first = std::max({halo.begin[0], std::int64_t{0}, -offset.x});
      const std::int64_t last = std::min({halo.begin[0] + halo.extent[0], grid.nx, grid.nx - offset.x});
      const std::int64_t row = (z * grid.ny + y) * grid.nx;
      const float* const guide = terms.guide.data() + row;
      const float* const metric = terms.metric.data() + row;
      float* const to = result.data() + halo.at(first, y, z);
      for (std::int64_t x = first; x < last; ++x) {
        float difference[6];
        for (int i = 0; i < 6; ++i) difference[i] = guide[i * voxels + x] - guide[i * voxels + x + away];
        float sum = 0;
        for (int i = 0; i < 6; ++i) {
          float product = 0;
          for (int j = 0; j <= i; ++j) {
            const std::int64_t element = triangle(i, j) * voxels + x;
            const float mean = metric[element] + metric[element + away];
            product += (j < i ? mean : 0.5F * mean) * difference[j];
          }
          sum += product * difference[i];
        }
        const bool both = terms.fitted[static_cast<std::size_t>(row + x)] != 0 &&
                          terms.fitted[static_cast<std::size_t>(row + x + away)] != 0;
        to[x - first] = both ? sum : kOutside;
      }
    }
}

// Adds w times what `from` holds of a voxel.
void add(const AdaptiveTerms& terms, std::size_t from, float w, AdaptiveSums& sums) {
  const std::size_t voxels = terms.fitted.size();
  for (std::size_t k = 0; k < kTriangle; ++k) sums.information[k] += w * terms.information[k * voxels + from];
  for (std::size_t k = 0; k < 6; ++k) {
    sums.measured[k] += w * terms.measured[k * voxels + from];
    sums.denoised[k] += w * terms.denoised[k * voxels + from];
  }
  sums.weights += w;
}

}  // namespace

std::vector<AdaptiveSums> pool_brick(const AdaptiveTerms& terms, double bandwidth, int radius,
                                     const AdaptiveBrick& brick) {
  const Halo halo(brick);
  const Grid& grid = terms.grid;
  const auto extent = [&](int axis) { return brick.end[axis] - brick.begin[axis]; };
  std::vector<AdaptiveSums> result(static_cast<std::size_t>(extent(0) * extent(1) * extent(2)));
  std::vector<float> pairs(halo.size());
  const std::int64_t step_y = halo.extent[0], step_z = halo.extent[0] * halo.extent[1];
  const std::int64_t faces[6] = {-1, 1, -step_y, step_y, -step_z, step_z};
  const float scale = bandwidth > 0 ? static_cast<float>(1 / bandwidth) : 0;
  const float farthest = -std::log(kLeastWeight);
  const std::int64_t reach = bandwidth > 0 ? radius : 0;
  for (Offset offset{-reach, -reach, -reach}; offset.z <= reach;) {
    distances(terms, halo, offset, pairs);
    std::size_t to = 0;
    for (std::int64_t z = brick.begin[2]; z < brick.end[2]; ++z)
      for (std::int64_t y = brick.begin[1]; y < brick.end[1]; ++y)
        for (std::int64_t x = brick.begin[0]; x < brick.end[0]; ++x, ++to) {
          const float* const pair = pairs.data() + halo.at(x, y, z);
          if (*pair < 0) continue;
          float sum = *pair, count = 1;
          for (const std::int64_t face : faces)
            if (pair[face] >= 0) {
              sum += kFaceWeight * pair[face];
              count += kFaceWeight;
            }
          const float exponent = scale * sum / count;
          if (exponent > farthest) continue;
          add(terms,
              static_cast<std::size_t>(((z + offset.z) * grid.ny + y + offset.y) * grid.nx + x + offset.x),
              std::exp(-exponent), result[to]);
        }
    if (++offset.x > reach) {
      offset.x = -reach;
      if (++offset.y > reach) offset.y = -reach, ++offset.z;
    }
  }
  return result;
}

}  // namespace warploom::imaging
