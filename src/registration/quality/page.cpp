#include "warploom/page/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "warploom/core/error.hpp"
#include "warploom/core/version.hpp"
#include "warploom/imaging/slices.hpp"
#include "warploom/page/text.hpp"
#include "warploom/registration/folding.hpp"
#include "warploom/registration/quality_page.hpp"

namespace warploom::registration {
namespace {

using imaging::SlicePlane;
using imaging::SliceWindow;
using Colour = std::array<double, 3>;

/// Of every voxel of a slice, from the upper left.
struct Place {
  std::int64_t column, row;
};

/// An image's first channel as grey from 0 to 1: its 1st to 99.5th percentile.
class Grey {
 public:
  explicit Grey(const PlacedImage& image) : values_(image.image.channel(0)) {
    constexpr std::size_t kSample = 200000;
    std::vector<float> sample;
    for (std::size_t v = 0; v < values_.size(); v += values_.size() / kSample + 1)
      if (std::isfinite(values_[v])) sample.push_back(values_[v]);
    if (sample.empty()) return;
    std::ranges::sort(sample);
    low_ = sample[sample.size() / 100];
    high_ = sample[(sample.size() - 1) * 199 / 200];
    if (high_ <= low_) high_ = std::max(sample.back(), low_ + 1);
  }
  double operator()(std::size_t voxel) const {
    const double share = double(values_[voxel] - low_) / double(high_ - low_);
    return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0;
  }

 private:
  std::span<const float> values_;
  float low_ = 0, high_ = 1;
};

/// Where a voxel of a slice is seen.
Place place_of(const SlicePlane& plane, std::size_t voxel) {
  const auto v = static_cast<std::int64_t>(voxel);
  const std::array<std::int64_t, 3> at{v % plane.grid.nx, v / plane.grid.nx % plane.grid.ny,
                                       v / (plane.grid.nx * plane.grid.ny)};
  const std::int64_t across = at[static_cast<std::size_t>(plane.across)],
                     down = at[static_cast<std::size_t>(plane.down)];
  return {plane.across_reversed ? plane.width - 1 - across : across,
          plane.down_reversed ? plane.height - 1 - down : down};
}

/// The edges of an image in a slice: where its gradient is long, and longest across the edge.
class Edges {
 public:
  Edges(const SlicePlane& plane, const Grey& image) : plane_(plane), image_(image) {
    std::vector<double> slopes;
    for (std::int64_t row = 0; row < plane.height; ++row)
      for (std::int64_t column = 0; column < plane.width; ++column)
        if (const double s = slope({column, row}); s > kFlat) slopes.push_back(s);
    if (slopes.empty()) return;
    const auto middle = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() / 2);
    std::ranges::nth_element(slopes, middle);
    least_ = *middle;
  }
  bool operator()(std::size_t voxel) const {
    const Place p = place_of(plane_, voxel);
    const double here = slope(p);
    if (here < least_) return false;
    const bool upright = std::abs(across(p)) > std::abs(along(p));
    const Place before = upright ? Place{p.column - 1, p.row} : Place{p.column, p.row - 1},
                behind = upright ? Place{p.column + 1, p.row} : Place{p.column, p.row + 1};
    return here >= slope(before) && here > slope(behind);
  }

 private:
  static constexpr double kFlat = 0.02;
  double at(std::int64_t column, std::int64_t row) const {
    return image_(plane_.voxel(std::clamp<std::int64_t>(column, 0, plane_.width - 1),
                               std::clamp<std::int64_t>(row, 0, plane_.height - 1)));
  }
  double across(Place p) const { return at(p.column + 1, p.row) - at(p.column - 1, p.row); }
  double along(Place p) const { return at(p.column, p.row + 1) - at(p.column, p.row - 1); }
  double slope(Place p) const { return std::hypot(across(p), along(p)); }

  const SlicePlane& plane_;
  const Grey& image_;
  double least_ = kFlat;
};

/// From blue (halved and less) over white (kept) to red (doubled and more); yellow where it folds.
Colour volume_colour(double ratio) {
  if (!(ratio > 0)) return {1, 0.85, 0};
  const double share = std::clamp(std::log2(ratio), -1.0, 1.0);
  constexpr Colour kShrunk{0.13, 0.40, 0.67}, kSame{0.97, 0.97, 0.97}, kGrown{0.70, 0.09, 0.17};
  const Colour& end = share < 0 ? kShrunk : kGrown;
  Colour out{};
  for (std::size_t c = 0; c < 3; ++c) out[c] = (1 - std::abs(share)) * kSame[c] + std::abs(share) * end[c];
  return out;
}

/// Lines of voxels of the fixed image, drawn where they meet the moving one: over a picture of the slice.
std::string grid_lines(const SlicePlane& plane, const DisplacementField& field) {
  const Affine to_index = inverse(field.space.to_world);
  const auto voxels = static_cast<std::size_t>(field.space.grid.voxels());
  const auto moved = [&](std::int64_t column, std::int64_t row) {
    const std::size_t v = plane.voxel(column, row);
    const auto along = [&](int axis, bool reversed) {
      double steps = 0;
      for (std::size_t c = 0; c < 3; ++c)
        steps += to_index[static_cast<std::size_t>(axis)][c] * double(field.mm[c * voxels + v]);
      return reversed ? -steps : steps;
    };
    return fmt::format("{:.1f},{:.1f} ",
                       static_cast<double>(column) + 0.5 + along(plane.across, plane.across_reversed),
                       static_cast<double>(row) + 0.5 + along(plane.down, plane.down_reversed));
  };
  const std::int64_t apart = std::max<std::int64_t>(std::max(plane.width, plane.height) / 32, 2);
  std::string lines;
  for (std::int64_t row = apart / 2; row < plane.height; row += apart) {
    lines += "<polyline points=\"";
    for (std::int64_t column = 0; column < plane.width; ++column) lines += moved(column, row);
    lines += "\"/>";
  }
  for (std::int64_t column = apart / 2; column < plane.width; column += apart) {
    lines += "<polyline points=\"";
    for (std::int64_t row = 0; row < plane.height; ++row) lines += moved(column, row);
    lines += "\"/>";
  }
  return fmt::format(
      "<svg class=\"warp\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"The field as a grid\">{}</svg>",
      plane.width, plane.height, lines);
}

constexpr std::string_view kStyles = R"(
.warp { position: absolute; inset: 0; width: 100%; height: 100%; }
.warp polyline { fill: none; stroke: #ffd84d; stroke-width: 1px; vector-effect: non-scaling-stroke; }
)";

class Slices {
 public:
  explicit Slices(const QualityPage& page) : page_(page), fixed_(page.fixed), warped_(page.warped) {
    if (page.field != nullptr) volumes_ = jacobian_determinant(*page.field);
  }

