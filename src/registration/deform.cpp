#include "warploom/registration/deform.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <limits>

#include "core/built_with_cuda.hpp"
#include "core/doors.hpp"
#include "registration/curvature.hpp"
#include "registration/demons.hpp"
#include "registration/devices.hpp"
#include "registration/greedy.hpp"
#include "registration/middle.hpp"
#include "registration/positive_step.hpp"
#include "registration/stages.hpp"
#include "warploom/core/error.hpp"
#include "warploom/registration/resample.hpp"

namespace warploom::registration {
namespace {

/// Why so: design 0013.
std::vector<int> chosen_levels(DeformMethod method, bool in_a_plane) {
  if (method == DeformMethod::greedy && !in_a_plane) return {60, 60, 60, 20};
  return {60, 60, 20};
}

/// Both images at about this resolution, where they are.
std::unique_ptr<AffineImages> coarse_images(const Levels& levels, Measure measure, int radius, double voxel,
                                            DevicePair* device) {
  auto images = device != nullptr ? device->affine_images(radius, voxel)
                                  : images_on_the_cpu(levels.fixed, levels.moving, measure, radius);
  images->coarsen(voxel);
  return images;
}

/// Why so: design 0013.
double chosen_smoothing(const Levels& levels, const Affine& affine, const DeformOptions& options,
                        DevicePair* device) {
  constexpr double kUsual = 0.5, kOfSlides = 1, kHardlyAlike = 0.6;
  const Space& space = levels.fixed.space;
  if (options.method != DeformMethod::greedy || options.measure != Measure::lncc || space.grid.nz > 1)
    return kUsual;
  const auto images =
      coarse_images(levels, options.measure, options.radius, 4 * smallest_spacing(space), device);
  Affine unused{};
  return TwoSidedObjective(images->there(), images->back()).value(affine, &unused) < kHardlyAlike ? kOfSlides
                                                                                                  : kUsual;
}

void check_options(const DeformOptions& o) {
  const auto within = [](double v, double from, double to, const char* what) {
    if (!(v >= from && v <= to))
      throw BadInput(fmt::format("{} is {:g}; it is from {:g} to {:g}", what, v, from, to));
  };
  name(o.measure);
  if (o.method != DeformMethod::greedy && o.method != DeformMethod::curvature &&
      o.method != DeformMethod::demons)
    refuse_enumerator(o.method, "the method");
  within(o.bending, 1e-9, 1e9, "the weight of bending");
  within(o.radius, 1, 8, "the radius of lncc [voxels]");
  within(static_cast<double>(o.iterations.size()), 1, 10, "the number of resolutions");
  for (const int n : o.iterations) within(n, 0, 100000, "the number of iterations of a resolution");
  within(o.step, 1e-3, 2, "the step [voxels]");
  within(o.smooth_update, 0, 8, "the smoothing of updates [voxels]");
  within(o.smooth_field.value_or(0), 0, 8, "the smoothing of the displacement [voxels]");
}

/// A(x + u(x)) - x [mm], in the place of u.
DisplacementField in_the_world(std::vector<float> u, const Affine& affine, const Space& space) {
  DisplacementField field{space, std::move(u)};
  const imaging::Grid& grid = space.grid;
  const auto voxels = static_cast<std::size_t>(grid.voxels());
  const Affine to_target = compose(space.to_world, affine);
  parallel_for(grid.nz * grid.ny, [&](std::int64_t row) {
    const auto y = static_cast<double>(row % grid.ny), z = static_cast<double>(row / grid.ny);
    float* mm = field.mm.data() + row * grid.nx;
    for (std::size_t x = 0; x < static_cast<std::size_t>(grid.nx); ++x) {
      const Point index{static_cast<double>(x), y, z};
      const Point from = map_point(space.to_world, index), to = map_point(to_target, index);
      const double by[3] = {double(mm[x]), double(mm[voxels + x]), double(mm[2 * voxels + x])};
      for (std::size_t r = 0; r < 3; ++r)
        mm[r * voxels + x] =
            static_cast<float>(double(static_cast<float>(to[r] - from[r])) + to_target[r][0] * by[0] +
                               to_target[r][1] * by[1] + to_target[r][2] * by[2]);
    }
  });
  return field;
}

/// Gives the moving image the mean and deviation that the fixed one has where both meet under the affine map:
/// squared differences compare values, and of a larger field of view the air counts, too.
void match_brightness(const Level& fixed, Level& moving, const Affine& affine) {
  PlacedImage image;
  image.image = imaging::Image(moving.space.grid, 1);
  image.image.data = moving.data;
  image.to_world = moving.space.to_world;
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t i = 0; i < moving.counts.size(); ++i)
    if (moving.counts[i] == 0) image.image.data[i] = kNone;
  const std::vector<float> met =
      resample(image, fixed.space, {{affine}}, Interpolation::linear, kNone).image.data;
  double count = 0;
  std::array<double, 2> sum{}, squares{};
  for (std::size_t i = 0; i < met.size(); ++i) {
    if (!std::isfinite(met[i]) || (!fixed.counts.empty() && fixed.counts[i] == 0)) continue;
    ++count;
    const std::array<double, 2> both{double(fixed.data[i]), double(met[i])};
    for (std::size_t k = 0; k < 2; ++k) sum[k] += both[k], squares[k] += both[k] * both[k];
  }
  if (count == 0) return;
  std::array<double, 2> mean{}, deviation{};
  for (std::size_t k = 0; k < 2; ++k) {
    mean[k] = sum[k] / count;
    deviation[k] = std::sqrt(std::max(0.0, squares[k] / count - mean[k] * mean[k]));
  }
  if (!(deviation[0] > 1e-3 && deviation[1] > 1e-3)) return;  // one of them shows nothing there
  const double scale = deviation[0] / deviation[1];
  for (float& value : moving.data) value = static_cast<float>((double(value) - mean[1]) * scale + mean[0]);
}

/// All of it. @param device  has both images; null: they go there now
FoundField deform_on_a_gpu(const Levels& levels, const Affine& affine, const DeformOptions& options,
                           DeformReport& report, DevicePair* device) {
  if (device != nullptr) return device->deform(affine, options, report);
  if constexpr (kBuiltWithCuda)
    return make_device_pair(source_of(levels.fixed), source_of(levels.moving),
                            device_bytes_to_deform(levels.fixed.space.grid, levels.moving.space.grid))
        ->deform(affine, options, report);
  return {};
}

/// All resolutions on a CPU. @returns u in voxels of the fixed image: the map is affine(x + u(x))
std::vector<float> improve_at_all(const Level& fixed, const Level& moving, const Affine& affine,
                                  const DeformOptions& options, DeformReport& report) {
  // The greedy method moves both images to the middle between them; the others move one all the way.
  if (options.method == DeformMethod::greedy)
    return deform_greedily_cpu(fixed, moving, affine, options, report);
  const auto improve =
      options.method == DeformMethod::curvature ? improve_by_curvature_cpu : improve_by_demons_cpu;
  const double finest = smallest_spacing(fixed.space);
  std::vector<float> h;
  Space space = fixed.space;
  for (std::size_t k = 0; k < options.iterations.size(); ++k) {
    const double voxel = finest * std::exp2(options.iterations.size() - 1 - k);
    const Level coarse_fixed = coarser(fixed, voxel), coarse_moving = coarser(moving, voxel);
    if (h.empty())
      h.assign(static_cast<std::size_t>(3 * coarse_fixed.extents().voxels()), 0.0F);
    else
      h = refine(h, space, coarse_fixed.space);
    space = coarse_fixed.space;
    if (options.iterations[k] > 0)
      improve(coarse_fixed, coarse_moving, voxel_map(affine, coarse_fixed.space, coarse_moving.space),
              options, options.iterations[k], h, report);
    else
      report.iterations.push_back(0);
  }
  return h;
}

}  // namespace

