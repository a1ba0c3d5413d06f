#include <cmath>
#include <utility>

#include "imaging/segment_work.hpp"

namespace warploom::imaging {
namespace {

bool wrong_side(const RunState& state, Inside inside) {
  return (inside == Inside::bright && state.mean_in < state.mean_out) ||
         (inside == Inside::dark && state.mean_in > state.mean_out);
}

}  // namespace

SegmentReport segment_level_set(SegmentWork& work, const SegmentOptions& options) {
  const Grid& grid = work.grid();
  const ImageScale& scale = work.scale();
  const std::array<double, 3> spacing = relative_spacing(grid);
  work.start(options);

  SegmentProblem problem{.grid = grid, .constants = {}, .begin = {}};
  RunConstants& constants = problem.constants;
  for (std::size_t a = 0; a < 3; ++a)
    constants.step.inverse_spacing[a] = static_cast<float>(spacing[a] > 0 ? 1 / spacing[a] : 0);
  constants.step.mu = static_cast<float>(*options.mu);
  constants.step.lambda_in = static_cast<float>(options.lambda_in);
  constants.step.lambda_out = static_cast<float>(options.lambda_out);
  constants.step.time_step = static_cast<float>(options.time_step);
  constants.max_iterations = *options.max_iterations;
  constants.tolerance = *options.tolerance;
  constants.voxels = static_cast<double>(grid.voxels());
  constants.image_sum = scale.sum;

  const auto begin_at = [&](RunState& state) {
    const Content sums = work.content();
    set_means(state, sums.inside, sums.inside_image, constants);
  };
  begin_at(problem.begin);
  // The weights change places, so that lambda_in weighs the side that was asked for, and not the level set:
  // turned, it would go another way than scikit-image's where it is 0.
  if (wrong_side(problem.begin, options.inside))
    std::swap(constants.step.lambda_in, constants.step.lambda_out);
  SegmentOutcome outcome = work.evolve(problem);
  const bool turned = wrong_side(outcome.end, options.inside);
  work.finish(turned ? -1.0F : 1.0F);
  if (turned) begin_at(outcome.end);

  SegmentReport report;
  report.iterations = outcome.end.iteration;
  report.still = outcome.end.converged != 0;
  report.change = outcome.end.change;
  report.inside = static_cast<std::int64_t>(outcome.end.inside);
  report.mu = *options.mu;
  const std::int64_t outside = grid.voxels() - report.inside;
  report.mean_in = report.inside > 0 ? scale.low + outcome.end.mean_in * scale.scale : 0;
  report.mean_out = outside > 0 ? scale.low + outcome.end.mean_out * scale.scale : 0;
  report.energy = std::move(outcome.energy);
  report.seconds = outcome.seconds;
  report.device_bytes = outcome.device_bytes;
  return report;
}

}  // namespace warploom::imaging
