#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string_view>

#include "arrays.hpp"
#include "module.hpp"
#include "warploom/core/error.hpp"
#include "warploom/search/distance_matrix.hpp"

namespace warploom::python {
namespace {

using View3 = View<const float, nb::ndim<3>>;

search::Sequences sequences_of(const View3& array) {
  return {array.data(), array.shape(0), array.shape(1), array.shape(2)};
}

void distance_matrix(View3 x, View3 y, View2<float> out, double band, bool normalize, bool each,
                     const Asked& asked) {
  const search::Sequences a = sequences_of(x), b = sequences_of(y);
  search::DistanceMatrixOptions options{
      .radius = search::band_radius(band, a.extent(2)),
      .normalization = normalize ? search::Normalization::z : search::Normalization::none,
      .warping = each ? search::Warping::each : search::Warping::together};
  const double cells = static_cast<double>(search::band_cells(a.extent(2), options.radius)) *
                       static_cast<double>(a.extent(0) * b.extent(0) * a.extent(1));
  run_work(asked, length_of(cells / 1e9 + 1e-6), [&](const Run& run) {
    options.run = run;
    search::distance_matrix(a, b, {out.data(), out.shape(0), out.shape(1)}, options);
  });
}

}  // namespace

void bind_search(nb::module_& module) {
  module.def("distance_matrix", &distance_matrix, nb::arg("x").noconvert(), nb::arg("y").noconvert(),
             nb::arg("out").noconvert(), nb::arg("band"), nb::arg("normalize"), nb::arg("each"),
             nb::arg("asked"));
}

}  // namespace warploom::python
