#include "warploom/imaging/denoise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "core/built_with_cuda.hpp"
#include "core/doors.hpp"
#include "core/several_devices.hpp"
#include "imaging/lambda.hpp"
#include "imaging/tv_room.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/view.hpp"
#include "warploom/imaging/maps.hpp"
#include "warploom/imaging/mask.hpp"

namespace warploom::imaging {
namespace {

/// Squares, and products of three, of what is larger leave the range of float.
constexpr float kLargest = 1e12F;

void require_options(const DenoiseOptions& options, bool tensor) {
  // Written so that NaN is refused.
  if (!(options.lambda >= 0 && options.lambda <= kLargest))
    throw BadInput(
        fmt::format("lambda is {}; it must be from 0 (= from the noise) to {}", options.lambda, kLargest));
  if (!(options.tolerance > 0 && options.tolerance < 1))
    throw BadInput(fmt::format("the tolerance is {}; it must be above 0 and below 1", options.tolerance));
  name(options.solver);
  name(options.variation);
  if (options.variation == Variation::generalised) {
    if (options.solver != Solver::primal_dual)
      throw BadInput(fmt::format("total generalised variation is minimised by primal-dual, not by {}",
                                 name(options.solver)));
    // Above, rounding of the dual variables, which are as large, would hide the gap.
    if (!(options.tgv_ratio >= 1e-3 && options.tgv_ratio <= 100))
      throw BadInput(fmt::format("the ratio of generalised variation is {}; it must be from 0.001 to 100",
                                 options.tgv_ratio));
  }
  if (options.max_iterations < 1)
    throw BadInput(
        fmt::format("the limit of iterations is {}; it must be at least 1", options.max_iterations));
  if (!(options.descent_step >= 0 && std::isfinite(options.descent_step)))
    throw BadInput(fmt::format("the step of descent is {}; it must be above 0, or 0 for one that is stable",
                               options.descent_step));
  if (options.solver == Solver::primal_dual) {
    if (options.epsilon != 0)
      throw BadInput(
          fmt::format("epsilon is {}, but primal-dual minimises the functional without smoothing: give 0",
                      options.epsilon));
  } else if (!(options.epsilon >= 1e-9 && options.epsilon <= kLargest)) {
    throw BadInput(fmt::format("epsilon is {}; it must be from 1e-9 to {} (only primal-dual takes 0)",
                               options.epsilon, kLargest));
  }
  if (options.solver == Solver::descent && !tensor)
    throw BadInput(
        "descent iterates on the Cholesky factor of a tensor, and these channels are none; use accelerated");
}

void require_image(const Image& image, bool tensor) {
  const Grid& grid = image.grid;
  image.check();
  if (tensor) require_tensor(image);
  if (image.channels < 1 || image.channels > kMaxChannels)
    throw BadInput(fmt::format("the image has {} channels; 1 to {} can be denoised together", image.channels,
                               kMaxChannels));
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (!(grid.spacing[axis] >= 1e-6 && grid.spacing[axis] <= 1e6))
      throw BadInput(fmt::format("the voxels' spacing along {} is {} mm; it must be from 1e-6 to 1e6",
                                 "xyz"[axis], grid.spacing[axis]));
}

/// The smallest box that holds all voxels inside.
struct Region {
  std::int64_t begin[3] = {}, end[3] = {};  // x, y, z
  std::int64_t inside = 0;

