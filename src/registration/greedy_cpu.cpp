#include <algorithm>
#include <cmath>

#include "core/instruction_sets.hpp"
#include "registration/greedy.hpp"
#include "registration/measure.hpp"
#include "registration/positive_step.hpp"
#include "registration/smooth.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::registration {
namespace {

using namespace greedy;

// Keeps id + h and id - h from folding: the determinant of id - h is that of -id + h over that of -id. What
// mends one may fold the other, and so in turns.
std::int64_t keep_positive(const imaging::Grid& grid, std::span<float> h) {
  Affine back = identity_affine();
  for (std::size_t c = 0; c < 3; ++c) back[c][c] = -1;
  std::int64_t changed = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    const std::int64_t now = smooth_folds(grid, identity_affine(), h, kLeastVolume).limited +
                             smooth_folds(grid, back, h, kLeastVolume).limited;
    if (now == 0) break;
    changed += now;
  }
  return changed;
}

constexpr VoxelMap kSameVoxel{{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};

class Greedy {
 public:
  Greedy(const Level& fixed, const Level& moving, const VoxelMap& map, const DeformOptions& options)
      : fixed_(fixed),
        moving_(moving),
        map_(map),
        grid_(fixed.extents()),
        voxels_(static_cast<std::size_t>(grid_.voxels())),
        measure_(make_measure(options.measure, options.radius, grid_, spacing_of(fixed.space.to_world),
                              grid_.voxels())),
        smooth_update_(grid_, options.smooth_update),
        smooth_field_(grid_, options.smooth_field),
        warped_(2 * voxels_),
        force_(3 * voxels_),
        update_(3 * voxels_),
        counts_(voxels_),
        weight_(force_weights(fixed.space)) {}

  /// Adds at most `step` to h; returns the measure before.
  double iterate(std::vector<float>& h, double step) {
    const double value = warp(h);
    find_force();
    smooth_update_.apply(force_.data(), nullptr, 0, 3, update_.data());
    const float longest = longest_update();
    const float scale = static_cast<float>(step) / std::max(longest, kShortest);
    smooth_field_.apply(h.data(), update_.data(), scale, 3, force_.data());
    h.swap(force_);
    return value;
  }

 private:
  double warp(const std::vector<float>& h) {
    float *fixed = warped_.data(), *moving = fixed + voxels_;
    std::fill(counts_.begin(), counts_.end(), std::uint8_t{1});
    for_strips(grid_, [&](const Strip& strip, std::int64_t) {
      sample_({grid_, strip, grid_, fixed_.data.data(), mask_of(fixed_), kSameVoxel, h.data(), -1, fixed,
               nullptr, counts_.data()});
      sample_({grid_, strip, moving_.extents(), moving_.data.data(), mask_of(moving_), map_, h.data(), 1,
               moving, nullptr, counts_.data()});
    });
    return measure_->value(fixed, moving, counts_.data());
  }

  static const std::uint8_t* mask_of(const Level& level) {
    return level.counts.empty() ? nullptr : level.counts.data();
  }

  void find_force() {
    const float *fixed = warped_.data(), *moving = fixed + voxels_;
    for_strips(grid_, [&](const Strip& strip, std::int64_t) {
      measure_->derivative(strip, [&](std::int64_t y, const float* d_fixed, const float* d_moving) {
        force_row_({grid_,
                    y,
                    strip.z,
                    fixed,
                    moving,
                    d_fixed,
                    d_moving,
                    {weight_[0], weight_[1], weight_[2]},
                    force_.data()});
      });
    });
  }

  float longest_update() const {
    std::vector<float> longest(static_cast<std::size_t>(grid_.nz));
    const auto plane = static_cast<std::size_t>(grid_.nx * grid_.ny);
    parallel_for(grid_.nz, [&](std::int64_t z) {
      const float* x = update_.data() + static_cast<std::size_t>(z) * plane;
      const float *y = x + voxels_, *w = y + voxels_;
      float most = 0;
      for (std::size_t i = 0; i < plane; ++i) most = std::max(most, x[i] * x[i] + y[i] * y[i] + w[i] * w[i]);
      longest[static_cast<std::size_t>(z)] = most;
    });
    return std::sqrt(*std::max_element(longest.begin(), longest.end()));
  }

  const Level &fixed_, &moving_;
  VoxelMap map_;
  GridSize grid_;
  std::size_t voxels_;
  std::unique_ptr<ImageMeasure> measure_;
  Smoothing smooth_update_, smooth_field_;
  std::vector<float> warped_, force_, update_;
  std::vector<std::uint8_t> counts_;
  std::array<float, 3> weight_;
  void (*sample_)(const SampleStrip&) = WARPLOOM_PICK(sample_strip);
  void (*force_row_)(const ForceRow&) = WARPLOOM_PICK(force_row);
};

}  // namespace

std::array<float, 3> greedy::force_weights(const Space& fixed) {
  const auto spacing = spacing_of(fixed.to_world);
  const double smallest = smallest_spacing(fixed);
  std::array<float, 3> out{};
  for (std::size_t c = 0; c < 3; ++c)
    out[c] = static_cast<float>(smallest * smallest / (spacing[c] * spacing[c]));
  return out;
}

void improve_greedily_cpu(const Level& fixed, const Level& moving, const VoxelMap& map,
                          const DeformOptions& options, int iterations, std::vector<float>& h,
                          DeformReport& report) {
  Greedy greedy(fixed, moving, map, options);
  Progress progress("deforming", static_cast<std::uint64_t>(iterations), "iterations");
  for (int k = 1; k <= iterations; ++k) {
    report.measure.push_back(greedy.iterate(h, options.step));
    if (!options.allow_folds && (k % kLookEvery == 0 || k == iterations))
      report.smoothed_voxels += keep_positive(fixed.space.grid, h);
    progress.advance();
  }
  report.iterations.push_back(iterations);
}

}  // namespace warploom::registration
