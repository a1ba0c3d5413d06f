#include "warploom/imaging/slices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "imaging/embedded.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/page/base64.hpp"

namespace warploom::imaging {
namespace {

/// How the three planes are looked at; dimensions 0 left-right, 1 back-front, 2 feet-head.
struct View {
  const char* name;
  int across, down, through;
  const char *left, *right, *top, *bottom;
};
// Columns run from the right to the left, and from the front to the back; rows from the front or head down.
constexpr std::array<View, 3> kViews{{{"axial", 0, 1, 2, "R", "L", "A", "P"},
                                      {"coronal", 0, 2, 1, "R", "L", "S", "I"},
                                      {"sagittal", 1, 2, 0, "A", "P", "S", "I"}}};

std::array<std::int64_t, 3> middle(const Grid& grid, const Mask& mask) {
  std::array<double, 3> sum{};
  double count = 0;
  for (std::int64_t v = 0; v < std::ssize(mask); ++v) {
    if (mask[static_cast<std::size_t>(v)] == 0) continue;
    const std::array<std::int64_t, 3> at{v % grid.nx, v / grid.nx % grid.ny, v / grid.nx / grid.ny};
    for (std::size_t d = 0; d < 3; ++d) sum[d] += static_cast<double>(at[d]);
    ++count;
  }
  if (count == 0) return {grid.nx / 2, grid.ny / 2, grid.nz / 2};
  return {std::llround(sum[0] / count), std::llround(sum[1] / count), std::llround(sum[2] / count)};
}

void require_voxels(const Grid& grid) {
  if (std::min({grid.nx, grid.ny, grid.nz}) < 1)
    throw BadInput(fmt::format("a grid of {} x {} x {} voxels has no slices", grid.nx, grid.ny, grid.nz));
  static_cast<void>(grid.voxels());
}

void require_plane(const SlicePlane& plane) {
  require_voxels(plane.grid);
  const std::array<std::int64_t, 3> extents{plane.grid.nx, plane.grid.ny, plane.grid.nz};
  const std::array<int, 3> axes{plane.across, plane.down, plane.through};
  std::array<bool, 3> used{};
  for (const int axis : axes)
    if (axis >= 0 && axis < 3) used[static_cast<std::size_t>(axis)] = true;
  if (!used[0] || !used[1] || !used[2] || plane.width != extents[static_cast<std::size_t>(plane.across)] ||
      plane.height != extents[static_cast<std::size_t>(plane.down)] || plane.slice < 0 ||
      plane.slice >= extents[static_cast<std::size_t>(plane.through)])
    throw BadInput(fmt::format("slice {} of {} x {} voxels along the axes {}, {}, {} is none of its grid",
                               plane.slice, plane.width, plane.height, plane.across, plane.down,
                               plane.through));
}

void require_window(const SlicePlane& plane, const SliceWindow& w) {
  // Differences, so that no sum overflows.
  if (w.column < 0 || w.row < 0 || w.width < 1 || w.height < 1 || w.column > plane.width - w.width ||
      w.row > plane.height - w.height)
    throw BadInput(fmt::format("a window of {} x {} at {}, {} is not in a slice of {} x {}", w.width,
                               w.height, w.column, w.row, plane.width, plane.height));
}

}  // namespace

Anatomy anatomy(const io::Affine& affine) {
  for (const auto& row : affine)
    for (const double value : row)
      if (!std::isfinite(value)) throw BadInput(fmt::format("the affine has the number {}", value));
  Anatomy out;
  std::array<bool, 3> dimension_used{}, axis_used{};
  for (int round = 0; round < 3; ++round) {
    double best = -1;
    std::size_t dimension = 0, axis = 0;
    for (std::size_t d = 0; d < 3; ++d)
      for (std::size_t a = 0; a < 3; ++a) {
        const double length = std::hypot(affine[0][a], affine[1][a], affine[2][a]);
        const double along = length > 0 ? std::abs(affine[d][a]) / length : 0;
        if (dimension_used[d] || axis_used[a] || along <= best) continue;
        best = along;
        dimension = d;
        axis = a;
      }
    dimension_used[dimension] = axis_used[axis] = true;
    out.axis[dimension] = static_cast<int>(axis);
    out.positive[dimension] = affine[dimension][axis] >= 0;
  }
  return out;
}

std::size_t SlicePlane::voxel(std::int64_t column, std::int64_t row) const {
  std::array<std::int64_t, 3> at{};
  at[static_cast<std::size_t>(across)] = across_reversed ? width - 1 - column : column;
  at[static_cast<std::size_t>(down)] = down_reversed ? height - 1 - row : row;
  at[static_cast<std::size_t>(through)] = slice;
  return static_cast<std::size_t>((at[2] * grid.ny + at[1]) * grid.nx + at[0]);
}

std::vector<SlicePlane> middle_slices(const Grid& grid, const io::Affine& affine, const Mask& mask) {
  require_voxels(grid);
  require_mask(mask, grid);
  const Anatomy body = anatomy(affine);
  const std::array<std::int64_t, 3> extents{grid.nx, grid.ny, grid.nz}, at = middle(grid, mask);
  std::vector<SlicePlane> planes;
  for (const View& view : kViews) {
    const auto dimension = [&](int d) { return static_cast<std::size_t>(d); };
    const auto axis = [&](int d) { return static_cast<std::size_t>(body.axis[dimension(d)]); };
    SlicePlane plane;
    plane.name = view.name;
    plane.left = view.left;
    plane.right = view.right;
    plane.top = view.top;
    plane.bottom = view.bottom;
    plane.across = body.axis[dimension(view.across)];
    plane.down = body.axis[dimension(view.down)];
    plane.through = body.axis[dimension(view.through)];
    plane.across_reversed = body.positive[dimension(view.across)];
    plane.down_reversed = body.positive[dimension(view.down)];
    plane.slice = at[axis(view.through)];
    plane.width = extents[axis(view.across)];
    plane.height = extents[axis(view.down)];
    plane.column_mm = grid.spacing[axis(view.across)];
    plane.row_mm = grid.spacing[axis(view.down)];
    plane.grid = grid;
    if (plane.width > 1 && plane.height > 1) planes.push_back(std::move(plane));
  }
  return planes;
}

SliceWindow around_mask(const SlicePlane& plane, const Mask& mask) {
  require_plane(plane);
  require_mask(mask, plane.grid);
  constexpr std::int64_t kMargin = 2;
  std::int64_t left = plane.width, right = -1, top = plane.height, bottom = -1;
  for (std::int64_t row = 0; row < plane.height; ++row)
    for (std::int64_t column = 0; column < plane.width; ++column) {
      if (!mask.empty() && mask[plane.voxel(column, row)] == 0) continue;
      left = std::min(left, column);
      right = std::max(right, column);
      top = std::min(top, row);
      bottom = std::max(bottom, row);
    }
  if (right < 0) return {0, 0, plane.width, plane.height};
  left = std::max<std::int64_t>(0, left - kMargin);
  top = std::max<std::int64_t>(0, top - kMargin);
  right = std::min(plane.width - 1, right + kMargin);
  bottom = std::min(plane.height - 1, bottom + kMargin);
  return {left, top, right - left + 1, bottom - top + 1};
}

io::Picture picture(const SlicePlane& plane, const SliceWindow& window,
                    const std::function<std::array<double, 3>(std::size_t)>& colour) {
  require_plane(plane);
  require_window(plane, window);
  if (!colour) throw BadInput("a picture needs a function that gives colours");
  io::Picture out;
  out.width = window.width;
  out.height = window.height;
  out.channels = 3;
  out.data.reserve(static_cast<std::size_t>(window.width * window.height * 3));
  for (std::int64_t row = 0; row < window.height; ++row)
    for (std::int64_t column = 0; column < window.width; ++column)
      for (const double part : colour(plane.voxel(window.column + column, window.row + row)))
        out.data.push_back(
            static_cast<std::uint16_t>(std::lround(255 * std::clamp(std::isnan(part) ? 0 : part, 0.0, 1.0))));
  return out;
}

std::string data_address(const io::Picture& picture) {
  return "data:image/png;base64," + page::base64(io::format_png(picture));
}

std::string slice_figure(const SlicePlane& plane, const SliceWindow& window, const io::Picture& picture,
                         const std::string& title, const std::string& key, const std::string& over,
                         std::string_view kind) {
  const double width = static_cast<double>(window.width) * plane.column_mm,
               height = static_cast<double>(window.height) * plane.row_mm;
  if (!(width > 0 && height > 0 && std::isfinite(width / height)))
    throw BadInput(fmt::format("a figure of {} x {} mm", width, height));
  // Tall slices are kept as high as square ones.
  return fmt::format(
      "<figure{}><div class=\"slice\"><div class=\"picture\" style=\"aspect-ratio:{:.4f};--most:{:.0f}%\"><img src=\"{}\" alt=\"{}, {} slice\">"
      "{}</div><i class=\"l\">{}</i><i class=\"r\">{}</i><i class=\"t\">{}</i><i class=\"b\">{}</i></div>"
      "<figcaption>{}<span>{}</span></figcaption></figure>",
      kind.empty() ? "" : fmt::format(" class=\"{}\"", kind), width / height,
      100 * std::min(1.0, width / height), data_address(picture), title, plane.name, over, plane.left,
      plane.right, plane.top, plane.bottom, title, key);
}

std::string_view slice_styles() { return embedded::quality_css; }

}  // namespace warploom::imaging
