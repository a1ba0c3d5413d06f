#include "registration/measure.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/doors.hpp"
#include "warploom/core/error.hpp"

namespace warploom::registration {

Measure parse_measure(std::string_view text) {
  for (const Measure measure : {Measure::lncc, Measure::nmi, Measure::ssd, Measure::ngf})
    if (text == name(measure)) return measure;
  throw BadInput(fmt::format("'{}' is no measure; there are lncc, nmi, ssd and ngf", text));
}

std::string_view name(Measure measure) {
  static constexpr std::string_view kNames[] = {"lncc", "nmi", "ssd", "ngf"};
  return at_enumerator(kNames, measure, "the measure");
}

std::unique_ptr<ImageMeasure> make_measure(Measure measure, int radius, const GridSize& grid,
                                           const std::array<double, 3>& spacing, std::int64_t voxels) {
  return measure == Measure::lncc  ? make_lncc(radius, grid, voxels)
         : measure == Measure::nmi ? make_nmi(grid, voxels)
         : measure == Measure::ngf ? make_ngf(grid, spacing, voxels)
                                   : make_ssd(grid, voxels);
}

MeasuredImages measure_images(const imaging::Image& fixed, const imaging::Image& moving, Measure measure,
                              int radius) {
  fixed.check("the fixed image");
  moving.check("the moving image");
  if (fixed.grid.nx != moving.grid.nx || fixed.grid.ny != moving.grid.ny || fixed.grid.nz != moving.grid.nz)
    throw BadInput("the fixed and the moving image are on different grids; resample one of them first");
  if (fixed.channels != 1 || moving.channels != 1)
    throw BadInput(fmt::format("images of one value a voxel are measured, not of {} and {}", fixed.channels,
                               moving.channels));
  if (radius < 1 || radius > 8)
    throw BadInput(fmt::format("a radius of {} is out of range; it is from 1 to 8", radius));
  name(measure);

  const GridSize grid{fixed.grid.nx, fixed.grid.ny, fixed.grid.nz};
  const auto count = static_cast<std::size_t>(grid.voxels());
  const auto of = make_measure(measure, radius, grid, fixed.grid.spacing, grid.voxels());
  MeasuredImages out{of->value(fixed.data.data(), moving.data.data(), nullptr), std::vector<float>(count),
                     std::vector<float>(count)};
  const auto share = static_cast<float>(1.0 / static_cast<double>(count));
  for_strips(grid, [&](const Strip& strip, std::int64_t) {
    of->derivative(strip, [&](std::int64_t y, const float* a, const float* b) {
      const auto at = static_cast<std::size_t>((strip.z * grid.ny + y) * grid.nx);
      for (std::size_t x = 0; x < static_cast<std::size_t>(grid.nx); ++x)
        out.by_fixed[at + x] = a[x] * share, out.by_moving[at + x] = b[x] * share;
    });
  });
  return out;
}

}  // namespace warploom::registration
