#include "warploom/registration/workflow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <future>
#include <vector>

#include "core/built_with_cuda.hpp"
#include "core/doors.hpp"
#include "registration/devices.hpp"
#include "registration/greedy.hpp"
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
    const auto along = [&](std::int64_t n, std::int64_t m, std::size_t axis) {
      const double ratio = std::sqrt(fixed.spacing[axis] / moving.spacing[axis]);
      return std::ceil((static_cast<double>(n) * ratio + static_cast<double>(m) / ratio) / 2);
    };
    const double middle = along(fixed.nx, moving.nx, 0) * along(fixed.ny, moving.ny, 1) *
                          (fixed.nz == 1 ? 1 : along(fixed.nz, moving.nz, 2));
    if (middle > static_cast<double>(computed))
      computed = static_cast<std::uint64_t>(std::min(middle, std::exp2(50)));
  }
  return each * computed + 10 * voxels(moving);
}

Registration register_images(const PlacedView& fixed, const PlacedView& moving,
                             const RegisterOptions& options) {
  name(options.method);
  AlignOptions align = options.align;
  if (options.keep_start && !align.start) throw BadInput("there is no start to keep");
  align.motion = options.method == Method::rigid        ? Motion::rigid
                 : options.method == Method::similarity ? Motion::similarity
                                                        : Motion::affine;
  Registration out;
  const bool deforms = options.method >= Method::greedy;
  DeformOptions deform = options.deform;
  deform.method = options.method == Method::curvature ? DeformMethod::curvature
                  : options.method == Method::demons  ? DeformMethod::demons
                                                      : DeformMethod::greedy;
  deform.measure = align.measure, deform.radius = align.radius, deform.run = align.run;
  std::future<void> waking;  // beside the affine stage
  if (deforms) {
    const bool has_gpu = runs_on_a_gpu(deform);  // throws before minutes have passed
    if constexpr (kBuiltWithCuda)
      if (const DeviceScope scope(deform.run, "registration", has_gpu); scope.device().is_gpu())
        waking = std::async(std::launch::async, [device = scope.device()] {
          const OnDevice current(device);
          wake_gpu();
        });
    align.run.devices = {Device::cpu};
  }
  if (options.keep_start) {
    out.affine = *align.start;
  } else {
    const Alignment found = estimate_affine(fixed, moving, align);
    out.affine = found.affine, out.align = found.report;
  }
  if (deforms) {
    deform.fixed_mask = std::move(align.fixed_mask), deform.moving_mask = std::move(align.moving_mask);
    Deformation found = estimate_deformation(fixed, moving, out.affine, deform);
    out.field = std::move(found.field), out.deform = std::move(found.report);
  } else {
    out.field = field_of(out.affine, fixed.space());
  }

  const RunScope scope(align.run);
  const auto begin = std::chrono::steady_clock::now();
  out.certificate = certify(out.field);
  out.certificate_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
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
  return out;
}

}  // namespace warploom::registration
