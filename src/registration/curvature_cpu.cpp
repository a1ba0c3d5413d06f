#include <algorithm>
#include <array>
#include <cmath>

#include "core/instruction_sets.hpp"
#include "registration/curvature.hpp"
#include "registration/curvature_solve.hpp"
#include "registration/positive_step.hpp"
#include "registration/strips.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::registration {
namespace {

// What a cell is to have left of its volume, as in the greedy method.
constexpr double kLeastVolume = 0.05;

/// Lengths along each axis over the smallest, so that displacements along them compare.
std::array<double, 3> relative_spacing(const Space& space) {
  std::array<double, 3> out = spacing_of(space.to_world);
  for (double& s : out) s /= smallest_spacing(space);
  return out;
}

class Curvature {
 public:
  Curvature(const Level& fixed, const Level& moving, const VoxelMap& map, double alpha)
      : fixed_(fixed),
        moving_(moving),
        map_(map),
        alpha_(alpha),
        grid_(fixed.extents()),
        voxels_(static_cast<std::size_t>(grid_.voxels())),
        spacing_(relative_spacing(fixed.space)),
        solver_(fixed.space.grid, spacing_),
        warped_(voxels_),
        gradient_(3 * voxels_),
        counts_(voxels_) {}

  /// Draws the moving image to x + u, with its gradient. @return the sum that is made small, and in
  /// `differences` the mean of (T - R)^2
  double look(const std::vector<float>& u, double& differences) {
    std::fill(counts_.begin(), counts_.end(), std::uint8_t{1});
    std::vector<double> data(static_cast<std::size_t>(grid_.nz)), bend(data.size()), count(data.size());
    for_strips(grid_, [&](const Strip& strip, std::int64_t) {
      sample_({grid_, strip, moving_.extents(), moving_.data.data(),
               moving_.counts.empty() ? nullptr : moving_.counts.data(), map_, u.data(), 1, warped_.data(),
               gradient_.data(), counts_.data()});
    });
    parallel_for(grid_.nz, [&](std::int64_t z) {
      const auto plane = static_cast<std::size_t>(grid_.nx * grid_.ny),
                 begin = static_cast<std::size_t>(z) * plane;
      for (std::size_t i = begin; i < begin + plane; ++i) {
        if (!fixed_.counts.empty() && fixed_.counts[i] == 0) counts_[i] = 0;
        if (counts_[i] == 0) continue;
        const double d = double(warped_[i]) - double(fixed_.data[i]);
        data[static_cast<std::size_t>(z)] += d * d, ++count[static_cast<std::size_t>(z)];
      }
      bend[static_cast<std::size_t>(z)] = bending(u, z);
    });
    double sum = 0, counted = 0, bent = 0;
    for (std::size_t z = 0; z < data.size(); ++z) sum += data[z], counted += count[z], bent += bend[z];
    differences = sum / std::max(counted, 1.0);
    return differences / 2 + alpha_ / 2 * bent / static_cast<double>(voxels_);
  }

  /// -(T - R) grad T of the last look, along u's axes [relative spacing]. @return the longest
  double force(std::vector<float>& out) const {
    std::vector<float> longest(static_cast<std::size_t>(grid_.nz));
    parallel_for(grid_.nz, [&](std::int64_t z) {
      const auto plane = static_cast<std::size_t>(grid_.nx * grid_.ny),
                 begin = static_cast<std::size_t>(z) * plane;
      for (std::size_t i = begin; i < begin + plane; ++i) {
        const float d = counts_[i] == 0 ? 0.0F : fixed_.data[i] - warped_[i];
        float length = 0;
        for (std::size_t c = 0; c < 3; ++c) {
          float slope = 0;
          for (std::size_t r = 0; r < 3; ++r) slope += gradient_[r * voxels_ + i] * map_[r][c];
          const float f = d * slope / static_cast<float>(spacing_[c]);
          out[c * voxels_ + i] = f, length += f * f;
        }
        longest[static_cast<std::size_t>(z)] = std::max(longest[static_cast<std::size_t>(z)], length);
      }
    });
    return std::sqrt(double(std::ranges::max(longest)));
  }

