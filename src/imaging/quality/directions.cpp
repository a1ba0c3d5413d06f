#include "imaging/quality/directions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "imaging/quality/maps.hpp"
#include "imaging/voxels.hpp"
#include "warploom/imaging/maps.hpp"
#include "warploom/page/text.hpp"

namespace warploom::imaging {
namespace {

constexpr std::int64_t kWindow = 30;
constexpr double kLeastAnisotropy = 0.15;

double anisotropy(const Image& tensors, const QualityPage& page, std::size_t voxel) {
  return inside(page.mask, voxel) ? fractional_anisotropy(tensor_at(tensors, voxel)) : 0;
}

}  // namespace

SliceWindow most_anisotropic(const SlicePlane& plane, const QualityPage& page) {
  SliceWindow window{0, 0, std::min(kWindow, plane.width), std::min(kWindow, plane.height)};
  // sums[row][column]: of FA above and to the left.
  const auto columns = static_cast<std::size_t>(plane.width + 1);
  std::vector<double> sums(columns * static_cast<std::size_t>(plane.height + 1));
  const auto at = [&](std::int64_t column, std::int64_t row) -> double& {
    return sums[static_cast<std::size_t>(row) * columns + static_cast<std::size_t>(column)];
  };
  for (std::int64_t row = 0; row < plane.height; ++row)
    for (std::int64_t column = 0; column < plane.width; ++column)
      at(column + 1, row + 1) = at(column, row + 1) + at(column + 1, row) - at(column, row) +
                                anisotropy(page.clean, page, plane.voxel(column, row));
  double best = -1;
  for (std::int64_t row = 0; row + window.height <= plane.height; ++row)
    for (std::int64_t column = 0; column + window.width <= plane.width; ++column) {
      const double sum = at(column + window.width, row + window.height) - at(column, row + window.height) -
                         at(column + window.width, row) + at(column, row);
      if (sum <= best) continue;
      best = sum;
      window.column = column;
      window.row = row;
    }
  return window;
}

std::string direction_picture(const SlicePlane& plane, const SliceWindow& window, const Image& tensors,
                              const QualityPage& page, const std::string& label) {
  const Anatomy body = anatomy(page.affine);
  const double width = static_cast<double>(window.width) * plane.column_mm,
               height = static_cast<double>(window.height) * plane.row_mm;
  const io::Picture ground = picture(plane, window, [&](std::size_t v) {
    const double fa = 0.55 * anisotropy(tensors, page, v);
    return std::array{fa, fa, fa};
  });
  const double half = 0.46 * std::min(plane.column_mm, plane.row_mm);
  std::string out = fmt::format(
      "<svg class=\"directions\" viewBox=\"0 0 {0:.6g} {1:.6g}\" role=\"img\" aria-label=\"{4}\"><image href=\"{2}\" width=\"{0:.6g}\" "
      "height=\"{1:.6g}\" preserveAspectRatio=\"none\"/><g stroke-width=\"{3:.3g}\">",
      width, height, data_address(ground), 0.3 * half, page::escaped(label));
  for (std::int64_t row = 0; row < window.height; ++row)
    for (std::int64_t column = 0; column < window.width; ++column) {
      const std::size_t voxel = plane.voxel(window.column + column, window.row + row);
      if (anisotropy(tensors, page, voxel) < kLeastAnisotropy) continue;
      const auto v = to_image_axes(eigen(tensor_at(tensors, voxel)).vectors[0], page);
      const double x = (static_cast<double>(column) + 0.5) * plane.column_mm,
                   y = (static_cast<double>(row) + 0.5) * plane.row_mm;
      const double dx = half * v[static_cast<std::size_t>(plane.across)] * (plane.across_reversed ? -1 : 1),
                   dy = half * v[static_cast<std::size_t>(plane.down)] * (plane.down_reversed ? -1 : 1);
      const auto colour = direction_colour(v, body);
      const double brightest = std::ranges::max(colour);
      out += fmt::format("<path d=\"M{:.2f} {:.2f}L{:.2f} {:.2f}\" stroke=\"#{:02x}{:02x}{:02x}\"/>", x - dx,
                         y - dy, x + dx, y + dy, std::lround(255 * colour[0] / brightest),
                         std::lround(255 * colour[1] / brightest), std::lround(255 * colour[2] / brightest));
    }
  return out + "</g></svg>";
}

}  // namespace warploom::imaging
