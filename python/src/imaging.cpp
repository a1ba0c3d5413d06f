#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "images.hpp"
#include "module.hpp"
#include "warploom/core/error.hpp"
#include "warploom/imaging/gpu_image.hpp"
#include "warploom/imaging/segment.hpp"

namespace warploom::python {
namespace {

using Volume = Strided<const float, nb::ndim<3>>;
using MaskView = View<const std::uint8_t, nb::ndim<3>>;

imaging::Grid grid_of(const std::array<std::int64_t, 3>& shape, const std::array<double, 3>& spacing) {
  return {shape[2], shape[1], shape[0], {spacing[2], spacing[1], spacing[0]}};
}

imaging::Mask mask_of(const std::optional<MaskView>& mask) {
  return mask ? imaging::Mask(mask->data(), mask->data() + mask->size()) : imaging::Mask{};
}

using Dictionary = nb::typed<nb::dict, nb::str, nb::object>;

/// A report as a dictionary, by the names that `warploom segment --json` has.
Dictionary told(const imaging::SegmentReport& r) {
  Dictionary all;
  all["device"] = name(r.device);
  all["method"] = std::string(name(r.method));
  all["iterations"] = r.iterations;
  all["stop"] = r.converged ? "converged" : r.still ? "change below tolerance" : "iteration limit";
  all["seconds"] = r.seconds;
  all["device_bytes"] = r.device_bytes;
  all["mean_in"] = r.mean_in;
  all["mean_out"] = r.mean_out;
  all["inside_voxels"] = r.inside;
  all["voxels"] = r.voxels;
  if (r.method == imaging::Method::level_set) {
    all["change"] = r.change;
    return all;
  }
  all["gap"] = r.gap;
  all["mask_energy"] = r.mask_energy;
  all["lower_bound"] = r.lower_bound;
  all["length"] = r.length;
  all["mu"] = r.mu;
  all["noise"] = std::string(name(r.noise));
  all["noise_level"] = r.noise_level;
  all["means"] = r.means;
  all["sizes"] = r.sizes;
  return all;
}

void make_options(imaging::SegmentOptions* self, const std::string& method, std::optional<double> mu,
                  std::optional<double> tolerance, std::optional<int> iterations, double lambda_in,
                  double lambda_out, double time_step, const std::string& inside, const std::string& noise,
                  int classes, std::optional<std::array<double, 2>> means,
                  const std::optional<MaskView>& mask, const std::string& start,
                  const std::optional<MaskView>& start_mask) {
  new (self) imaging::SegmentOptions{.method = imaging::parse_method(method),
                                     .mu = mu,
                                     .tolerance = tolerance,
                                     .max_iterations = iterations,
                                     .inside = imaging::parse_inside(inside),
                                     .mask = mask_of(mask),
                                     .noise = imaging::parse_noise(noise),
                                     .classes = classes,
                                     .means = means,
                                     .lambda_in = lambda_in,
                                     .lambda_out = lambda_out,
                                     .time_step = time_step,
                                     .start = imaging::parse_start(start),
                                     .start_mask = mask_of(start_mask)};
}

auto segment(const Volume& values, const std::array<double, 3>& spacing, imaging::SegmentOptions& options,
             const Asked& asked) {
  const std::size_t nz = values.shape(0), ny = values.shape(1), nx = values.shape(2);
  const imaging::ImageView image = image_of(values, {spacing[2], spacing[1], spacing[0]});
  const auto voxels = static_cast<double>(values.size());
  imaging::Segmentation found = run_asked(asked, length_of(voxels * 2e-6), [&](const Run& run) {
    options.run = run;
    return imaging::segment(image, options);
  });
  Dictionary report = told(found.report);
  const auto levels = static_cast<std::size_t>(found.level_set.channels);
  return std::tuple(array_of<std::uint8_t, std::uint8_t>(std::move(found.mask), {nz, ny, nx}),
                    array_of<float, float>(std::move(found.level_set.data), {levels, nz, ny, nx}),
                    array_of(std::move(found.report.energy)), std::move(report));
}

/// By addresses in a GPU's memory: of the image and of what is written. @param strides  of the image; none:
/// it is in C order
auto segment_on_gpu(std::uintptr_t values, const std::array<std::int64_t, 3>& shape,
                    const std::optional<std::array<std::int64_t, 3>>& strides,
                    const std::array<double, 3>& spacing, std::uintptr_t mask, std::uintptr_t level_set,
                    std::uintptr_t stream, imaging::SegmentOptions& options, const Asked& asked) {
  const imaging::Grid grid = grid_of(shape, spacing);
  const auto* const first = reinterpret_cast<const float*>(values);
  const imaging::ImageView image =
      strides ? imaging::ImageView(grid, 1, first, {(*strides)[2], (*strides)[1], (*strides)[0], 0})
              : imaging::ImageView(grid, 1, {first, static_cast<std::size_t>(grid.voxels())});
  const imaging::SegmentOnGpu results{reinterpret_cast<std::uint8_t*>(mask),
                                      reinterpret_cast<float*>(level_set), reinterpret_cast<void*>(stream)};
  imaging::SegmentReport report = run_asked(asked, Length::long_, [&](const Run& run) {
    options.run = run;
    return imaging::segment(image, results, options);
  });
  Dictionary all = told(report);
  return std::tuple(array_of(std::move(report.energy)), std::move(all));
}

/// Values in the memory of the GPU that is asked for, to the host. @param shape, strides  [channels, z, y,
/// x]; no strides: in C order
void fetch(std::uintptr_t there, const std::array<std::int64_t, 4>& shape,
           const std::optional<std::array<std::int64_t, 4>>& strides, std::uintptr_t stream, View1<float> to,
           const Asked& asked) {
  imaging::ImageView view(grid_of({shape[1], shape[2], shape[3]}, {1, 1, 1}), static_cast<int>(shape[0]), {});
  view.on_gpu = reinterpret_cast<const float*>(there);
  if (strides) view.on_gpu_strides = {(*strides)[3], (*strides)[2], (*strides)[1], (*strides)[0]};
  run_work(asked, length_of(static_cast<double>(to.size()) * 1e-10 + 1e-4), [&](const Run& run) {
    imaging::fetch_image(view, reinterpret_cast<void*>(stream), span_of(to), run);
  });
}

}  // namespace

void bind_imaging(nb::module_& module) {
  nb::class_<imaging::SegmentOptions>(module, "SegmentOptions")
      .def("__init__", &make_options, nb::arg("method"), nb::arg("mu").none(), nb::arg("tolerance").none(),
           nb::arg("iterations").none(), nb::arg("lambda_in"), nb::arg("lambda_out"), nb::arg("time_step"),
           nb::arg("inside"), nb::arg("noise"), nb::arg("classes"), nb::arg("means").none(),
           nb::arg("mask").none(), nb::arg("start"), nb::arg("start_mask").none());
  module.def("segment", &segment, nb::arg("image").noconvert(), nb::arg("spacing"), nb::arg("options"),
             nb::arg("asked"));
  module.def("segment_on_gpu", &segment_on_gpu, nb::arg("values"), nb::arg("shape"),
             nb::arg("strides").none(), nb::arg("spacing"), nb::arg("mask"), nb::arg("level_set"),
             nb::arg("stream"), nb::arg("options"), nb::arg("asked"));
  module.def("fetch", &fetch, nb::arg("there"), nb::arg("shape"), nb::arg("strides").none(),
             nb::arg("stream"), nb::arg("to").noconvert(), nb::arg("asked"));
}

}  // namespace warploom::python
