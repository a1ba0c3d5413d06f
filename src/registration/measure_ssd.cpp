#include <numeric>
#include <vector>

#include "registration/measure.hpp"

namespace warploom::registration {
namespace {

class SquaredDifferences : public ImageMeasure {
 public:
  SquaredDifferences(const GridSize& grid, std::int64_t voxels) : grid_(grid), voxels_(voxels) {}

  double value(const float* fixed, const float* moving, const std::uint8_t* counts) override {
    fixed_ = fixed, moving_ = moving, counts_ = counts;
    std::vector<double> sums(static_cast<std::size_t>(Strips(grid_).count()));
    for_strips(grid_, [&](const Strip& strip, std::int64_t k) {
      double sum = 0;
      for (std::int64_t y = strip.y_from; y < strip.y_to; ++y)
        for (std::int64_t at = start(strip, y); at < start(strip, y) + grid_.nx; ++at) sum += squared(at);
      sums[static_cast<std::size_t>(k)] = sum;
    });
    return -std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(voxels_);
  }

  void derivative(const Strip& strip, const Row& row) const override {
    std::vector<float> both(static_cast<std::size_t>(2 * grid_.nx));
    float *d_fixed = both.data(), *d_moving = d_fixed + grid_.nx;
    for (std::int64_t y = strip.y_from; y < strip.y_to; ++y) {
      const std::int64_t at = start(strip, y);
      for (std::int64_t x = 0; x < grid_.nx; ++x) {
        d_fixed[x] = counted(at + x) ? 2 * (moving_[at + x] - fixed_[at + x]) : 0.0F;
        d_moving[x] = -d_fixed[x];
      }
      row(y, d_fixed, d_moving);
    }
  }

 private:
  std::int64_t start(const Strip& strip, std::int64_t y) const { return (strip.z * grid_.ny + y) * grid_.nx; }
  bool counted(std::int64_t at) const { return counts_ == nullptr || counts_[at] != 0; }
  // What the moving image does not cover differs by the whole value: leaving the image must not gain.
  double squared(std::int64_t at) const {
    const double d = counted(at) ? double(moving_[at]) - double(fixed_[at]) : 0.0;
    return d * d;
  }

  GridSize grid_;
  std::int64_t voxels_;
  const float *fixed_ = nullptr, *moving_ = nullptr;
  const std::uint8_t* counts_ = nullptr;
};

}  // namespace

std::unique_ptr<ImageMeasure> make_ssd(const GridSize& grid, std::int64_t voxels) {
  return std::make_unique<SquaredDifferences>(grid, voxels);
}

}  // namespace warploom::registration
