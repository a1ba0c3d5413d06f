#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "registration/measure.hpp"

namespace warploom::registration {
namespace {

// A slope of a tenth of the image's deviation by a voxel is noise rather than an edge.
constexpr float kNoise = 0.1F, kFloor = kNoise * kNoise;

// q = a^2 / (b c) of a voxel, a = |g . k| + e, b = g . g + e, c = k . k + e, of the slopes g of the fixed and
// k of the moving image, has the derivatives 2 P (s g - (a / c) k) by k, P = a / (b c), s the sign of g . k,
// and alike by g. Slopes are differences of neighbours, so that a value's derivative is a difference of those
// of its neighbours, the other way round.
class GradientFields : public ImageMeasure {
 public:
  GradientFields(const GridSize& grid, const std::array<double, 3>& spacing, std::int64_t voxels)
      : grid_(grid), voxels_(voxels), by_slope_(static_cast<std::size_t>(6 * grid.voxels())) {
    const std::int64_t counts[3] = {grid.nx, grid.ny, grid.nz};
    double smallest = 0;
    for (std::size_t c = 0; c < 3; ++c)
      if (counts[c] > 1 && (smallest == 0 || spacing[c] < smallest)) smallest = spacing[c];
    for (std::size_t c = 0; c < 3; ++c)
      weight_[c] = counts[c] > 1 ? static_cast<float>(smallest / spacing[c]) : 0.0F;
  }

  double value(const float* fixed, const float* moving, const std::uint8_t* counts) override {
    std::vector<double> sums(static_cast<std::size_t>(Strips(grid_).count()));
    for_strips(grid_, [&](const Strip& strip, std::int64_t k) {
      double sum = 0;
      for (std::int64_t y = strip.y_from; y < strip.y_to; ++y) sum += row(strip.z, y, fixed, moving, counts);
      sums[static_cast<std::size_t>(k)] = sum;
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(voxels_);
  }

  void derivative(const Strip& strip, const Row& row) const override {
    std::vector<float> both(static_cast<std::size_t>(2 * grid_.nx));
    for (std::int64_t y = strip.y_from; y < strip.y_to; ++y) {
      std::fill(both.begin(), both.end(), 0.0F);
      for (std::size_t image = 0; image < 2; ++image) {
        float* out = both.data() + static_cast<std::int64_t>(image) * grid_.nx;
        const float* slopes = by_slope_.data() + static_cast<std::int64_t>(3 * image) * grid_.voxels();
        along_row(slopes + start(strip.z, y), out);
        across_rows(slopes + grid_.voxels() + start(strip.z, y), y, grid_.ny, grid_.nx, out);
        across_rows(slopes + 2 * grid_.voxels() + start(strip.z, y), strip.z, grid_.nz, grid_.nx * grid_.ny,
                    out);
      }
      row(y, both.data(), both.data() + grid_.nx);
    }
  }

 private:
  std::int64_t start(std::int64_t z, std::int64_t y) const { return (z * grid_.ny + y) * grid_.nx; }

  // Where the neighbours are, and what their difference is multiplied by: one-sided at the border.
  struct Difference {
    std::int64_t down, up;
    float share;
    Difference(std::int64_t at, std::int64_t count, std::int64_t stride, float weight)
        : down(at > 0 ? -stride : 0), up(at + 1 < count ? stride : 0) {
      share = down != 0 && up != 0 ? weight / 2 : weight;
    }
  };

  double row(std::int64_t z, std::int64_t y, const float* fixed, const float* moving,
             const std::uint8_t* counts) {
    const Difference of_y(y, grid_.ny, grid_.nx, weight_[1]),
        of_z(z, grid_.nz, grid_.nx * grid_.ny, weight_[2]);
    const std::int64_t first = start(z, y), voxels = grid_.voxels();
    double sum = 0;
    for (std::int64_t x = 0; x < grid_.nx; ++x) {
      const Difference of[3] = {{x, grid_.nx, 1, weight_[0]}, of_y, of_z};
      const float *f = fixed + first + x, *m = moving + first + x;
      float g[3], k[3], along = 0, b = kFloor, c = kFloor;
      for (int i = 0; i < 3; ++i) {
        g[i] = of[i].share * (f[of[i].up] - f[of[i].down]);
        k[i] = of[i].share * (m[of[i].up] - m[of[i].down]);
        along += g[i] * k[i], b += g[i] * g[i], c += k[i] * k[i];
      }
      const float a = std::abs(along) + kFloor, sign = along < 0 ? -1.0F : 1.0F;
      // What the moving image does not cover is flat there, as with lncc.
      const bool counted = counts == nullptr || counts[first + x] != 0;
      const float p = counted ? a / (b * c) : 0.0F;
      sum += double(counted ? a * p : kFloor / b);
      float* out = by_slope_.data() + first + x;
      for (int i = 0; i < 3; ++i) {
        out[i * voxels] = 2 * p * of[i].share * (sign * k[i] - a / b * g[i]);
        out[(3 + i) * voxels] = 2 * p * of[i].share * (sign * g[i] - a / c * k[i]);
      }
    }
    return sum;
  }

  // At the border a slope has the voxel itself in place of the neighbour that is missing.
  void along_row(const float* p, float* out) const {
    const std::int64_t n = grid_.nx;
    for (std::int64_t x = 1; x + 1 < n; ++x) out[x] += p[x - 1] - p[x + 1];
    if (n == 1) return;
    out[0] += -p[0] - p[1];
    out[n - 1] += p[n - 2] + p[n - 1];
  }
  void across_rows(const float* p, std::int64_t at, std::int64_t count, std::int64_t stride,
                   float* out) const {
    if (count == 1) return;
    const float *down = at > 0 ? p - stride : p, *up = at + 1 < count ? p + stride : p;
    const float of_down = at > 0 ? 1.0F : -1.0F, of_up = at + 1 < count ? 1.0F : -1.0F;
    for (std::int64_t x = 0; x < grid_.nx; ++x) out[x] += of_down * down[x] - of_up * up[x];
  }

  GridSize grid_;
  std::int64_t voxels_;
  float weight_[3] = {};
  std::vector<float> by_slope_;  // [image, axis, nz, ny, nx]
};

}  // namespace

std::unique_ptr<ImageMeasure> make_ngf(const GridSize& grid, const std::array<double, 3>& spacing,
                                       std::int64_t voxels) {
  return std::make_unique<GradientFields>(grid, spacing, voxels);
}

}  // namespace warploom::registration
