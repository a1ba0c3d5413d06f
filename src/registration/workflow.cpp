#include "warploom/registration/workflow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/built_with_cuda.hpp"
#include "core/doors.hpp"
#include "registration/devices.hpp"
#include "registration/stages.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::registration {

Method parse_method(std::string_view text) {
  for (const Method method :
       {Method::rigid, Method::similarity, Method::affine, Method::greedy, Method::curvature, Method::demons})
    if (text == name(method)) return method;
  throw BadInput(fmt::format(
      "'{}' is no method; there are rigid, similarity, affine, greedy, curvature and demons", text));
}

std::string_view name(Method method) {
  static constexpr std::string_view kNames[] = {"rigid",  "similarity", "affine",
                                                "greedy", "curvature",  "demons"};
  return at_enumerator(kNames, method, "the method");
}

std::uint64_t memory_for(const imaging::Grid& fixed, const imaging::Grid& moving,
                         const RegisterOptions& options) {
  name(options.method);
  name(options.align.measure);
  const auto voxels = [](const imaging::Grid& grid) {
    std::uint64_t out = 1;
    for (const std::int64_t n : {grid.nx, grid.ny, grid.nz}) {
      if (n < 1) throw BadInput(fmt::format("a grid of {} x {} x {} voxels", grid.nx, grid.ny, grid.nz));
      // More than there is of anything: the product below stays a number.
      out = static_cast<std::uint64_t>(n) > (std::uint64_t{1} << 50) / out
                ? std::uint64_t{1} << 50
                : out * static_cast<std::uint64_t>(n);
    }
    return out;
  };
  std::uint64_t each = 70;
  if (options.method == Method::greedy)
    each = options.align.measure == Measure::lncc ? 105 : options.align.measure == Measure::ngf ? 110 : 85;
  if (options.method == Method::curvature) each = options.deform.semi_implicit ? 90 : 160;
  if (options.method == Method::demons) each = 90;
  // The greedy method computes half way between the images: middle_of(), were they side by side.
  std::uint64_t computed = voxels(fixed);
  if (options.method == Method::greedy) {
    const double middle = voxels_half_way(fixed, moving);
    if (middle > static_cast<double>(computed))
      computed = static_cast<std::uint64_t>(std::min(middle, std::exp2(50)));
  }
  return each * computed + 10 * voxels(moving);
}

namespace {

/// What register_images() does.
struct Stages {
  AlignOptions align;
  DeformOptions deform;
  bool deforms;
  /// @throws NoDevice (a GPU is asked for and has it not)
  bool run_on_a_gpu() const { return deforms ? runs_on_a_gpu(deform) : runs_on_a_gpu(align); }
};

Stages stages_of(const RegisterOptions& options) {
  Stages out{options.align, options.deform, options.method >= Method::greedy};
  out.align.motion = options.method == Method::rigid        ? Motion::rigid
                     : options.method == Method::similarity ? Motion::similarity
                                                            : Motion::affine;
  DeformOptions& deform = out.deform;
  deform.method = options.method == Method::curvature ? DeformMethod::curvature
                  : options.method == Method::demons  ? DeformMethod::demons
                                                      : DeformMethod::greedy;
  deform.measure = out.align.measure, deform.radius = out.align.radius, deform.run = out.align.run;
  deform.fixed_mask = out.align.fixed_mask, deform.moving_mask = out.align.moving_mask;
  return out;
}

/// The mean and the largest displacement.
void measure_lengths(Registration& out) {
  const std::size_t voxels = out.field.mm.size() / 3;
  const auto planes = static_cast<std::size_t>(out.field.space.grid.nz), plane = voxels / planes;
  std::vector<std::array<double, 2>> lengths(planes);  // sum and largest, added up in one order
  parallel_for(static_cast<std::int64_t>(planes), [&](std::int64_t z) {
    auto& [sum, largest] = lengths[static_cast<std::size_t>(z)];
    const float* mm = out.field.mm.data() + static_cast<std::size_t>(z) * plane;
    for (std::size_t i = 0; i < plane; ++i) {
      const double x{mm[i]}, y{mm[voxels + i]}, w{mm[2 * voxels + i]};
      const double length = std::sqrt(x * x + y * y + w * w);
      sum += length;
      largest = std::max(largest, length);
    }
  });
  double sum = 0;
  for (const auto& [of_plane, largest] : lengths) {
    sum += of_plane;
    out.largest_displacement = std::max(out.largest_displacement, largest);
  }
  out.mean_displacement = sum / static_cast<double>(voxels);
}

}  // namespace

std::future<void> start_device(const RegisterOptions& options) {
  name(options.method), name(options.align.measure);
  if constexpr (kBuiltWithCuda)
    return std::async(std::launch::async, [stages = stages_of(options), around = current_run()]() mutable {
      around.log = stages.align.run.log = [](LogLevel, std::string_view) {};
      const RunScope outer(around);
      try {
        const DeviceScope scope(stages.align.run, "registration", stages.run_on_a_gpu());
        if (scope.device().is_gpu()) wake_gpu();
      } catch (const Error&) {  // register_images() says so
      }
    });
  return {};
}

Registration register_images(const PlacedView& fixed, const PlacedView& moving,
                             const RegisterOptions& options) {
  name(options.method);
  if (options.keep_start && !options.align.start) throw BadInput("there is no start to keep");
  Stages stages = stages_of(options);
  const auto& [align, deform, deforms] = stages;
  Registration out;
  const std::future<void> waking = start_device(options);  // beside what is to be done on the CPU
  // Throws before minutes have passed.
  const DeviceScope scope(align.run, "registration", stages.run_on_a_gpu());
  const bool on_a_gpu = scope.device().is_gpu();
  auto begin = std::chrono::steady_clock::now();
  const auto lap = [&] {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(begin, now)).count();
  };
  std::optional<Images> images(std::in_place, fixed, align.fixed_mask, moving, align.moving_mask,
                               on_a_gpu && align.measure == Measure::lncc,
                               deforms ? device_bytes_to_deform(fixed.image.grid, moving.image.grid) : 0);
  if (options.keep_start) {
    out.affine = *align.start;
  } else {
    const Alignment found = align_levels(images->levels, align, images->device.get());
    out.affine = found.affine, out.align = found.report;
    out.align->seconds = lap();
  }
  if (deforms) {
    auto [found, facts] =
        deform_levels(images->levels, out.affine, deform, scope.device(), images->device.get());
    out.field = std::move(found.field), out.deform = std::move(found.report);
    out.deform->seconds = lap();
    out.mean_displacement = facts.mean, out.largest_displacement = facts.largest;
    if (facts.certificate) {
      out.certificate = *facts.certificate;
      return out;
    }
  } else {
    images.reset();  // as large as the field
    out.field = field_of(out.affine, fixed.space());
  }
  lap();
  out.certificate = certify(out.field);
  out.certificate_seconds = lap();
  measure_lengths(out);
  return out;
}

}  // namespace warploom::registration
