#include "warploom/registration/resample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "core/doors.hpp"
#include "registration/bspline.hpp"
#include "registration/chain_map.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::registration {
namespace {

constexpr std::array<std::string_view, 4> kInterpolations{"linear", "cubic", "nearest", "labels"};

/// Of the labels at the corners the one of the greatest weight.
float winning_label(const float* labels, const Corners& corners) {
  std::array<float, 8> label{};
  for (unsigned n = 0; n < 8; ++n) label[n] = labels[corners.voxel(n)];
  if (std::ranges::all_of(label, [&](float l) { return l == label[0]; })) return label[0];
  const std::array<double, 8> weight = corners.weights();
  float best = 0;
  double most = -1;
  for (unsigned n = 0; n < 8; ++n) {
    double sum = 0;
    for (unsigned m = 0; m < 8; ++m) sum += label[m] == label[n] ? weight[m] : 0;
    if (sum > most || (sum == most && label[n] < best)) most = sum, best = label[n];
  }
  return best;
}

/// One channel's value at an index within the faces.
float value_at(Interpolation interpolation, const float* values, const Extents& extents, const Point& index) {
  switch (interpolation) {
    case Interpolation::linear:
      return static_cast<float>(Corners(extents, index).mean(values));
    case Interpolation::cubic:
      return static_cast<float>(spline_value(values, extents, index));
    case Interpolation::labels:
      return winning_label(values, Corners(extents, index));
    case Interpolation::nearest:
      break;
  }
  std::int64_t voxel = 0;
  for (std::size_t axis = 0; axis < 3; ++axis)
    voxel += std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(index[axis] + 0.5)), 0,
                                      extents.size[axis] - 1) *
             extents.stride[axis];
  return values[voxel];
}

}  // namespace

Interpolation parse_interpolation(std::string_view text) {
  const auto found = std::ranges::find(kInterpolations, text);
  if (found == kInterpolations.end())
    throw BadInput(fmt::format("interpolation '{}': there are linear, cubic, nearest and labels", text));
  return static_cast<Interpolation>(found - kInterpolations.begin());
}

std::string_view name(Interpolation interpolation) {
  return at_enumerator(kInterpolations, interpolation, "the interpolation");
}

PlacedImage resample(const PlacedView& moving, const Space& fixed, const TransformChain& chain,
                     Interpolation interpolation, float outside) {
  static_cast<void>(name(interpolation));
  moving.check("the moving image");
  fixed.check("the fixed image's space");
  const ChainMap map(chain);
  const Affine to_index = inverse(moving.to_world);
  const imaging::Grid& grid = fixed.grid;
  const auto channels = static_cast<std::size_t>(moving.image.channels);
  PlacedImage out{imaging::Image(grid, moving.image.channels), fixed.to_world, moving.type, moving.code};

  imaging::Image coefficients;
  imaging::ImageView source = moving.image;
  if (interpolation == Interpolation::cubic) {
    require_memory_for(source.size(), sizeof(float), "the coefficients of cubic interpolation");
    coefficients = imaging::gathered(source);
    for (int c = 0; c < coefficients.channels; ++c)
      to_coefficients(coefficients.channel(c), coefficients.grid);
    source = coefficients;
  }
  Extents extents(source.grid);
  const float* first = source.data.data();
  auto from_voxels = source.grid.voxels();
  const std::size_t to_voxels = out.image.data.size() / channels;
  if (source.strided != nullptr) {
    first = source.strided;
    std::copy_n(source.strides.begin(), 3, extents.stride.begin());
    from_voxels = source.strides[3];
  }
  std::atomic<bool> any_inside = false;
  parallel_for(grid.ny * grid.nz, [&](std::int64_t row) {
    check_interrupt();
    std::vector<Point> points(static_cast<std::size_t>(grid.nx));
    map.row(fixed, row % grid.ny, row / grid.ny, points);
    float* to = out.image.data.data() + row * grid.nx;
    bool row_inside = false;
    for (std::size_t x = 0; x < points.size(); ++x) {
      const Point index = map_point(to_index, points[x]);
      const bool inside = extents.contains(index);
      row_inside = row_inside || inside;
      for (std::size_t c = 0; c < channels; ++c)
        to[c * to_voxels + x] =
            inside
                ? value_at(interpolation, first + static_cast<std::int64_t>(c) * from_voxels, extents, index)
                : outside;
    }
    if (row_inside) any_inside = true;
  });
  if (!any_inside)
    log(LogLevel::warning,
        "no voxel of the result lies in the moving image: do the transforms belong to these two images, and are they in their order?");
  return out;
}

}  // namespace warploom::registration
