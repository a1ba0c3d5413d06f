#include <numeric>
#include <vector>

#include "core/instruction_sets.hpp"
#include "registration/measure.hpp"

namespace warploom::registration {
namespace {

// cc = a^2/(b c) of a window, the noise in each of them, has the derivatives 2 P (i - mean_i) - 2 Q (j -
// mean_j) by the value j of the moving image at a voxel of the window, P = a/(b c), Q = a^2/(b c^2), and by i
// the same with R = a^2/(b^2 c). Added up over the windows that hold a voxel: sums over windows once more, of
// P, Q, R, P mean_i - Q mean_j and P mean_j - R mean_i. A window that does not count has the cc of a flat
// moving image: where the fixed one is flat, too, leaving the other image's border costs nothing.
class Lncc : public ImageMeasure {
 public:
  Lncc(int radius, const GridSize& grid, std::int64_t voxels)
      : radius_(radius),
        grid_(grid),
        voxels_(voxels),
        statistics_(static_cast<std::size_t>(5 * grid.voxels())) {}

  double value(const float* fixed, const float* moving, const std::uint8_t* counts) override {
    fixed_ = fixed, moving_ = moving, counts_ = counts;
    std::vector<double> sums(static_cast<std::size_t>(Strips(grid_).count()));
    for_strips(grid_, [&](const Strip& strip, std::int64_t k) {
      sums[static_cast<std::size_t>(k)] = sum_(of(strip));
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(voxels_);
  }

  void derivative(const Strip& strip, const Row& row) const override {
    derivative_({of(strip),
                 [](void* context, std::int64_t y, const float* d_fixed, const float* d_moving) {
                   (*static_cast<const Row*>(context))(y, d_fixed, d_moving);
                 },
                 const_cast<Row*>(&row)});
  }

 private:
  LnccStrip of(const Strip& strip) const {
    return {grid_,  strip,   radius_, kLnccFloor,
            fixed_, moving_, counts_, const_cast<float*>(statistics_.data())};
  }

  double (*sum_)(const LnccStrip&) = WARPLOOM_PICK(lncc_strip);
  void (*derivative_)(const LnccDerivativeStrip&) = WARPLOOM_PICK(lncc_derivative_strip);
  int radius_;
  GridSize grid_;
  std::int64_t voxels_;
  std::vector<float> statistics_;
  const float *fixed_ = nullptr, *moving_ = nullptr;
  const std::uint8_t* counts_ = nullptr;
};

}  // namespace

std::unique_ptr<ImageMeasure> make_lncc(int radius, const GridSize& grid, std::int64_t voxels) {
  return std::make_unique<Lncc>(radius, grid, voxels);
}

}  // namespace warploom::registration