void refuse_gpu(const Run& run, std::string_view what) {
  const RunScope scope(run);
  if (const Device wanted = one_device(scope.run().devices, "registration"); wanted.is_gpu())
    throw NoDevice(fmt::format("device '{}' was asked for, but {} on the CPU alone: use `device` cpu or auto",
                               name(wanted), what));
}

bool runs_on_a_gpu(const AlignOptions& options) {
  if (options.measure == Measure::lncc) return kBuiltWithCuda;
  refuse_gpu(options.run, fmt::format("affine maps by {} are found", name(options.measure)));
  return false;
}

bool runs_on_a_gpu(const DeformOptions& options) {
  const bool lncc_or_ssd = options.measure == Measure::lncc || options.measure == Measure::ssd;
  if (options.method == DeformMethod::greedy && lncc_or_ssd) return kBuiltWithCuda;
  const std::string_view by = options.method == DeformMethod::greedy      ? name(options.measure)
                              : options.method == DeformMethod::curvature ? "curvature"
                                                                          : "demons";
  refuse_gpu(options.run, fmt::format("deformations by {} are found", by));
  return false;
}

Deformation estimate_deformation(const PlacedView& fixed, const PlacedView& moving, const Affine& affine,
                                 const DeformOptions& options) {
  const DeviceScope scope(options.run, "registration", runs_on_a_gpu(options));
  const auto begin = std::chrono::steady_clock::now();
  // Squared differences are of images of one brightness, which the host sees to.
  const bool there_at_once = scope.device().is_gpu() && options.measure == Measure::lncc;
  Images images(fixed, options.fixed_mask, moving, options.moving_mask, there_at_once,
                device_bytes_to_deform(fixed.image.grid, moving.image.grid));
  Deformation out =
      deform_levels(images.levels, affine, options, scope.device(), images.device.get()).deformation;
  out.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

FoundDeformation deform_levels(Levels& levels, const Affine& affine, const DeformOptions& asked, Device where,
                               DevicePair* device) {
  const auto begin = std::chrono::steady_clock::now();
  const Level& fixed = levels.fixed;
  DeformOptions options = asked;
  if (options.iterations.empty())
    options.iterations = chosen_levels(options.method, fixed.space.grid.nz == 1);
  check_options(options);
  check_affine(affine);
  if (io::determinant(affine) < 0) throw BadInput("the affine map mirrors: its determinant is negative");

  const auto small = coarse_images(levels, options.measure, 1, 1e9, device);
  if (small->there().values({affine}), small->there().overlap() == 0)
    throw BadInput("with this affine map no voxel of the fixed image meets the moving one");

  if (options.method != DeformMethod::greedy || options.measure == Measure::ssd)
    match_brightness(fixed, levels.moving, affine);

  if (!options.smooth_field) options.smooth_field = chosen_smoothing(levels, affine, options, device);

  FoundDeformation all;
  Deformation& out = all.deformation;
  out.report.smooth_field = *options.smooth_field;
  out.report.device = where;
  out.report.levels = options.iterations;
  if (where.is_gpu()) {
    all.found = deform_on_a_gpu(levels, affine, options, out.report, device);
    out.field = {fixed.space, std::move(all.found.mm)};
  } else {
    out.field =
        in_the_world(improve_at_all(fixed, levels.moving, affine, options, out.report), affine, fixed.space);
    if (!options.allow_folds) {
      const StepLimit limit =
          smooth_folds(fixed.space.grid, fixed.space.to_world, out.field.mm, greedy::kLeastOfResult);
      out.report.smoothed_voxels += limit.limited;
      if (limit.failing > 0) throw Internal(fmt::format("{} cells of the result still fold", limit.failing));
    }
  }
  out.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return all;
}

}  // namespace warploom::registration
