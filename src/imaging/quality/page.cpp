#include "warploom/page/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "imaging/quality/directions.hpp"
#include "imaging/quality/maps.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/version.hpp"
#include "warploom/imaging/quality_page.hpp"
#include "warploom/page/chart.hpp"
#include "warploom/page/html.hpp"
#include "warploom/page/text.hpp"

namespace warploom::imaging {
namespace {

using page::Panel;
using page::Series;

/// A slice, as far as the mask goes; `frame` marks a part.
std::string slice_figure(const SlicePlane& plane, const SliceWindow& shown, const Colour& colour,
                         const std::string& title, const std::string& key, const SliceWindow* frame = nullptr,
                         std::string_view kind = "") {
  const auto share = [](std::int64_t part, std::int64_t of) {
    return 100 * static_cast<double>(part) / static_cast<double>(of);
  };
  std::string over;
  if (frame != nullptr)
    over = fmt::format(
        "<div class=\"frame\" style=\"left:{:.2f}%;top:{:.2f}%;width:{:.2f}%;height:{:.2f}%\"></div>",
        share(frame->column - shown.column, shown.width), share(frame->row - shown.row, shown.height),
        share(frame->width, shown.width), share(frame->height, shown.height));
  return slice_figure(plane, shown, picture(plane, shown, colour), title, key, over, kind);
}

/// What the colours of a change mean.
std::string change_key(const MapRow& row) {
  return fmt::format(
      "<b class=\"scale\"></b><span class=\"ends\"><span>lower after denoising, &#8722;{0:.2g}{1}</span><span>higher after "
      "denoising, +{0:.2g}{1}</span></span>",
      row.full_change, row.unit);
}

/// "&#8722;0.0514" with so many digits after the point; "0" if nothing of it remains.
std::string rounded(double number, int digits, std::string_view plus = "") {
  if (std::abs(number) * std::pow(10, digits) < 0.5) return "0";
  return fmt::format("{}{:.{}f}", number < 0 ? "&#8722;" : plus, std::abs(number), digits);
}

std::string numbers_section(const QualityPage& page, const std::vector<MapRow>& rows) {
  const std::vector<std::size_t> voxels = sample_voxels(page);
  std::string lines;
  for (const MapRow& row : rows) {
    const ChangeNumbers numbers = change_numbers(row, voxels);
    // Digits down to a thousandth of the larger changes.
    const int digits = static_cast<int>(std::clamp(3 - std::floor(std::log10(row.full_change)), 0.0, 9.0));
    const auto cell = [](std::string_view label, const std::string& text) {
      return fmt::format("<td class=\"number\" data-label=\"{}\">{}</td>", label, text);
    };
    std::string quantity = row.quantity;
    if (!row.unit.empty()) quantity += " [" + row.unit.substr(1) + "]";
    lines += "<tr><td data-label=\"Quantity\"><span>" + quantity + "</span></td>" +
             cell("Mean before", rounded(numbers.before, digits)) +
             cell("Mean after", rounded(numbers.after, digits)) +
             cell("Mean change", rounded(numbers.change, digits, "+")) +
             cell("Lower in", fmt::format("{:.1f} %", 100 * numbers.lower)) +
             cell("Higher in", fmt::format("{:.1f} %", 100 * numbers.higher)) + "</tr>";
  }
  return "<section class=\"card\"><h2>Change in numbers</h2><p>A change is the value after denoising minus the value "
         "before. Means and shares are over the voxels of the mask.</p>" +
         page::table({{"Quantity"},
                      {"Mean before", "number"},
                      {"Mean after", "number"},
                      {"Mean change", "number"},
                      {"Lower in", "number"},
                      {"Higher in", "number"}},
                     lines, "cards") +
         "</section>";
}

std::string slice_section(const QualityPage& page, const SlicePlane& plane, const SliceWindow& shown,
                          const std::vector<MapRow>& rows, const SliceWindow* window) {
  std::string heading = plane.name;
  heading[0] = static_cast<char>(heading[0] - 'a' + 'A');
  std::string out = fmt::format("<section class=\"card\"><h2>{} slice {}</h2><p>", heading, plane.slice);
  out +=
      "After denoising the noise should be gone, and edges should stand where they were. The last picture of each row shows "
      "the change, after minus before. Grain without shape is noise. FA falls wherever water diffuses alike in all directions, because "
      "noise raises it there.";
  if (!page.done.history.empty()) out += " If it shows outlines of anatomy, &#955; is too small.";
  out += "</p><div class=\"rows\">";
  for (const MapRow& row : rows) {
    const SliceWindow* frame = row.title == "FA" ? window : nullptr;
    out += slice_figure(plane, shown, row.before, row.title + " before", row.scale, frame);
    out += slice_figure(plane, shown, row.after, row.title + " after", row.scale, frame);
    const auto changed = [&](std::size_t v) {
      return inside(page.mask, v) ? change_colour(change(row, v) / row.full_change) : std::array<double, 3>{};
    };
    out +=
        slice_figure(plane, shown, changed, "Change of " + row.quantity, change_key(row), nullptr, "change");
  }
  return out + "</div></section>";
}

std::string direction_section(const SlicePlane& plane, const SliceWindow& window, const QualityPage& page) {
  std::string out = fmt::format(
      "<section class=\"card\"><h2>Main directions</h2><p>Each line is V1 of a voxel with FA above 0.15. The ground is FA. The part shown is "
      "framed in the {} slice above. After denoising, neighbours in one bundle should agree, and bundles "
      "should still meet at sharp borders.</p><div class=\"pair wide\">",
      plane.name);
  for (const auto& [title, tensors] : {std::pair{"Before", &page.noisy}, std::pair{"After", &page.clean}})
    out += fmt::format(
        "<figure>{}<figcaption>{}<span>red left&#8211;right, green back&#8211;front, blue feet&#8211;head</span></figcaption></figure>",
        direction_picture(plane, window, *tensors, page,
                          fmt::format("Main directions {} denoising, as coloured lines over FA",
                                      tensors == &page.noisy ? "before" : "after")),
        title);
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
  const char* begin = page.done.noise.empty() || page.done.variation == Variation::generalised
                          ? ""
                          : " It starts where the search for &#955; ended, near the minimum.";
  return fmt::format(
      "<section class=\"card\"><h2>Solver</h2><p>The solver lowers the objective to its minimum. The gap bounds how far the objective is still above it. "
      "The solver stops when the gap reaches the tolerance.{}</p><div class=\"pair wide\">{}{}</div></section>",
      begin, chart_figure(falling, "Objective"), chart_figure(bound, "Relative gap, logarithmic"));
}

/// After minus before, each channel over its standard deviation.
std::vector<float> normalised_change(const QualityPage& page, const std::vector<std::size_t>& voxels) {
  std::vector<float> out;
  for (int c = 0; c < page.clean.channels; ++c) {
    const auto before = page.noisy.channel(c), after = page.clean.channel(c);
    double squares = 0;
    const std::size_t first = out.size();
    for (const std::size_t v : voxels) {
      const float changed = after[v] - before[v];
      out.push_back(changed);
      squares += static_cast<double>(changed) * changed;
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
        "FA in the mask<span>Noise makes isotropic tissue look anisotropic. Without it the lower end moves to the left.</span>");
  }
  constexpr int kBins = 60;
  constexpr double kEnd = 4, kBinWidth = 2 * kEnd / kBins;
  Panel chart{.title = "",
              .x = {"change (after \u2212 before) over its standard deviation"},
              .y = {"share of values"},
              .series = {}};
  chart.series.push_back(
      {"change", page::histogram(normalised_change(page, voxels), -kEnd, kEnd, kBins), true, "after"});
  Series normal{.label = "normal distribution", .points = {}, .style = "model"};
  for (double x = -kEnd; x <= kEnd; x += kEnd / 60)
    normal.points.emplace_back(x, kBinWidth * std::exp(-x * x / 2) / std::sqrt(2 * 3.14159265358979323846));
  chart.series.push_back(std::move(normal));
  out += chart_figure(
      chart,
      "Change of all channels<span>If only noise was removed, the change is close to a normal distribution. Noise that differs "
      "between tissues gives a sharper peak and longer tails.</span>");
  return out + "</div></section>";
}

void check(const QualityPage& page) {
  page.noisy.check("the image before");
  page.clean.check("the image after");
  if (page.noisy.grid != page.clean.grid || page.noisy.channels != page.clean.channels)
    throw BadInput("the images before and after differ in their grids or numbers of channels");
  if (page.tensors) require_tensor(page.clean);
  require_mask(page.mask, page.clean.grid);
  if (sample_voxels(page).empty()) throw BadInput(fmt::format("{}: no voxel is inside the mask", page.name));
}

}  // namespace

std::string quality_page(const QualityPage& page) {
  check(page);
  std::string body = "<main><section class=\"card\">" + page.facts + "</section>";
  const std::vector<MapRow> rows = map_rows(page);
  body += numbers_section(page, rows);
  const bool variation = !page.done.history.empty();
  const char* const kind = page.tensors ? "tensor" : "vector";
  const std::vector<SlicePlane> planes = middle_slices(page.clean.grid, page.affine, page.mask);
  for (const SlicePlane& plane : planes) {
    const bool lines = &plane == &planes.front() && page.tensors;
    const SliceWindow window = lines ? most_anisotropic(plane, page) : SliceWindow{};
    body += slice_section(page, plane, around_mask(plane, page.mask), rows, lines ? &window : nullptr);
    if (lines) body += direction_section(plane, window, page);
  }
  return page::to_html(
      {.title = page.name + " denoised",
       .heading = page.name + ", before and after denoising",
       .lead = fmt::format("<p>{} Slices are drawn as seen from the feet, the "
                           "front and the right. The right side (R) of the body is on the left.</p>",
                           !variation ? std::string("Before: the plain fit of the series as it was measured.")
                           : page.done.variation == Variation::generalised
                               ? fmt::format("Denoised by total generalised variation as a {} image.", kind)
                               : fmt::format("Denoised by total variation as a {} image.", kind)),
       .body = body + (variation ? solver_section(page) : "") + histogram_section(page) + "</main>",
       .footer = fmt::format(
           "warploom {} denoise{}", version(),
           page.tensors ? "; diffusivities in &#181;m&#178;/ms = 10<sup>&#8722;3</sup> mm&#178;/s" : ""),
       .styles = {slice_styles()},
       .scripts = {}});
}

}  // namespace warploom::imaging
