#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "images.hpp"
#include "module.hpp"
#include "warploom/core/error.hpp"
#include "warploom/imaging/denoise_workflow.hpp"
#include "warploom/imaging/image_file.hpp"

namespace warploom::python {
namespace {

using Values = Strided<const float, nb::ndim<4>>;
using Rows = std::array<std::array<double, 4>, 3>;
using Dictionary = nb::typed<nb::dict, nb::str, nb::object>;

/// What is asked of denoise(), as the tool's options.
struct Request : imaging::DenoiseRequest {
  void set(const std::string& regulariser_, std::optional<double> lambda, const std::string& solver,
           const std::string& series, const std::vector<double>& shells_) {
    regulariser = imaging::parse_regulariser(regulariser_);
    if (lambda) solve.lambda = *lambda;
    if (!solver.empty()) solve.solver = imaging::parse_solver(solver);
    series_denoise = imaging::parse_series_step(series);
    shells = shells_;
  }
};

/// Where values lie that no file has: [volumes, nz, ny, nx].
io::Nifti header_of(const Values& values, const std::array<double, 3>& spacing, const Rows& affine) {
  io::Nifti file;
  const auto extent = [&](std::size_t axis) { return static_cast<std::int64_t>(values.shape(axis)); };
  file.shape = {extent(3), extent(2), extent(1), extent(0)};
  file.spacing = spacing;
  file.affine = affine;
  return file;
}

/// An image's values with its axes in the file's order reversed, as they lie in memory: [channels, nz, ny,
/// nx] or [nz, ny, nx].
Array<float> array_of_file(io::Nifti file) {
  std::vector<std::size_t> shape;
  for (const std::int64_t extent : file.shape) shape.insert(shape.begin(), static_cast<std::size_t>(extent));
  auto kept = std::make_unique<std::vector<float>>(std::move(file.data));
  void* const data = kept->data();
  const nb::capsule owner(kept.get(), [](void* v) noexcept { delete static_cast<std::vector<float>*>(v); });
  kept.release();
  return Array<float>(data, shape.size(), shape.data(), owner);
}

struct Denoised {
  imaging::DenoiseInput input;
  imaging::DenoiseReport report;
  imaging::TensorMaps maps;
};

Dictionary told(const Denoised& done) {
  const imaging::DenoiseInput& in = done.input;
  Dictionary all;
  all["regulariser"] = std::string(name(in.regulariser));
  // Where total variation was minimised, or where there is none the series was denoised.
  const bool variation =
      in.regulariser == imaging::Regulariser::tv || in.regulariser == imaging::Regulariser::tgv;
  all["device"] = name(!variation && in.series && in.series->denoised.done ? in.series->denoised.done->device
                                                                           : done.report.device);
  all["mask"] = in.mask.origin;
  all["voxels"] = in.mask.inside;
  all["lambda"] = done.report.lambda;
  all["iterations"] = done.report.iterations;
  all["gap"] = done.report.gap;
  all["negative_before"] = done.report.projected;
  if (in.series) {
    nb::typed<nb::dict, nb::int_, nb::int_> used;
    for (const auto& [b, volumes] : in.series->used) used[nb::int_(b)] = volumes;
    all["shells"] = used;
    if (!in.series->remark.empty()) all["remark"] = in.series->remark;
    all["series_denoised"] = in.series->denoised.done.has_value();
    all["series_why_not"] = in.series->denoised.why_not;
    all["noise"] = in.series->denoised.median_noise;
    all["rank"] = in.series->denoised.median_rank;
  }
  return all;
}

/// @param values  none: `input` is a file. @param own_mask  in place of `mask`
/// @param on_gpu  the address of the same values in a GPU's memory, or 0
auto denoise(const std::string& input, const std::optional<Values>& values,
             const std::array<double, 3>& spacing, const Rows& affine, const std::string& bval,
             const std::string& bvec, const std::string& grad,
             const std::optional<std::pair<View1<const double>, View2<const double>>>& gradients,
             const std::string& mask, const std::optional<View<const std::uint8_t, nb::ndim<3>>>& own_mask,
             const std::string& order, const std::string& regulariser, std::optional<double> lambda,
             const std::string& solver, const std::string& series, const std::vector<double>& shells,
             const std::vector<std::string>& maps, std::uintptr_t on_gpu, const Asked& asked) {
  Request request;
  request.input = input;
  request.bval = bval;
  request.bvec = bvec;
  request.grad = grad;
  if (gradients) {
    const auto& [b, directions] = *gradients;
    request.gradients = {.b = {b.data(), b.data() + b.size()},
                         .directions = {directions.data(), directions.data() + directions.size()},
                         .rows = static_cast<std::int64_t>(directions.shape(0))};
  }
  request.mask = mask;
  if (own_mask) {
    if (values)  // of a file it is known later
      for (const std::size_t axis : {0, 1, 2})
        if (own_mask->shape(axis) != values->shape(axis + 1))
          throw BadInput("mask: [" + std::to_string(own_mask->shape(2)) + ", " +
                         std::to_string(own_mask->shape(1)) + ", " + std::to_string(own_mask->shape(0)) +
                         "] is not the image's shape");
    request.own_mask.emplace(own_mask->data(), own_mask->data() + own_mask->size());
  }
  request.maps = maps;
  request.set(regulariser, lambda, solver, series, shells);
  if (!order.empty()) request.order = imaging::parse_tensor_order(order);
  check(request);
  Denoised done = run_asked(asked, Length::long_, [&](const Run& run) {
    request.solve.run = run;
    const RunScope scope(run);
    Denoised made;
    if (!values) {
      made.input = imaging::read_denoise_input(request);
    } else if (request.kind() == imaging::ImageKind::series) {
      imaging::Series of{.header = header_of(*values, spacing, affine)};
      const std::vector<std::int64_t>& shape = of.header.shape;
      of.view = image_of(*values, spacing);
      // In one piece it is read where it is; else it is gathered once, for the fit walks through it by
      // volumes.
      if (of.view.strided != nullptr) of.image = gathered(std::exchange(of.view, {}));
      of.view.on_gpu = reinterpret_cast<const float*>(on_gpu);
      of.gradients = imaging::read_gradients(request, shape[3], request.b0_threshold);
      made.input = imaging::denoise_input(std::move(of), request);
    } else {
      io::Nifti file = header_of(*values, spacing, affine);
      file.data = gathered(image_of(*values, spacing)).data;  // which becomes the result
      made.input = imaging::denoise_input(std::move(file), request);
    }
    made.report = imaging::denoise(made.input, request);
    made.maps = imaging::output_maps(made.input, request);
    return made;
  });
  Dictionary report = told(done);
  nb::typed<nb::dict, nb::str, Array<float>> all;
  const std::array<std::array<double, 4>, 3> place = done.input.header.affine;
  for (const std::string& map : request.maps_of(request.kind()))
    all[map.c_str()] = array_of_file(imaging::take_map(map, done.input, done.maps, request));
  all["tensor"] = array_of_file(imaging::take_image(done.input, request));
  return std::tuple(std::move(all), std::move(report), place);
}

}  // namespace

void bind_denoise(nb::module_& module) {
  module.def("denoise", &denoise, nb::arg("input"), nb::arg("values").none(), nb::arg("spacing"),
             nb::arg("affine"), nb::arg("bval"), nb::arg("bvec"), nb::arg("grad"),
             nb::arg("gradients").none(), nb::arg("mask"), nb::arg("own_mask").none(), nb::arg("order"),
             nb::arg("regulariser"), nb::arg("lambda_").none(), nb::arg("solver"), nb::arg("series"),
             nb::arg("shells"), nb::arg("maps"), nb::arg("on_gpu"), nb::arg("asked"));
}

}  // namespace warploom::python