  Grid grid(const Grid& whole) const {
    return {end[0] - begin[0], end[1] - begin[1], end[2] - begin[2], whole.spacing};
  }
  /// body(offset in the image, offset in the region, voxels) for all rows
  template <class Body>
  void for_rows(const Grid& whole, const Body& body) const {
    const Grid part = grid(whole);
    parallel_for(part.nz, [&](std::int64_t z) {
      for (std::int64_t y = 0; y < part.ny; ++y)
        body(static_cast<std::size_t>(((z + begin[2]) * whole.ny + y + begin[1]) * whole.nx + begin[0]),
             static_cast<std::size_t>((z * part.ny + y) * part.nx), static_cast<std::size_t>(part.nx));
    });
  }
};

/// 1 where the mask is and all channels are finite. @throws BadInput (a value too large, naming its place)
Mask usable(const Image& image, const Mask& mask) {
  const std::size_t voxels = static_cast<std::size_t>(image.grid.voxels());
  Mask result(voxels);
  for_pieces(image.grid, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) result[v] = inside(mask, v);
    for (int c = 0; c < image.channels; ++c) {
      const std::span<const float> channel = image.channel(c);
      for (std::size_t v = begin; v < end; ++v) {
        if (!std::isfinite(channel[v])) result[v] = 0;
        if (result[v] != 0 && std::abs(channel[v]) > kLargest)
          throw BadInput(fmt::format("voxel {} of channel {} is {}, above {}: is the unit right?", v, c,
                                     channel[v], kLargest));
      }
    }
  });
  return result;
}

Region bounding_box(const Grid& grid, const Mask& mask) {
  Region box{{grid.nx, grid.ny, grid.nz}, {}, 0};
  std::size_t v = 0;
  for (std::int64_t z = 0; z < grid.nz; ++z)
    for (std::int64_t y = 0; y < grid.ny; ++y)
      for (std::int64_t x = 0; x < grid.nx; ++x, ++v)
        if (mask[v] != 0) {
          ++box.inside;
          const std::int64_t at[3] = {x, y, z};
          for (int axis = 0; axis < 3; ++axis) {
            box.begin[axis] = std::min(box.begin[axis], at[axis]);
            box.end[axis] = std::max(box.end[axis], at[axis] + 1);
          }
        }
  if (box.inside == 0)
    throw BadInput("no voxel to denoise: the mask is empty, or the image NaN wherever it is not");
  return box;
}

Image crop(const Image& image, const Mask& mask, const Region& box) {
  Image part(box.grid(image.grid), image.channels);
  for (int c = 0; c < image.channels; ++c)
    box.for_rows(image.grid, [&, source = image.channel(c), target = part.channel(c)](
                                 std::size_t from, std::size_t to, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i)
        target[to + i] = mask[from + i] != 0 ? source[from + i] : std::numeric_limits<float>::quiet_NaN();
    });
  return part;
}

Mask crop(const Mask& mask, const Grid& grid, const Region& box) {
  Mask part(static_cast<std::size_t>(box.grid(grid).voxels()));
  box.for_rows(grid, [&](std::size_t from, std::size_t to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) part[to + i] = mask[from + i];
  });
  return part;
}

TvConstants constants(const Image& image, const DenoiseOptions& options, bool tensor, std::int64_t voxels) {
  const Grid& grid = image.grid;
  TvConstants k;
  k.channels = image.channels;
  k.max_iterations = options.max_iterations;
  k.lambda = options.lambda;
  k.epsilon = options.epsilon;
  k.tolerance = options.tolerance;
  k.voxels = static_cast<double>(voxels);
  const std::int64_t extent[3] = {grid.nx, grid.ny, grid.nz};
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (extent[axis] > 1) {
      k.inverse_spacing[axis] = 1 / grid.spacing[axis];
      k.gradient_bound += 4 / (grid.spacing[axis] * grid.spacing[axis]);
    }
  for (std::size_t c = 0; c < static_cast<std::size_t>(k.channels); ++c)
    k.weights[c] = tensor ? double{kTensorWeights[c]} : 1.0;
  return k;
}

