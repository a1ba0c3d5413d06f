#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/instruction_sets.hpp"
#include "registration/demons.hpp"
#include "registration/positive_step.hpp"
#include "registration/smooth.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::registration {
namespace {

// A velocity is halved until it is this short [voxels] and then squared as often.
constexpr double kShort = 0.25;

// Folds are looked for after so many iterations, as in the greedy method.
constexpr int kIterationsALook = 10;

class Demons {
 public:
  Demons(const Level& fixed, const Level& moving, const VoxelMap& map, const DeformOptions& options)
      : fixed_(fixed),
        moving_(moving),
        map_(map),
        grid_(fixed.extents()),
        voxels_(static_cast<std::size_t>(grid_.voxels())),
        step_(options.step),
        smooth_update_(grid_, options.smooth_update),
        smooth_field_(grid_, options.smooth_field.value()),
        warped_(voxels_),
        velocity_(3 * voxels_),
        scratch_(3 * voxels_),
        counts_(voxels_) {
    const auto spacing = spacing_of(fixed.space.to_world);
    for (std::size_t c = 0; c < 3; ++c)
      to_voxels_[c] = static_cast<float>(smallest_spacing(fixed.space) / spacing[c]);
    squarings_ = std::max(0, static_cast<int>(std::ceil(std::log2(step_ / kShort))));
  }

  /// u becomes u o exp(velocity); returns the mean of squared differences before.
  double iterate(std::vector<float>& u) {
    const double squares = find_velocity(u);
    smooth_update_.apply(velocity_.data(), nullptr, 0, 3, scratch_.data());
    velocity_.swap(scratch_);
    const auto part = static_cast<float>(std::exp2(-squarings_));
    for (float& v : velocity_) v *= part;
    for (int k = 0; k < squarings_; ++k) {
      follow(velocity_, velocity_, scratch_);
      velocity_.swap(scratch_);
    }
    follow(velocity_, u, scratch_);
    smooth_field_.apply(scratch_.data(), nullptr, 0, 3, u.data());
    return squares;
  }

 private:
  static constexpr VoxelMap kSame{{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};

  // With J the mean of both images' slopes and s twice the longest step: velocity = d J / (|J|^2 + d^2 / s^2)
  // of the difference d, of which d J is what force_row() gives.
  double find_velocity(const std::vector<float>& u) {
    if (fixed_.counts.empty())
      std::fill(counts_.begin(), counts_.end(), std::uint8_t{1});
    else
      counts_ = fixed_.counts;
    for_strips(grid_, [&](const Strip& strip, std::int64_t) {
      sample_({grid_, strip, moving_.extents(), moving_.data.data(),
               moving_.counts.empty() ? nullptr : moving_.counts.data(), map_, u.data(), 1, warped_.data(),
               nullptr, counts_.data()});
    });
    std::vector<double> sums(static_cast<std::size_t>(Strips(grid_).count()));
    const auto share = static_cast<float>(1 / (4 * step_ * step_));
    for_strips(grid_, [&](const Strip& strip, std::int64_t k) {
      const auto n = static_cast<std::size_t>(grid_.nx);
      std::vector<float> of_moving(n), of_fixed(n);
      double sum = 0;
      for (std::int64_t y = strip.y_from; y < strip.y_to; ++y) {
        const auto row = static_cast<std::size_t>((strip.z * grid_.ny + y) * grid_.nx);
        for (std::size_t x = 0; x < n; ++x) {
          const float d = counts_[row + x] != 0 ? fixed_.data[row + x] - warped_[row + x] : 0.0F;
          sum += double(d) * double(d);
          of_moving[x] = d / 2, of_fixed[x] = -d / 2;
        }
        force_row_({grid_,
                    y,
                    strip.z,
                    fixed_.data.data(),
                    warped_.data(),
                    of_fixed.data(),
                    of_moving.data(),
                    {to_voxels_[0], to_voxels_[1], to_voxels_[2]},
                    velocity_.data()});
        float *vx = velocity_.data() + row, *vy = vx + voxels_, *vz = vy + voxels_;
        for (std::size_t x = 0; x < n; ++x) {
          const float d2 = 4 * of_moving[x] * of_moving[x];
          const float below = vx[x] * vx[x] + vy[x] * vy[x] + vz[x] * vz[x] + d2 * d2 * share;
          const float scale = below > 0 ? d2 / below : 0.0F;
          vx[x] *= scale * to_voxels_[0], vy[x] *= scale * to_voxels_[1], vz[x] *= scale * to_voxels_[2];
        }
      }
      sums[static_cast<std::size_t>(k)] = sum;
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(voxels_);
  }

  /// id + out = (id + then) o (id + first).
  void follow(const std::vector<float>& first, const std::vector<float>& then,
              std::vector<float>& out) const {
    for_strips(grid_, [&](const Strip& strip, std::int64_t) {
      const auto from = static_cast<std::size_t>((strip.z * grid_.ny + strip.y_from) * grid_.nx),
                 to = static_cast<std::size_t>((strip.z * grid_.ny + strip.y_to) * grid_.nx);
      for (std::size_t at = 0; at < out.size(); at += voxels_) {
        sample_({grid_, strip, grid_, then.data() + at, nullptr, kSame, first.data(), 1, out.data() + at,
                 nullptr, nullptr});
        for (std::size_t i = at + from; i < at + to; ++i) out[i] += first[i];
      }
    });
  }

  const Level &fixed_, &moving_;
  VoxelMap map_;
  GridSize grid_;
  std::size_t voxels_;
  double step_;
  int squarings_ = 0;
  Smoothing smooth_update_, smooth_field_;
  std::vector<float> warped_, velocity_, scratch_;
  std::vector<std::uint8_t> counts_;
  float to_voxels_[3] = {};
  void (*sample_)(const SampleStrip&) = WARPLOOM_PICK(sample_strip);
  void (*force_row_)(const ForceRow&) = WARPLOOM_PICK(force_row);
};

}  // namespace

void improve_by_demons_cpu(const Level& fixed, const Level& moving, const VoxelMap& map,
                           const DeformOptions& options, int iterations, std::vector<float>& u,
                           DeformReport& report) {
  Demons demons(fixed, moving, map, options);
  Progress progress("deforming", static_cast<std::uint64_t>(iterations), "iterations");
  for (int k = 1; k <= iterations; ++k) {
    report.measure.push_back(-demons.iterate(u));
    if (!options.allow_folds && (k % kIterationsALook == 0 || k == iterations))
      report.smoothed_voxels += smooth_folds(fixed.space.grid, identity_affine(), u, kLeastVolume).limited;
    progress.advance();
  }
  report.iterations.push_back(iterations);
}

}  // namespace warploom::registration
