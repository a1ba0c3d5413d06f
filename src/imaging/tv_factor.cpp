#include "imaging/tv_factor.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "warploom/core/threads.hpp"

namespace warploom::imaging {

double factorise(const Grid& grid, float* d) {
  const std::int64_t voxels = grid.voxels(), plane = grid.nx * grid.ny;
  struct Traces {
    double sum = 0, largest = 0, count = 0;
  };
  std::vector<Traces> planes(static_cast<std::size_t>(grid.nz));
  parallel_for(grid.nz, [&](std::int64_t z) {
    Traces& here = planes[static_cast<std::size_t>(z)];
    for (std::int64_t v = z * plane; v < (z + 1) * plane; ++v) {
      const double trace = double{d[v]} + d[3 * voxels + v] + d[5 * voxels + v];
      if (std::isnan(trace)) continue;
      here.sum += trace;
      here.largest = std::max(here.largest, trace);
      ++here.count;
    }
  });
  Traces all;
  for (const Traces& here : planes) {
    all.sum += here.sum;
    all.largest = std::max(all.largest, here.largest);
    all.count += here.count;
  }
  const double nudge = std::max(0.1 * all.sum / (3 * all.count), 1e-12);
  parallel_for(grid.nz, [&](std::int64_t z) {
    for (std::int64_t v = z * plane; v < (z + 1) * plane; ++v) {
      if (std::isnan(d[v])) continue;
      double e[6];
      for (int c = 0; c < 6; ++c) e[c] = d[c * voxels + v];
      const double l11 = std::sqrt(std::max(e[0] + nudge, nudge)), l21 = e[1] / l11, l31 = e[2] / l11;
      const double l22 = std::sqrt(std::max(e[3] + nudge - l21 * l21, nudge)), l32 = (e[4] - l21 * l31) / l22;
      const double l33 = std::sqrt(std::max(e[5] + nudge - l31 * l31 - l32 * l32, nudge));
      const double l[6] = {l11, l21, l31, l22, l32, l33};
      for (int k = 0; k < 6; ++k) d[k * voxels + v] = static_cast<float>(l[k]);
    }
  });
  return all.largest;
}

void multiply_factors(const Grid& grid, float* l) {
  const std::int64_t voxels = grid.voxels(), plane = grid.nx * grid.ny;
  parallel_for(grid.nz, [&](std::int64_t z) {
    for (std::int64_t v = z * plane; v < (z + 1) * plane; ++v) {
      float e[6];
      for (int k = 0; k < 6; ++k) e[k] = l[k * voxels + v];
      const float product[6] = {e[0] * e[0],
                                e[0] * e[1],
                                e[0] * e[2],
                                e[1] * e[1] + e[3] * e[3],
                                e[1] * e[2] + e[3] * e[4],
                                e[2] * e[2] + e[4] * e[4] + e[5] * e[5]};
      for (int k = 0; k < 6; ++k) l[k * voxels + v] = product[k];
    }
  });
}

}  // namespace warploom::imaging
