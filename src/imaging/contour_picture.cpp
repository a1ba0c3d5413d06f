#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "warploom/core/error.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/imaging/contour.hpp"

namespace warploom::imaging {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLineWidth = 1.6;  // [pixels of the picture]
constexpr std::array<double, 3> kLineColour{255, 64, 32};
constexpr std::int64_t kMostSlices = 20, kGap = 4;
constexpr double kMostPixels = 1 << 28;  // of a plane: so many are no picture that somebody looks at

std::span<const float> slice(const Image& image, std::int64_t z) {
  const std::int64_t plane = image.grid.nx * image.grid.ny;
  return std::span(image.data).subspan(static_cast<std::size_t>(z * plane), static_cast<std::size_t>(plane));
}

/// How a slice lies in the picture.
struct Frame {
  std::int64_t left = 0, top = 0, width = 0, height = 0;  ///< [pixels of the picture]
  double scale_x = 1, scale_y = 1;                        ///< pixels of the picture a pixel of the image
  bool upwards = false;

  double picture_x(double x) const { return (x + 0.5) * scale_x; }
  double picture_y(double y) const {
    const double down = (y + 0.5) * scale_y;
    return upwards ? static_cast<double>(height) - down : down;
  }
};

/// Shared out so that the smaller spacing is a whole number of pixels, and `target` is reached on the longer
/// side; a plane that is larger stays as it is.
Frame frame(const Grid& grid, double target, bool upwards) {
  for (const double spacing : {grid.spacing[0], grid.spacing[1]})
    if (!(spacing > 0 && std::isfinite(spacing)))
      throw BadInput(fmt::format("the distance of voxels is {}, it must be finite and above 0", spacing));
  const double smaller = std::min(grid.spacing[0], grid.spacing[1]);
  const double wide = static_cast<double>(grid.nx) * grid.spacing[0] / smaller;
  const double high = static_cast<double>(grid.ny) * grid.spacing[1] / smaller;
  const double scale = std::max(1.0, std::floor(target / std::max(wide, high)));
  if (!(scale * wide * scale * high <= kMostPixels))
    throw BadInput(
        fmt::format("a plane of {} x {} voxels, {} x {} mm apart, makes a picture of more than {} pixels",
                    grid.nx, grid.ny, grid.spacing[0], grid.spacing[1], kMostPixels));
  Frame out;
  out.upwards = upwards;
  out.scale_x = scale * grid.spacing[0] / smaller;
  out.scale_y = scale * grid.spacing[1] / smaller;
  out.width = std::max<std::int64_t>(1, std::llround(scale * wide));
  out.height = std::max<std::int64_t>(1, std::llround(scale * high));
  return out;
}

void blend(io::Picture& picture, std::int64_t x, std::int64_t y, double cover) {
  for (std::size_t c = 0; c < 3; ++c) {
    std::uint16_t& value = picture.data[static_cast<std::size_t>(y * picture.width + x) * 3 + c];
    value = static_cast<std::uint16_t>(std::lround((1 - cover) * value + cover * kLineColour[c]));
  }
}

/// Lays cover [0, 1] of a line from p to q over `covers`, where it is more than what is there.
void draw_line(std::vector<float>& covers, const Frame& f, std::array<double, 2> p, std::array<double, 2> q) {
  const double reach = kLineWidth / 2 + 1;
  const auto from = [&](double a, double b) {
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(std::min(a, b) - reach)));
  };
  const auto to = [&](double a, double b, std::int64_t n) {
    return std::min(n, static_cast<std::int64_t>(std::ceil(std::max(a, b) + reach)) + 1);
  };
  const double dx = q[0] - p[0], dy = q[1] - p[1], square = dx * dx + dy * dy;
  for (std::int64_t y = from(p[1], q[1]); y < to(p[1], q[1], f.height); ++y)
    for (std::int64_t x = from(p[0], q[0]); x < to(p[0], q[0], f.width); ++x) {
      const double px = static_cast<double>(x) + 0.5 - p[0], py = static_cast<double>(y) + 0.5 - p[1];
      const double along = square > 0 ? std::clamp((px * dx + py * dy) / square, 0.0, 1.0) : 0;
      const double distance = std::hypot(px - along * dx, py - along * dy);
      float& cover = covers[static_cast<std::size_t>(y * f.width + x)];
      cover = std::max(cover, static_cast<float>(std::clamp(kLineWidth / 2 + 0.5 - distance, 0.0, 1.0)));
    }
}

