#include "imaging/tgv.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::imaging {
namespace {

/// A look costs a fifth of an iteration or so.
constexpr int kIterationsALook = 8;

/// The primal step over the dual one, in units of the noisy image's mean slope. By experiment
/// (docs/design/0004-imaging.md).
constexpr double kBalance = 0.03;

/// Weight of the newest q in the mean that the dual objective is taken at. |s| of q itself exceeds 1 here and
/// there for long, in turns; with the mean of several looks 1e-4 takes a third to two thirds of the
/// iterations on phantoms of flat regions. A longer mean lags behind where there is more to see (the same
/// page).
constexpr float kNewest = 1 / 6.0F;

/// Of a sum of slopes, over the sum of what they are slopes of: a few times float's own. Without it a field
/// that is affine, and whose objective is therefore nothing but rounding, would never be done.
constexpr double kRounding = 5e-7;

double smallest_spacing(const TvProblem& problem) {
  double smallest = std::numeric_limits<double>::infinity();
  for (const double inverse : problem.constants.inverse_spacing)
    if (inverse > 0) smallest = std::min(smallest, 1 / inverse);
  return std::isinf(smallest) ? 1 : smallest;
}

/// Sums over voxels of the noisy image, in units of the smallest spacing: about, from every so manieth voxel.
struct Scale {
  double slope = 0;  ///< |grad noisy|
  double size = 0;   ///< |noisy|
};

Scale scale_of(const TvProblem& problem) {
  const TgvShape shape = tgv_shape(problem);
  const std::int64_t steps[3] = {shape.right, shape.below, shape.above};
  constexpr std::int64_t kEnough = 1 << 17;
  const std::int64_t every = std::max<std::int64_t>(1, shape.voxels / kEnough) | 1;
  std::vector<Scale> parts(static_cast<std::size_t>((shape.voxels + kPiece - 1) / kPiece));
  for_pieces(problem.grid, [&](std::size_t begin, std::size_t end) {
    Scale sum;
    const auto first = (static_cast<std::int64_t>(begin) + every - 1) / every * every;
    for (std::int64_t v = first; v < static_cast<std::int64_t>(end); v += every) {
      bool exists[3];
      for (int axis = 0; axis < 3; ++axis) exists[axis] = tgv_exists(problem.noisy, shape, v, axis);
      float slope = 0, size = 0;
      for (int c = 0; c < shape.channels; ++c) {
        const float* const at = problem.noisy + c * shape.voxels + v;
        const auto square = [&](float value) { return tgv_weight(shape, c) * value * value; };
        size += square(tgv_counted(at[0]));
        for (int axis = 0; axis < 3; ++axis)
          if (exists[axis]) slope += square(shape.h[axis] * (at[steps[axis]] - at[0]));
      }
      sum.slope += std::sqrt(static_cast<double>(slope));
      sum.size += std::sqrt(static_cast<double>(size));
    }
    parts[begin / kPiece] = sum;
  });
  Scale sum;
  for (const Scale& part : parts) {
    sum.slope += part.slope * static_cast<double>(every);
    sum.size += part.size * static_cast<double>(every);
  }
  return sum;
}

}  // namespace

TgvShape tgv_shape(const TvProblem& problem) {
  const Grid& grid = problem.grid;
  if (std::max({grid.nx, grid.ny, grid.nz}) > std::numeric_limits<int>::max())
    throw BadInput("an image of " + std::to_string(grid.nx) + " x " + std::to_string(grid.ny) + " x " +
                   std::to_string(grid.nz) + " voxels has more than 2^31 - 1 along an axis");
  TgvShape s;
  s.voxels = grid.voxels();
  s.nx = static_cast<int>(grid.nx), s.ny = static_cast<int>(grid.ny), s.nz = static_cast<int>(grid.nz);
  s.right = grid.nx > 1 ? 1 : 0;
  s.below = grid.ny > 1 ? grid.nx : 0;
  s.above = grid.nz > 1 ? grid.nx * grid.ny : 0;
  s.channels = problem.constants.channels;
  s.tensor = problem.tensor;
  const auto whole_lines = [](std::int64_t floats) { return (floats + 15) / 16 * 16; };
  s.padding = whole_lines(s.right + s.below + s.above);
  s.stride = whole_lines(s.voxels + s.padding);
  const double spacing = smallest_spacing(problem);
  for (int axis = 0; axis < 3; ++axis)
    s.h[axis] = static_cast<float>(spacing * problem.constants.inverse_spacing[axis]);
  return s;
}

TvOutcome minimise_tgv(const TvProblem& problem, TgvBackend& backend) {
  const TvConstants& k = problem.constants;
  const auto start = std::chrono::steady_clock::now();
  const double spacing = smallest_spacing(problem);
  // |K (u, w)|^2 <= (l |u| + |w|)^2 + l^2 |w|^2, for |grad u| <= l |u| and |sym_grad w| <= l |w|.
  const double bound = k.gradient_bound * spacing * spacing;
  const double norm = std::sqrt(bound + 0.5 + std::sqrt(bound + 0.25));
  const Scale scale = scale_of(problem);
  const double balance = scale.slope > 0 ? kBalance * scale.slope / k.voxels : 1;
  const double rounding = kRounding * scale.size;
  const double lambda = k.lambda * spacing;
  const TgvSteps steps{static_cast<float>(balance / norm), static_cast<float>(1 / (balance * norm)),
                       static_cast<float>(lambda), static_cast<float>(problem.tgv_ratio)};

  TvOutcome outcome;
  Progress shown("denoising", 0, "iterations");
  double at_zero = 0, best = 0;  // the dual objective: of q = 0, and the largest so far
  for (int iteration = 0, looks = 1;; ++looks) {
    const TgvSums sums = backend.measure(steps, std::max(kNewest, 1 / static_cast<float>(looks)));
    if (iteration == 0) at_zero = best = sums.dual;
    // The mean is feasible but for |s| <= 1, and so is it times `share`; the dual objective is concave.
    const double share = sums.largest > 1 ? 1 / std::sqrt(sums.largest) : 1;
    best = std::max(best, share * sums.dual + (1 - share) * at_zero);
    const double objective = sums.slope + problem.tgv_ratio * sums.strain + lambda / 2 * sums.fidelity;
    outcome.objective = objective / spacing;
    outcome.gap = objective > 0 ? std::max(0.0, objective - best - rounding) / objective : 0;
    outcome.converged = outcome.gap <= k.tolerance;
    outcome.history.push_back({iteration, outcome.objective, outcome.gap});
    if (outcome.converged || iteration >= k.max_iterations) break;
    const int count = std::min(kIterationsALook, k.max_iterations - iteration);
    backend.iterate(steps, count);
    iteration += count;
    shown.advance(static_cast<std::uint64_t>(count));
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

}  // namespace warploom::imaging