DenoiseReport denoise(Image& image, const Mask& mask, const DenoiseOptions& options, bool tensor) try {
  require_options(options, tensor);
  require_image(image, tensor);
  require_mask(mask, image.grid);
  const DevicesScope scope(options.run, kBuiltWithCuda);
  if (options.variation == Variation::generalised) one_device(scope.devices(), "total generalised variation");
  const Mask used = usable(image, mask);
  const Region box = bounding_box(image.grid, used);
  const Image noisy = crop(image, used, box);
  const Mask used_in_box = crop(used, image.grid, box);
  Image result = noisy;

  DenoiseReport report;
  report.variation = options.variation;
  if (options.variation == Variation::generalised) report.tgv_ratio = options.tgv_ratio;
  report.solver = options.solver;
  report.device = scope.devices().front();
  report.epsilon = options.epsilon;
  report.outside = image.grid.voxels() - box.inside;
  if (tensor) report.projected = floor_eigenvalues(result, used_in_box);

  TvProblem problem;
  problem.grid = noisy.grid;
  problem.constants = constants(noisy, options, tensor, box.inside);
  problem.tensor = tensor;
  problem.outside = box.inside < noisy.grid.voxels();
  problem.noisy = noisy.data.data();
  problem.solver = options.solver;
  problem.descent_step = options.descent_step;
  problem.tgv_ratio = report.tgv_ratio;
  TvRoom room;
  const auto minimise = [&](const TvProblem& p, float* values) {
#if defined(WARPLOOM_HAVE_CUDA)
    if (scope.on_gpu()) return minimise_cuda(p, values, scope.devices());
#endif
    return minimise_cpu(p, values, room);
  };
  if (options.lambda == 0) {
    report.noise = noise_level(noisy, used_in_box);
    problem.constants.lambda = lambda_from_noise(problem, report.noise, minimise, result.data.data()).lambda;
  }
  report.lambda = problem.constants.lambda;
  TvOutcome outcome = minimise(problem, result.data.data());

  for (int c = 0; c < image.channels; ++c)
    box.for_rows(image.grid, [&, source = result.channel(c), target = image.channel(c)](
                                 std::size_t to, std::size_t from, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i)
        if (used[to + i] != 0) target[to + i] = source[from + i];
    });
  report.history = std::move(outcome.history);
  report.stop = outcome.converged ? StopReason::converged : StopReason::iteration_limit;
  report.iterations = report.history.back().iteration;
  report.objective = outcome.objective;
  report.gap = outcome.gap;
  report.seconds = outcome.seconds;
  report.transfer_seconds = outcome.transfer_seconds;
  report.slabs = outcome.slabs;
  report.devices = outcome.devices;
  report.device_bytes = outcome.device_bytes;
  return report;
} catch (const std::bad_alloc&) {
  throw OutOfMemory(
      fmt::format("denoising {} values of 4 bytes needs their memory {} times over, and there is less",
                  image.data.size(), options.variation == Variation::generalised ? "27" : "seven"));
}

}  // namespace

Solver parse_solver(std::string_view text) {
  for (const Solver solver : {Solver::accelerated, Solver::primal_dual, Solver::descent})
    if (text == name(solver)) return solver;
  throw BadInput(fmt::format("solver '{}' is not known; use accelerated, primal-dual or descent", text));
}

std::string_view name(Solver solver) {
  constexpr std::array<std::string_view, 3> kNames{"accelerated", "primal-dual", "descent"};
  return at_enumerator(kNames, solver, "the solver");
}

std::string_view name(Variation variation) {
  constexpr std::array<std::string_view, 2> kNames{"total", "generalised"};
  return at_enumerator(kNames, variation, "the variation");
}

std::string_view name(StopReason reason) {
  constexpr std::array<std::string_view, 2> kNames{"converged", "iteration limit"};
  return at_enumerator(kNames, reason, "the reason for a stop");
}

DenoiseReport denoise_tensors(TensorImage& image, const Mask& mask, const DenoiseOptions& options) {
  return denoise(image, mask, options, true);
}

DenoiseReport denoise_channels(Image& image, const Mask& mask, const DenoiseOptions& options) {
  return denoise(image, mask, options, false);
}

}  // namespace warploom::imaging
