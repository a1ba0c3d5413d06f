#include "warploom/page/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "imaging/embedded.hpp"
#include "imaging/quality/directions.hpp"
#include "imaging/quality/maps.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/version.hpp"
#include "warploom/imaging/quality_page.hpp"
#include "warploom/page/chart.hpp"
#include "warploom/page/text.hpp"

namespace warploom::imaging {
namespace {

using page::Panel;
using page::Series;

/// A slice, as far as the mask goes, with the body's sides written on it; `frame` marks a part.
std::string slice_figure(const SlicePlane& plane, const SliceWindow& shown, const Colour& colour,
                         const std::string& title, const std::string& scale,
                         const SliceWindow* frame = nullptr) {
  const double width = static_cast<double>(shown.width) * plane.column_mm,
               height = static_cast<double>(shown.height) * plane.row_mm;
  // Tall slices are kept as high as square ones.
  std::string out = fmt::format(
      "<figure><div class=\"slice\"><div class=\"picture\" style=\"aspect-ratio:{:.4f};max-width:{:.0f}%\"><img src=\"{}\" alt=\"{}, {}\">",
      width / height, 100 * std::min(1.0, width / height), data_address(picture(plane, shown, colour)), title,
      plane.name);
  const auto share = [](std::int64_t part, std::int64_t of) {
    return 100 * static_cast<double>(part) / static_cast<double>(of);
  };
  if (frame != nullptr)
    out += fmt::format(
        "<div class=\"frame\" style=\"left:{:.2f}%;top:{:.2f}%;width:{:.2f}%;height:{:.2f}%\"></div>",
        share(frame->column - shown.column, shown.width), share(frame->row - shown.row, shown.height),
        share(frame->width, shown.width), share(frame->height, shown.height));
  return out + fmt::format(
                   "</div><i class=\"l\">{}</i><i class=\"r\">{}</i><i class=\"t\">{}</i><i "
                   "class=\"b\">{}</i></div><figcaption>{}<span>{}</span></figcaption></figure>",
                   plane.left, plane.right, plane.top, plane.bottom, title, scale);
}

std::string slice_section(const SlicePlane& plane, const SliceWindow& shown, const std::vector<MapRow>& rows,
                          const SliceWindow* window) {
  std::string heading = plane.name;
  heading[0] = static_cast<char>(heading[0] - 'a' + 'A');
  std::string out = fmt::format("<section class=\"card\"><h2>{} slice {}</h2><p>", heading, plane.slice);
  out +=
      "Noise should be gone and edges should stand where they were. The right column is what was taken away: grain without "
      "shape is noise; outlines of anatomy there mean that &#955; is too small.";
  out += "</p><div class=\"rows\">";
  for (const MapRow& row : rows) {
    const SliceWindow* frame = row.title == "FA" ? window : nullptr;
    out += slice_figure(plane, shown, row.before, row.title + " before", row.scale, frame);
    out += slice_figure(plane, shown, row.after, row.title + " after", row.scale, frame);
    out += slice_figure(plane, shown, row.removed, row.removed_title, row.removed_scale);
  }
  return out + "</div></section>";
}

std::string direction_section(const SlicePlane& plane, const SliceWindow& window, const QualityPage& page) {
  std::string out = fmt::format(
      "<section class=\"card\"><h2>Main directions</h2><p>V1 as a line in every voxel with FA above 0.15, over FA, in the "
      "part of the {} slice framed above. Neighbours in one bundle should agree after denoising, and bundles "
      "should still meet at sharp borders.</p><div class=\"pair wide\">",
      plane.name);
  for (const auto& [title, tensors] : {std::pair{"Before", &page.noisy}, std::pair{"After", &page.clean}})
    out += fmt::format(
        "<figure>{}<figcaption>{}<span>red left&#8211;right, green back&#8211;front, blue feet&#8211;head</span></figcaption></figure>",
        direction_picture(plane, window, *tensors, page), title);
  return out + "</div></section>";
}

std::string chart_figure(const Panel& chart, const std::string& caption) {
  return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>", page::figure(chart), caption);
}

/// At most about 400 of the steps, the first and the last among them.
std::vector<DenoiseStep> thinned(const std::vector<DenoiseStep>& history) {
  const std::size_t stride = history.size() / 400 + 1;
  std::vector<DenoiseStep> out;
  for (std::size_t k = 0; k < history.size(); ++k)
    if (k % stride == 0 || k + 1 == history.size()) out.push_back(history[k]);
  return out;
}

std::string solver_section(const QualityPage& page) {
  Panel falling{.title = "",
                .x = {"iteration"},
                .y = {.title = "objective", .from_zero = false},
                .series = {{.label = "objective", .points = {}, .style = "after"}}};
  Panel bound{.title = "",
              .x = {"iteration"},
              .y = {.title = "relative gap", .base = 10},
              .series = {{.label = "relative gap", .points = {}, .style = "after"}},
              .rule = page.tolerance,
              .rule_label = "tolerance"};
  for (const DenoiseStep& step : thinned(page.done.history)) {
    falling.series[0].points.emplace_back(step.iteration, step.objective);
    bound.series[0].points.emplace_back(step.iteration, step.gap);
  }
  const char* begin =
      page.done.noise.empty() ? "" : " It begins where the search for &#955; ended, near the minimum.";
  return fmt::format(
      "<section class=\"card\"><h2>Solver</h2><p>The objective falls to its minimum; the gap bounds how far it still is "
      "from it, and the iteration ends where the gap reaches the tolerance.{}</p><div class=\"pair wide\">{}{}</div></section>",
      begin, chart_figure(falling, "Objective"), chart_figure(bound, "Relative gap, logarithmic"));
}

/// What was taken away, each channel over its standard deviation.
std::vector<float> normalised_residual(const QualityPage& page, const std::vector<std::size_t>& voxels) {
  std::vector<float> out;
  for (int c = 0; c < page.clean.channels; ++c) {
    double squares = 0;
    const std::size_t first = out.size();
    for (const std::size_t v : voxels) {
      const float removed = page.noisy.channel(c)[v] - page.clean.channel(c)[v];
      out.push_back(removed);
      squares += static_cast<double>(removed) * removed;
    }
    const double deviation = std::sqrt(squares / static_cast<double>(voxels.size()));
    if (deviation > 0)
      for (std::size_t k = first; k < out.size(); ++k) out[k] = static_cast<float>(out[k] / deviation);
  }
  return out;
}

std::string histogram_section(const QualityPage& page) {
  const std::vector<std::size_t> voxels = sample_voxels(page);
  std::string out = "<section class=\"card\"><h2>Distributions</h2><div class=\"pair wide\">";
  if (page.tensors) {
    Panel chart{.title = "", .x = {"FA"}, .y = {"share of voxels"}, .series = {}};
    for (const auto& [label, tensors] : {std::pair{"before", &page.noisy}, {"after", &page.clean}}) {
      std::vector<float> values;
      for (const std::size_t v : voxels)
        values.push_back(static_cast<float>(fractional_anisotropy(tensor_at(*tensors, v))));
      chart.series.push_back({label, page::histogram(values, 0, 1, 50), true, label});
    }
    out += chart_figure(
        chart,
        "FA in the mask<span>Noise makes isotropic tissue look anisotropic; without it the lower end moves to the left</span>");
  }
  constexpr int kBins = 60;
  constexpr double kEnd = 4, kBinWidth = 2 * kEnd / kBins;
  Panel chart{.title = "",
              .x = {"what was removed, over its standard deviation"},
              .y = {"share of values"},
              .series = {}};
  chart.series.push_back(
      {"removed", page::histogram(normalised_residual(page, voxels), -kEnd, kEnd, kBins), true, "after"});
  Series normal{.label = "normal distribution", .points = {}, .style = "model"};
  for (double x = -kEnd; x <= kEnd; x += kEnd / 60)
    normal.points.emplace_back(x, kBinWidth * std::exp(-x * x / 2) / std::sqrt(2 * 3.14159265358979323846));
  chart.series.push_back(std::move(normal));
  out += chart_figure(
      chart,
      "Removed from all channels<span>Close to normal if it is noise alone; noise that differs between "
      "tissues gives a sharper peak and longer tails</span>");
  return out + "</div></section>";
}

}  // namespace

std::string quality_page(const QualityPage& page) {
  std::string body = "<main><section class=\"card\">" + page.facts + "</section>";
  const std::vector<MapRow> rows = map_rows(page);
  const std::vector<SlicePlane> planes = middle_slices(page.clean.grid, page.affine, page.mask);
  for (const SlicePlane& plane : planes) {
    const bool lines = &plane == &planes.front() && page.tensors;
    const SliceWindow window = lines ? most_anisotropic(plane, page) : SliceWindow{};
    body += slice_section(plane, around_mask(plane, page.mask), rows, lines ? &window : nullptr);
    if (lines) body += direction_section(plane, window, page);
  }
  return page::to_html(
      {.title = page.name + " denoised",
       .heading = page.name + ", before and after denoising",
       .lead = fmt::format("<p>Total variation of a {} image. Slices are drawn as seen from the feet, the "
                           "front and the right: the right side (R) of the body is on the left.</p>",
                           page.tensors ? "tensor" : "vector"),
       .body = body + solver_section(page) + histogram_section(page) + "</main>",
       .footer = fmt::format(
           "warploom {} denoise{}", version(),
           page.tensors ? "; diffusivities in &#181;m&#178;/ms = 10<sup>&#8722;3</sup> mm&#178;/s" : ""),
       .styles = {embedded::quality_css},
       .scripts = {}});
}

}  // namespace warploom::imaging