void draw_slice(io::Picture& picture, const Frame& f, std::span<const float> plane, const Grid& grid,
                const std::vector<Contour>& contours, double low, double high) {
  parallel_for(f.height, [&](std::int64_t row) {
    const double down = (static_cast<double>(row) + 0.5) / f.scale_y;
    const std::int64_t straight = std::clamp<std::int64_t>(static_cast<std::int64_t>(down), 0, grid.ny - 1);
    const std::int64_t y = f.upwards ? grid.ny - 1 - straight : straight;
    for (std::int64_t column = 0; column < f.width; ++column) {
      const auto x = std::clamp<std::int64_t>(
          static_cast<std::int64_t>((static_cast<double>(column) + 0.5) / f.scale_x), 0, grid.nx - 1);
      const double value = double(plane[static_cast<std::size_t>(y * grid.nx + x)]);
      // What is no number is black.
      const double share = std::isnan(value) ? 0 : std::clamp((value - low) / (high - low), 0.0, 1.0);
      const auto grey = static_cast<std::uint16_t>(std::lround(255 * share));
      std::fill_n(picture.data.begin() + ((f.top + row) * picture.width + f.left + column) * 3, 3, grey);
    }
  });
  std::vector<float> covers(static_cast<std::size_t>(f.width * f.height));
  for (const Contour& contour : contours) {
    const std::size_t n = contour.points.size();
    for (std::size_t k = 0; k + (contour.closed ? 0 : 1) < n; ++k) {
      const auto &p = contour.points[k], &q = contour.points[(k + 1) % n];
      draw_line(covers, f, {f.picture_x(p[0]), f.picture_y(p[1])}, {f.picture_x(q[0]), f.picture_y(q[1])});
    }
  }
  for (std::int64_t y = 0; y < f.height; ++y)
    for (std::int64_t x = 0; x < f.width; ++x)
      if (const float cover = covers[static_cast<std::size_t>(y * f.width + x)]; cover > 0)
        blend(picture, f.left + x, f.top + y, double(cover));
}

/// At most kMostSlices, evenly from the first to the last that has a contour; the middle if none has.
std::vector<std::int64_t> shown_slices(const SliceContours& contours) {
  const auto has = [](const auto& slice_lines) { return !slice_lines.empty(); };
  const auto first = std::ranges::find_if(contours, has);
  if (first == contours.end()) return {std::ssize(contours) / 2};
  const auto last = std::find_if(contours.rbegin(), contours.rend(), has).base() - 1;
  const std::int64_t from = first - contours.begin(), span = last - first,
                     count = std::min(span + 1, kMostSlices);
  std::vector<std::int64_t> out;
  for (std::int64_t k = 0; k < count; ++k) out.push_back(from + (count > 1 ? k * span / (count - 1) : 0));
  return out;
}

std::pair<double, double> window(const Image& image) {
  std::vector<float> sorted;
  const std::size_t step = image.data.size() / 1'000'000 + 1;  // a sample is enough
  for (std::size_t v = 0; v < image.data.size(); v += step)
    if (std::isfinite(image.data[v])) sorted.push_back(image.data[v]);
  if (sorted.empty()) return {0, 1};
  std::ranges::sort(sorted);
  const double low = double(sorted[sorted.size() / 100]),
               high = double(sorted[sorted.size() - 1 - sorted.size() / 100]);
  if (low < high) return {low, high};
  return {double(sorted.front()),
          std::max(double(sorted.back()), std::nextafter(double(sorted.front()), kInfinity))};
}

}  // namespace

SliceContours slice_contours(const Image& level_set) {
  level_set.check("the level set");
  SliceContours out(static_cast<std::size_t>(level_set.grid.nz));
  parallel_for(level_set.grid.nz, [&](std::int64_t z) {
    out[static_cast<std::size_t>(z)] =
        zero_contours(slice(level_set, z), level_set.grid.nx, level_set.grid.ny);
  });
  return out;
}

std::string contour_svg(const std::vector<Contour>& contours, const Grid& grid) {
  std::string path;
  for (const Contour& contour : contours) {
    for (std::size_t k = 0; k < contour.points.size(); ++k)
      path += fmt::format("{}{:.3f} {:.3f}", k == 0 ? "M" : "L", contour.points[k][0] + 0.5,
                          contour.points[k][1] + 0.5);
    path += contour.closed ? "Z\n" : "\n";
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "role=\"img\" aria-label=\"The contour of a segmentation: {3} line{4} in an image of {0} x {1} pixels\">\n"
      "<path fill=\"none\" stroke=\"#ff4020\" stroke-width=\"1\" vector-effect=\"non-scaling-stroke\" d=\"\n{2}\"/>\n"
      "</svg>\n",
      grid.nx, grid.ny, path, contours.size(), contours.size() == 1 ? "" : "s");
}

io::Picture overlay(const Image& image, const SliceContours& contours, bool upwards) {
  image.check();
  if (std::ssize(contours) != image.grid.nz)
    throw BadInput(
        fmt::format("there are contours of {} slices, and the image has {}", contours.size(), image.grid.nz));
  for (const auto& lines : contours)
    for (const Contour& line : lines)
      for (const auto& [x, y] : line.points)
        if (!std::isfinite(x) || !std::isfinite(y))
          throw BadInput(fmt::format("a contour has the point ({}, {}); it must be finite", x, y));
  const std::vector<std::int64_t> slices = shown_slices(contours);
  const std::int64_t columns =
                         static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(slices.size())))),
                     rows = (std::ssize(slices) + columns - 1) / columns;
  Frame f = frame(image.grid, slices.size() > 1 ? 256 : 768, upwards);
  const auto [low, high] = window(image);
  io::Picture picture{.width = columns * (f.width + kGap) - kGap,
                      .height = rows * (f.height + kGap) - kGap,
                      .channels = 3,
                      .data = {}};
  picture.data.assign(static_cast<std::size_t>(picture.width * picture.height * 3), 0);
  for (std::int64_t k = 0; k < std::ssize(slices); ++k) {
    const std::int64_t z = slices[static_cast<std::size_t>(k)];
    f.left = k % columns * (f.width + kGap);
    f.top = k / columns * (f.height + kGap);
    draw_slice(picture, f, slice(image, z), image.grid, contours[static_cast<std::size_t>(z)], low, high);
  }
  return picture;
}

}  // namespace warploom::imaging
