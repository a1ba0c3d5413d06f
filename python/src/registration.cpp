#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <variant>

#include "images.hpp"
#include "module.hpp"
#include "warploom/core/error.hpp"
#include "warploom/registration/resample.hpp"
#include "warploom/registration/transform.hpp"
#include "warploom/registration/workflow.hpp"

namespace warploom::python {
namespace {

using registration::Affine;
using registration::PlacedImage;
using registration::PlacedView;
using Volume = Strided<const float, nb::ndim<3>>;
using MaskView = View<const std::uint8_t, nb::ndim<3>>;

/// Where the array has its values.
PlacedView placed(const Volume& values, const std::array<double, 3>& spacing, const Affine& affine,
                  std::uintptr_t on_gpu = 0) {
  PlacedView view;
  view.image = image_of(values, spacing);
  view.image.on_gpu = reinterpret_cast<const float*>(on_gpu);
  view.to_world = affine;
  return view;
}

imaging::Mask mask_of(const std::optional<MaskView>& mask) {
  return mask ? imaging::Mask(mask->data(), mask->data() + mask->size()) : imaging::Mask{};
}

Array<float> array_of_image(imaging::Image image) {
  const auto extent = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  return array_of<float, float>(std::move(image.data),
                                {extent(image.grid.nz), extent(image.grid.ny), extent(image.grid.nx)});
}

Array<float> array_of_field(std::vector<float> mm, const imaging::Grid& grid) {
  const auto extent = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  return array_of<float, float>(std::move(mm), {3, extent(grid.nz), extent(grid.ny), extent(grid.nx)});
}

/// What registration found, and what follows from it.
class Registered {
 public:
  Registered(const Volume& fixed, const std::array<double, 3>& fixed_spacing, const Affine& fixed_affine,
             const Volume& moving, const std::array<double, 3>& moving_spacing, const Affine& moving_affine,
             const std::string& method, const std::string& measure, int radius,
             std::optional<std::vector<int>> levels, std::optional<Affine> start, bool keep_start,
             const std::optional<MaskView>& fixed_mask, const std::optional<MaskView>& moving_mask,
             bool allow_folds, const std::array<std::uintptr_t, 2>& on_gpu, const Asked& asked)
      : kept_(moving) {
    const PlacedView still = placed(fixed, fixed_spacing, fixed_affine, on_gpu[0]);
    moving_ = placed(moving, moving_spacing, moving_affine, on_gpu[1]);
    registration::RegisterOptions options{.method = registration::parse_method(method),
                                          .keep_start = keep_start};
    options.align.measure = registration::parse_measure(measure);
    options.align.radius = radius;
    options.align.start = start;
    options.align.fixed_mask = mask_of(fixed_mask);
    options.align.moving_mask = mask_of(moving_mask);
    options.deform.allow_folds = allow_folds;
    if (levels) options.deform.iterations = *levels;
    found_ = run_asked(asked, Length::long_, [&](const Run& run) {
      options.align.run = run;
      const RunScope scope(run);
      return registration::register_images(still, moving_, options);
    });
    moving_.image.on_gpu = nullptr;  // what is there is the caller's again
    chain_[0].map = std::move(found_.field);
  }

  /// @param values  in the moving image's world
  Array<float> apply(const Volume& values, const std::array<double, 3>& spacing, const Affine& affine,
                     const std::string& interpolation, float outside, const Asked& asked) const {
    return resampled(placed(values, spacing, affine), registration::parse_interpolation(interpolation),
                     outside, asked);
  }
  Array<float> warped(const Asked& asked) const {
    return resampled(moving_, registration::Interpolation::linear, 0, asked);
  }
  Affine affine() const { return found_.affine; }
  Array<float> field() const { return array_of_field(map().mm, map().space.grid); }
  Array<float> inverse(const Asked& asked) const {
    registration::InverseField inverted = run_asked(asked, Length::long_, [&](const Run& run) {
      const RunScope scope(run);
      return registration::invert(map(), moving_.space());
    });
    return array_of_field(std::move(inverted.field.mm), inverted.field.space.grid);
  }
  Array<float> jacobian() const { return array_of_image(registration::jacobian_determinant(map())); }
  nb::typed<nb::dict, nb::str, nb::object> report() const {
    nb::typed<nb::dict, nb::str, nb::object> all;
    if (found_.align) {
      all["measure_before"] = found_.align->before;
      all["measure_after"] = found_.align->after;
    }
    if (found_.deform) {
      all["iterations"] = found_.deform->iterations;
      all["measure"] = found_.deform->measure;
    }
    const registration::FoldCertificate& c = found_.certificate;
    all["proved_none_folded"] = c.proved();
    all["smallest_determinant"] = c.smallest_determinant;
    all["mean_displacement"] = found_.mean_displacement;
    all["largest_displacement"] = found_.largest_displacement;
    return all;
  }

 private:
  const registration::DisplacementField& map() const {
    return std::get<registration::DisplacementField>(chain_[0].map);
  }
  Array<float> resampled(const PlacedView& image, registration::Interpolation how, float outside,
                         const Asked& asked) const {
    PlacedImage made = run_asked(asked, Length::long_, [&](const Run& run) {
      const RunScope scope(run);
      return registration::resample(image, map().space, chain_, how, outside);
    });
    return array_of_image(std::move(made.image));
  }

  Volume kept_;  // whose values moving_ views
  PlacedView moving_ = {};
  registration::Registration found_;  // but for the field
  registration::TransformChain chain_ = registration::TransformChain(1);
};

}  // namespace

void bind_registration(nb::module_& module) {
  using Spacing = const std::array<double, 3>&;
  nb::class_<Registered>(module, "Registered")
      .def(nb::init<const Volume&, Spacing, const Affine&, const Volume&, Spacing, const Affine&,
                    const std::string&, const std::string&, int, std::optional<std::vector<int>>,
                    std::optional<Affine>, bool, const std::optional<MaskView>&,
                    const std::optional<MaskView>&, bool, const std::array<std::uintptr_t, 2>&,
                    const Asked&>(),
           nb::arg("fixed").noconvert(), nb::arg("fixed_spacing"), nb::arg("fixed_affine"),
           nb::arg("moving").noconvert(), nb::arg("moving_spacing"), nb::arg("moving_affine"),
           nb::arg("method"), nb::arg("measure"), nb::arg("radius"), nb::arg("levels").none(),
           nb::arg("start").none(), nb::arg("keep_start"), nb::arg("fixed_mask").none(),
           nb::arg("moving_mask").none(), nb::arg("allow_folds"), nb::arg("on_gpu"), nb::arg("asked"))
      .def("apply", &Registered::apply)
      .def("warped", &Registered::warped)
      .def("affine", &Registered::affine)
      .def("field", &Registered::field)
      .def("inverse", &Registered::inverse)
      .def("jacobian", &Registered::jacobian)
      .def("report", &Registered::report);
}

}  // namespace warploom::python
