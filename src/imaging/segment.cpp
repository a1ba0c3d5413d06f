#include "warploom/imaging/segment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/built_with_cuda.hpp"
#include "core/doors.hpp"
#include "imaging/segment_backend.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::imaging {
namespace {

constexpr std::array<std::string_view, 4> kStarts{"checkerboard", "disk", "box", "mask"};
constexpr std::array<std::string_view, 3> kInsides{"bright", "dark", "start"};

void require(bool fine, std::string_view what, double value, std::string_view limit) {
  if (!fine) throw BadInput(fmt::format("{} is {}, it must be {}", what, value, limit));
}

void check(const Image& image, const SegmentOptions& o) {
  const auto not_negative = [](double value) { return value >= 0 && std::isfinite(value); };
  require(not_negative(o.mu), "mu", o.mu, "finite and at least 0");
  require(not_negative(o.lambda_in), "lambda_in", o.lambda_in, "finite and at least 0");
  require(not_negative(o.lambda_out), "lambda_out", o.lambda_out, "finite and at least 0");
  require(o.lambda_in + o.lambda_out > 0, "lambda_in + lambda_out", 0,
          "above 0: else the image does not count");
  require(o.time_step > 0 && std::isfinite(o.time_step), "the time step", o.time_step, "finite and above 0");
  require(not_negative(o.tolerance), "the tolerance", o.tolerance, "finite and at least 0");
  require(o.max_iterations >= 1, "the limit of iterations", o.max_iterations, "at least 1");
  name(o.start), name(o.inside);
  image.check();
  if (image.channels != 1)
    throw BadInput(fmt::format("the image has {} channels; one can be segmented", image.channels));
  require(image.grid.voxels() >= 2, "the number of voxels", 1, "at least 2");
  for (const double h : image.grid.spacing)
    require(h > 0 && std::isfinite(h), "the distance of voxels", h, "finite and above 0");
}

/// Smallest and largest value. @throws BadInput (not finite, constant)
std::pair<float, float> range(const Image& image) {
  const auto bad = std::ranges::count_if(image.data, [](float v) { return !std::isfinite(v); });
  if (bad > 0)
    throw BadInput(fmt::format("{} of {} voxels are NaN or infinite; replace them by a value first", bad,
                               image.data.size()));
  const auto [low, high] = std::ranges::minmax(image.data);
  if (low == high)
    throw BadInput(fmt::format("every voxel of the image is {}: there is nothing to segment", low));
  return {low, high};
}

/// Spacing over the smallest; 0 along an axis with one voxel.
std::array<double, 3> relative_spacing(const Grid& grid) {
  const std::array<std::int64_t, 3> extent{grid.nx, grid.ny, grid.nz};
  std::array<double, 3> out{};
  double smallest = std::numeric_limits<double>::infinity();
  for (std::size_t a = 0; a < 3; ++a)
    if (extent[a] > 1) smallest = std::min(smallest, grid.spacing[a]);
  for (std::size_t a = 0; a < 3; ++a) out[a] = extent[a] > 1 ? grid.spacing[a] / smallest : 0;
  return out;
}

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

void flip(std::vector<float>& level_set) {
  for (float& value : level_set) value = -value;
}

SegmentOutcome evolve(const SegmentProblem& problem, [[maybe_unused]] Device device, float* level_set) {
#if defined(WARPLOOM_HAVE_CUDA)
  if (device.is_gpu()) return evolve_cuda(problem, level_set);
#endif
  return evolve_cpu(problem, level_set);
}

template <class Enumeration, class Words>
Enumeration parse(const Words& words, std::string_view text, std::string_view what) {
  const auto known = std::ranges::find(words, text);
  if (known != words.end()) return static_cast<Enumeration>(known - words.begin());
  throw BadInput(fmt::format("{}: '{}' is none of {} and {}", what, text,
                             fmt::join(words.begin(), words.end() - 1, ", "), words.back()));
}

}  // namespace

