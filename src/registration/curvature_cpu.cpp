#include <cmath>

#include "registration/curvature.hpp"
#include "registration/curvature_objective.hpp"
#include "registration/positive_step.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::registration {
namespace {

// Gauss and Newton's steps end where one lowers the sum by less than this share of it, or where this many
// halvings of one do not lower it.
constexpr double kLeastGain = 1e-4;
constexpr int kHalvings = 6;

class Descent {
 public:
  Descent(const Level& fixed, const Level& moving, const VoxelMap& map, const DeformOptions& options,
          std::vector<float>& u, DeformReport& report)
      : grid_(fixed.space.grid),
        options_(options),
        u_(u),
        report_(report),
        objective_(fixed, moving, map, options.bending),
        force_(u.size()),
        next_(u.size()) {
    // What comes from a coarser level was interpolated, and limit_step() begins with what does not fold.
    if (!options_.allow_folds)
      report_.smoothed_voxels += smooth_folds(grid_, identity_affine(), u_, kLeastVolume).limited;
    value_ = objective_.look(u_);
    longest_ = objective_.force(force_);
  }

  int semi_implicit(int iterations, Progress& progress) {
    // The first step is as long as `step` where the force is strongest; 1e-3 of a standard deviation is none.
    double tau = options_.step / std::max(longest_, 1e-3);
    const double shortest = 1e-4 * tau;
    int done = 0;
    for (; done < iterations && tau > shortest; ++done) {
      objective_.semi_implicit(u_, force_, tau, next_);
      tau *= take_if_better() ? 1.5 : 0.5;
      report_.measure.push_back(-value_.differences);
      progress.advance();
    }
    return done;
  }

  int gauss_newton(int iterations, Progress& progress) {
    std::vector<float> step(u_.size());
    int done = 0;
    for (bool gains = true; done < iterations && gains; ++done) {
      const double before = value_.sum;
      objective_.gauss_newton(u_, force_, step);
      float part = 1;
      bool taken = false;
      for (int k = 0; k < kHalvings && !taken; ++k, part /= 2) {
        for (std::size_t i = 0; i < u_.size(); ++i) next_[i] = u_[i] + part * step[i];
        taken = take_if_better();
      }
      gains = taken && before - value_.sum > kLeastGain * before;
      report_.measure.push_back(-value_.differences);
      progress.advance();
    }
    return done;
  }

 private:
  /// u becomes `next`, kept from folding, if its sum is lower.
  bool take_if_better() {
    if (!options_.allow_folds)
      report_.smoothed_voxels += limit_step(grid_, identity_affine(), u_, next_, kLeastVolume).limited;
    const CurvatureObjective::Value then = objective_.look(next_);
    if (!(then.sum < value_.sum)) return false;
    u_.swap(next_);
    value_ = then;
    objective_.force(force_);
    return true;
  }

  const imaging::Grid& grid_;
  const DeformOptions& options_;
  std::vector<float>& u_;
  DeformReport& report_;
  CurvatureObjective objective_;
  CurvatureObjective::Value value_;
  double longest_ = 0;
  std::vector<float> force_, next_;
};

}  // namespace

void improve_by_curvature_cpu(const Level& fixed, const Level& moving, const VoxelMap& map,
                              const DeformOptions& options, int iterations, std::vector<float>& u,
                              DeformReport& report) {
  Progress progress("deforming", static_cast<std::uint64_t>(iterations), "iterations");
  Descent descent(fixed, moving, map, options, u, report);
  report.iterations.push_back(options.semi_implicit ? descent.semi_implicit(iterations, progress)
                                                    : descent.gauss_newton(iterations, progress));
}

}  // namespace warploom::registration
