#include "registration/smooth.hpp"

#include <cmath>
#include <numeric>

namespace warploom::registration {

std::vector<float> gaussian(double sigma) {
  const int radius = std::min(kMostTaps, static_cast<int>(std::ceil(3 * sigma)));
  std::vector<double> taps;
  for (int k = -radius; k <= radius; ++k)
    taps.push_back(sigma > 0 ? std::exp(-0.5 * k * k / (sigma * sigma)) : 1.0);
  const double sum = std::accumulate(taps.begin(), taps.end(), 0.0);
  std::vector<float> out;
  for (const double tap : taps) out.push_back(static_cast<float>(tap / sum));
  return out;
}

Smoothing::Smoothing(const GridSize& grid, double sigma)
    : grid_(grid),
      taps_{gaussian(grid.nx > 1 ? sigma : 0), gaussian(grid.ny > 1 ? sigma : 0),
            gaussian(grid.nz > 1 ? sigma : 0)} {}

void Smoothing::apply(const float* a, const float* b, float scale, int components, float* out) const {
  for_strips(grid_, [&](const Strip& strip, std::int64_t) {
    for (std::int64_t c = 0; c < components; ++c) {
      const std::int64_t at = c * grid_.voxels();
      SmoothStrip s{grid_, strip, a + at, b != nullptr ? b + at : nullptr, scale, {}, {}, out + at};
      for (std::size_t k = 0; k < 3; ++k)
        s.radius[k] = static_cast<int>(taps_[k].size() / 2), s.taps[k] = taps_[k].data();
      smooth_(s);
    }
  });
}

}  // namespace warploom::registration