  /// (I + tau alpha L^2)^-1 (u + tau force), in voxels.
  void step(const std::vector<float>& u, const std::vector<float>& force, double tau,
            std::vector<float>& out) const {
    for (std::size_t c = 0; c < 3; ++c) {
      const auto by = static_cast<float>(tau / spacing_[c]);
      parallel_for(grid_.nz, [&](std::int64_t z) {
        const auto plane = static_cast<std::size_t>(grid_.nx * grid_.ny),
                   begin = c * voxels_ + static_cast<std::size_t>(z) * plane;
        for (std::size_t i = begin; i < begin + plane; ++i) out[i] = u[i] + by * force[i];
      });
      solver_.solve(std::span(out).subspan(c * voxels_, voxels_), tau * alpha_);
    }
  }

 private:
  /// The sum of |L u|^2 over a plane.
  double bending(const std::vector<float>& u, std::int64_t z) const {
    const std::array<std::int64_t, 3> size{grid_.nx, grid_.ny, grid_.nz},
        stride{1, grid_.nx, grid_.nx * grid_.ny};
    double sum = 0;
    for (std::size_t c = 0; c < 3; ++c)
      for (std::int64_t y = 0; y < grid_.ny; ++y)
        for (std::int64_t x = 0; x < grid_.nx; ++x) {
          const float* at = u.data() + c * voxels_ + (z * grid_.ny + y) * grid_.nx + x;
          const std::array<std::int64_t, 3> place{x, y, z};
          double laplacian = 0;
          for (std::size_t a = 0; a < 3; ++a) {
            const double scale = 1 / (spacing_[a] * spacing_[a]);
            if (place[a] > 0) laplacian += scale * double(at[-stride[a]] - at[0]);
            if (place[a] + 1 < size[a]) laplacian += scale * double(at[stride[a]] - at[0]);
          }
          sum += laplacian * laplacian * spacing_[c] * spacing_[c];
        }
    return sum;
  }

  const Level &fixed_, &moving_;
  VoxelMap map_;
  double alpha_;
  GridSize grid_;
  std::size_t voxels_;
  std::array<double, 3> spacing_;
  CurvatureSolver solver_;
  std::vector<float> warped_, gradient_;
  std::vector<std::uint8_t> counts_;
  void (*sample_)(const SampleStrip&) = WARPLOOM_PICK(sample_strip);
};

}  // namespace

void improve_by_curvature_cpu(const Level& fixed, const Level& moving, const VoxelMap& map,
                              const DeformOptions& options, int iterations, std::vector<float>& u,
                              DeformReport& report) {
  Curvature curvature(fixed, moving, map, options.bending);
  Progress progress("deforming", static_cast<std::uint64_t>(iterations), "iterations");
  std::vector<float> force(u.size()), next(u.size());
  // What comes from a coarser level was interpolated, and limit_step() begins with what does not fold.
  if (!options.allow_folds)
    report.smoothed_voxels += smooth_folds(fixed.space.grid, identity_affine(), u, kLeastVolume).limited;
  double differences = 0, value = curvature.look(u, differences);
  // The first step is as long as `step` where the force is strongest; 1e-3 of a standard deviation is none.
  double tau = options.step / std::max(curvature.force(force), 1e-3);
  const double shortest = 1e-4 * tau;
  int done = 0;
  for (; done < iterations && tau > shortest; ++done) {
    curvature.step(u, force, tau, next);
    if (!options.allow_folds)
      report.smoothed_voxels +=
          limit_step(fixed.space.grid, identity_affine(), u, next, kLeastVolume).limited;
    double differences_then = 0;
    const double then = curvature.look(next, differences_then);
    if (then < value) {
      u.swap(next);
      value = then, differences = differences_then;
      curvature.force(force);
      tau *= 1.5;
    } else {
      tau /= 2;
    }
    report.measure.push_back(-differences);
    progress.advance();
  }
  report.iterations.push_back(done);
}

}  // namespace warploom::registration