  std::string section(const SlicePlane& plane) const {
    std::string heading = plane.name;
    heading[0] = static_cast<char>(heading[0] - 'a' + 'A');
    std::string out = fmt::format(
        "<section class=\"card\"><h2>{} slice {}</h2><p>In the checkerboard, borders should run on from field to field. "
        "The edges of the moving image should lie on those of the fixed one.</p><div class=\"rows\">",
        heading, plane.slice);
    const auto grey = [](const Grey& image) {
      return [&image](std::size_t v) {
        const double g = image(v);
        return Colour{g, g, g};
      };
    };
    out += figure(plane, grey(fixed_), "Fixed", page::escaped(page_.fixed_name));
    out += figure(plane, grey(warped_), "Moving, resampled", page::escaped(page_.moving_name));
    const std::int64_t tile = std::max<std::int64_t>(std::max(plane.width, plane.height) / 12, 2);
    out += figure(
        plane,
        [&](std::size_t v) {
          const Place p = place_of(plane, v);
          const double g = (p.column / tile + p.row / tile) % 2 == 0 ? fixed_(v) : warped_(v);
          return Colour{g, g, g};
        },
        "Checkerboard", "fixed and moving in turns");
    const Edges edges(plane, warped_);
    out += figure(
        plane,
        [&](std::size_t v) {
          const double g = 0.8 * fixed_(v);
          return edges(v) ? Colour{1, 0.25, 0.12} : Colour{g, g, g};
        },
        "Edges", "of the moving image, over the fixed one");
    if (page_.field == nullptr) return out + "</div></section>";
    const auto dark = [&](std::size_t v) {
      const double g = 0.6 * fixed_(v);
      return Colour{g, g, g};
    };
    out += figure(plane, dark, "Field", "lines of voxels of the fixed image, where they meet the moving one",
                  grid_lines(plane, *page_.field));
    const auto volumes = volumes_.channel(0);
    out += figure(
        plane, [&](std::size_t v) { return volume_colour(double(volumes[v])); }, "Change of volume",
        "<b class=\"scale\"></b><span class=\"ends\"><span>half and less</span><span>twice and more</span></span>Yellow: folded");
    return out + "</div></section>";
  }

 private:
  static std::string figure(const SlicePlane& plane, const std::function<Colour(std::size_t)>& colour,
                            const std::string& title, const std::string& key, const std::string& over = "") {
    const SliceWindow whole{0, 0, plane.width, plane.height};
    return imaging::slice_figure(plane, whole, imaging::picture(plane, whole, colour), title, key, over);
  }

  const QualityPage& page_;
  Grey fixed_, warped_;
  imaging::Image volumes_;
};

void check(const QualityPage& page) {
  page.fixed.check("the fixed image");
  page.warped.check("the resampled image");
  const auto same = [&](const imaging::Grid& grid, const char* what) {
    const imaging::Grid& fixed = page.fixed.image.grid;
    if (grid.nx != fixed.nx || grid.ny != fixed.ny || grid.nz != fixed.nz)
      throw BadInput(fmt::format("{} has {} x {} x {} voxels, and the fixed image {} x {} x {}", what,
                                 grid.nx, grid.ny, grid.nz, fixed.nx, fixed.ny, fixed.nz));
  };
  same(page.warped.image.grid, "the resampled image");
  if (page.field != nullptr) page.field->check(), same(page.field->space.grid, "the displacement field");
}

}  // namespace

std::string quality_page(const QualityPage& page) {
  check(page);
  const Slices slices(page);
  std::string body =
      "<main>" + (page.facts.empty() ? "" : "<section class=\"card\">" + page.facts + "</section>");
  for (const SlicePlane& plane : imaging::middle_slices(page.fixed.image.grid, page.fixed.to_world, {}))
    body += slices.section(plane);
  return page::to_html(
      {.title = page.moving_name + " on " + page.fixed_name,
       .heading = page.moving_name + " on " + page.fixed_name,
       .lead =
           "<p>Slices through the middle of the fixed image, as seen from the feet, the front and the right. The right side (R) of the body is on the left.</p>",
       .body = body + "</main>",
       .footer = fmt::format("warploom {} register", version()),
       .styles = {imaging::slice_styles(), kStyles},
       .scripts = {}});
}

}  // namespace warploom::registration
