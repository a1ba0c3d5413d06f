#include <algorithm>
#include <cmath>
#include <utility>

#include "core/instruction_sets.hpp"
#include "registration/affine_objective.hpp"
#include "registration/greedy.hpp"
#include "registration/measure.hpp"
#include "registration/middle.hpp"
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

class Greedy {
 public:
  /// @param space  of h, among the resolutions of the middle's
  Greedy(const Space& space, const Middle& middle, const Level& fixed, const Level& moving,
         const DeformOptions& options)
      : fixed_(fixed),
        moving_(moving),
        to_fixed_(voxel_map(middle.to_fixed, space, fixed.space)),
        to_moving_(voxel_map(middle.to_moving, space, moving.space)),
        grid_{space.grid.nx, space.grid.ny, space.grid.nz},
        voxels_(static_cast<std::size_t>(grid_.voxels())),
        measure_(
            make_measure(options.measure, options.radius, grid_, spacing_of(space.to_world), grid_.voxels())),
        smooth_update_(grid_, options.smooth_update),
        smooth_field_(grid_, options.smooth_field.value()),
        warped_(2 * voxels_),
        force_(3 * voxels_),
        update_(3 * voxels_),
        counts_(voxels_),
        weight_(force_weights(space)) {}

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
      sample_({grid_, strip, fixed_.extents(), fixed_.data.data(), mask_of(fixed_), to_fixed_, h.data(), -1,
               fixed, nullptr, counts_.data()});
      sample_({grid_, strip, moving_.extents(), moving_.data.data(), mask_of(moving_), to_moving_, h.data(),
               1, moving, nullptr, counts_.data()});
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
  VoxelMap to_fixed_, to_moving_;
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

double greedy::resolution(const Space& finest, const DeformOptions& options, std::size_t k) {
  return smallest_spacing(finest) * std::exp2(options.iterations.size() - 1 - k);
}

std::array<float, 3> greedy::force_weights(const Space& space) {
  const auto spacing = spacing_of(space.to_world);
  const double smallest = smallest_spacing(space);
  std::array<float, 3> out{};
  for (std::size_t c = 0; c < 3; ++c)
    out[c] = static_cast<float>(smallest * smallest / (spacing[c] * spacing[c]));
  return out;
}

std::vector<float> deform_greedily_cpu(const Level& fixed, const Level& moving, const Affine& affine,
                                       const DeformOptions& options, DeformReport& report) {
  const Middle middle = middle_of(fixed.space, moving.space, affine);
  std::vector<float> h;
  Space space;
  for (std::size_t k = 0; k < options.iterations.size(); ++k) {
    const double voxel = resolution(middle.space, options, k);
    const Space before = std::exchange(space, coarser(middle.space, voxel));
    if (h.empty())
      h.assign(static_cast<std::size_t>(3 * space.grid.voxels()), 0.0F);
    else
      h = refine(h, before, space);
    const int iterations = options.iterations[k];
    report.iterations.push_back(iterations);
    if (iterations == 0) continue;
    const Level coarse_fixed = coarser(fixed, voxel), coarse_moving = coarser(moving, voxel);
    Greedy greedy(space, middle, coarse_fixed, coarse_moving, options);
    Progress progress("deforming", static_cast<std::uint64_t>(iterations), "iterations");
    for (int i = 1; i <= iterations; ++i) {
      report.measure.push_back(greedy.iterate(h, options.step));
      if (!options.allow_folds && (i % kLookEvery == 0 || i == iterations))
        report.smoothed_voxels += keep_positive(space.grid, h);
      progress.advance();
    }
  }
  return through_the_middle(h, middle, fixed.space);
}

}  // namespace warploom::registration
