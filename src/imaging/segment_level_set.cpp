#include <algorithm>
#include <cmath>
#include <utility>

#include "imaging/segment_backend.hpp"
#include "imaging/segment_convex.hpp"

namespace warploom::imaging {
namespace {

/// Image values over all voxels, and over those where the level set is positive.
struct Content {
  double image = 0, inside = 0, inside_image = 0;
};

Content content(const std::vector<float>& image, const std::vector<float>& level_set) {
  Content sum;
  for (std::size_t v = 0; v < image.size(); ++v) {
    sum.image += double(image[v]);
    if (level_set[v] > 0) sum.inside += 1, sum.inside_image += double(image[v]);
  }
  return sum;
}

bool wrong_side(const RunState& state, Inside inside) {
  return (inside == Inside::bright && state.mean_in < state.mean_out) ||
         (inside == Inside::dark && state.mean_in > state.mean_out);
}

SegmentOutcome evolve(const SegmentProblem& problem, [[maybe_unused]] Device device, float* level_set) {
#if defined(WARPLOOM_HAVE_CUDA)
  if (device.is_gpu()) return evolve_cuda(problem, level_set);
#endif
  return evolve_cpu(problem, level_set);
}

}  // namespace

Segmentation segment_level_set(const ImageView& image, const ScaledImage& scaled,
                               const SegmentOptions& options, Device device) {
  const std::vector<float>& u = scaled.data;
  Segmentation out;
  const std::array<double, 3> spacing = relative_spacing(image.grid);
  out.level_set.grid = image.grid;
  out.level_set.data = start_level_set(image.grid, spacing, options);
  std::vector<float>& level_set = out.level_set.data;

  SegmentProblem problem{.grid = image.grid, .constants = {}, .begin = {}, .image = u.data()};
  RunConstants& constants = problem.constants;
  for (std::size_t a = 0; a < 3; ++a)
    constants.step.inverse_spacing[a] = static_cast<float>(spacing[a] > 0 ? 1 / spacing[a] : 0);
  constants.step.mu = static_cast<float>(*options.mu);
  constants.step.lambda_in = static_cast<float>(options.lambda_in);
  constants.step.lambda_out = static_cast<float>(options.lambda_out);
  constants.step.time_step = static_cast<float>(options.time_step);
  constants.max_iterations = *options.max_iterations;
  constants.tolerance = *options.tolerance;
  constants.voxels = static_cast<double>(u.size());

  const auto begin_at = [&](RunState& state) {
    const Content sums = content(u, level_set);
    constants.image_sum = sums.image;
    set_means(state, sums.inside, sums.inside_image, constants);
  };
  begin_at(problem.begin);
  // The weights change places, so that lambda_in weighs the side that was asked for, and not the level set:
  // turned, it would go another way than scikit-image's where it is 0.
  if (wrong_side(problem.begin, options.inside))
    std::swap(constants.step.lambda_in, constants.step.lambda_out);
  SegmentOutcome outcome = evolve(problem, device, level_set.data());
  if (wrong_side(outcome.end, options.inside)) {
    for (float& value : level_set) value = -value;
    begin_at(outcome.end);
  }

  out.mask.resize(u.size());
  for (std::size_t v = 0; v < u.size(); ++v) out.mask[v] = level_set[v] > 0 ? 1 : 0;
  SegmentReport& report = out.report;
  report.iterations = outcome.end.iteration;
  report.still = outcome.end.converged != 0;
  report.change = outcome.end.change;
  report.inside = static_cast<std::int64_t>(outcome.end.inside);
  report.mu = *options.mu;
  const std::int64_t outside = image.grid.voxels() - report.inside;
  report.mean_in = report.inside > 0 ? scaled.low + outcome.end.mean_in * scaled.scale : 0;
  report.mean_out = outside > 0 ? scaled.low + outcome.end.mean_out * scaled.scale : 0;
  report.energy = std::move(outcome.energy);
  report.seconds = outcome.seconds;
  report.transfer_seconds = outcome.transfer_seconds;
  report.device_bytes = outcome.device_bytes;
  return out;
}

}  // namespace warploom::imaging