Start parse_start(std::string_view text) { return parse<Start>(kStarts, text, "start"); }
std::string_view name(Start start) { return at_enumerator(kStarts, start, "the start"); }
Inside parse_inside(std::string_view text) { return parse<Inside>(kInsides, text, "inside"); }
std::string_view name(Inside inside) { return at_enumerator(kInsides, inside, "`inside`"); }

SegmentOptions usual_options(Start start, const Grid& grid) {
  if (start == Start::checkerboard && grid.nz == 1) return {};
  return {.tolerance = 1e-4, .max_iterations = 2000, .start = start, .start_mask = {}};
}

Segmentation segment(const Image& image, const SegmentOptions& options) try {
  check(image, options);
  const DeviceScope scope(options.run, "a segmentation", kBuiltWithCuda);
  const auto [low, high] = range(image);
  const double scale = double(high) - double(low);
  std::vector<float> scaled(image.data.size());
  for (std::size_t v = 0; v < scaled.size(); ++v)
    scaled[v] = static_cast<float>((double(image.data[v]) - double(low)) / scale);

  Segmentation out;
  out.report.device = scope.device();
  const std::array<double, 3> spacing = relative_spacing(image.grid);
  out.level_set.grid = image.grid;
  out.level_set.data = start_level_set(image.grid, spacing, options);
  std::vector<float>& level_set = out.level_set.data;

  SegmentProblem problem{.grid = image.grid, .constants = {}, .begin = {}, .image = scaled.data()};
  RunConstants& constants = problem.constants;
  for (std::size_t a = 0; a < 3; ++a)
    constants.step.inverse_spacing[a] = static_cast<float>(spacing[a] > 0 ? 1 / spacing[a] : 0);
  constants.step.mu = static_cast<float>(options.mu);
  constants.step.lambda_in = static_cast<float>(options.lambda_in);
  constants.step.lambda_out = static_cast<float>(options.lambda_out);
  constants.step.time_step = static_cast<float>(options.time_step);
  constants.max_iterations = options.max_iterations;
  constants.tolerance = options.tolerance;
  constants.voxels = static_cast<double>(scaled.size());

  // Turned at the start, so that lambda_in weighs the side that was asked for, and once more at the end in
  // case the sides have changed places.
  const auto begin_at = [&](RunState& state) {
    const Content sums = content(scaled, level_set);
    constants.image_sum = sums.image;
    set_means(state, sums.inside, sums.inside_image, constants);
  };
  begin_at(problem.begin);
  if (wrong_side(problem.begin, options.inside)) {
    flip(level_set);
    begin_at(problem.begin);
  }
  SegmentOutcome outcome = evolve(problem, out.report.device, level_set.data());
  if (wrong_side(outcome.end, options.inside)) {
    flip(level_set);
    begin_at(outcome.end);
  }

  out.mask.resize(scaled.size());
  for (std::size_t v = 0; v < scaled.size(); ++v) out.mask[v] = level_set[v] > 0 ? 1 : 0;
  SegmentReport& report = out.report;
  report.iterations = outcome.end.iteration;
  report.converged = outcome.end.converged != 0;
  report.change = outcome.end.change;
  report.inside = static_cast<std::int64_t>(outcome.end.inside);
  const std::int64_t outside = image.grid.voxels() - report.inside;
  report.mean_in = report.inside > 0 ? double(low) + outcome.end.mean_in * scale : 0;
  report.mean_out = outside > 0 ? double(low) + outcome.end.mean_out * scale : 0;
  report.energy = std::move(outcome.energy);
  report.seconds = outcome.seconds;
  report.transfer_seconds = outcome.transfer_seconds;
  report.device_bytes = outcome.device_bytes;
  return out;
} catch (const std::bad_alloc&) {
  throw OutOfMemory(fmt::format("segmenting {} x {} x {} voxels needs {} bytes of memory", image.grid.nx,
                                image.grid.ny, image.grid.nz, 13 * image.grid.voxels()));
}

}  // namespace warploom::imaging
