#include "qc_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "qc_chart.hpp"
#include "qc_directions.hpp"
#include "qc_maps.hpp"
#include "qc_style.hpp"
#include "warploom/core/version.hpp"
#include "warploom/page/text.hpp"

namespace warploom::tool {
namespace {

using page::escaped;

std::string grouped(std::int64_t number) { return page::grouped(static_cast<std::uint64_t>(number)); }

std::string lambda_text(const imaging::DenoiseReport& done, ImageKind kind) {
  if (done.noise.empty()) return "given";
  const auto [least, most] = std::ranges::minmax(done.noise);
  return fmt::format("from the noise of the channels: {:.3g} to {:.3g}{}", least, most,
                     kind == ImageKind::channels ? "" : " &#181;m&#178;/ms");
}

std::string facts(const DenoiseRun& run) {
  const DenoiseInput& in = run.input;
  const imaging::DenoiseReport& done = run.done;
  std::string out = "<dl class=\"facts\">";
  const auto tile = [&](const std::string& what, const std::string& value, const std::string& more) {
    out += fmt::format("<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>", what, value, more);
  };
  const imaging::Grid& grid = in.image.grid;
  tile("Image", fmt::format("{} &#215; {} &#215; {}", grid.nx, grid.ny, grid.nz),
       fmt::format("voxels of {:.4g} &#215; {:.4g} &#215; {:.4g} mm", grid.spacing[0], grid.spacing[1],
                   grid.spacing[2]));
  if (in.series)
    tile(
        "Fit", std::string(name(in.series->method)),
        fmt::format(
            "{}; {} voxels{}", shells_text(*in.series), grouped(in.series->fitted),
            in.series->not_fitted > 0 ? fmt::format(", {} not fitted", grouped(in.series->not_fitted)) : ""));
  else if (in.order)
    tile("Tensors", fmt::format("{} order", name(*in.order)), fmt::format("frame {}", name(in.read_frame)));
  else
    tile("Channels", std::to_string(in.image.channels), "each counts once");
  tile("Mask", grouped(in.mask.inside),
       fmt::format(
           "voxels ({}){}", escaped(in.mask.origin),
           in.mask.not_finite > 0 ? fmt::format("; {} with NaN left out", grouped(in.mask.not_finite)) : ""));
  tile("&#955;", fmt::format("{:.4g}", done.lambda), lambda_text(done, in.kind));
  tile("Solver", std::string(name(done.solver)),
       fmt::format("on {}, &#949; {:.3g}", name(done.device), done.epsilon));
  tile("Iterations", std::to_string(done.iterations),
       fmt::format("{} at a relative gap of {:.1e}", name(done.stop), done.gap));
  if (in.kind != ImageKind::channels)
    tile("Negative eigenvalues", fmt::format("{} voxels", grouped(done.projected)),
         "of the noisy tensors; the denoised ones are projected to have none");
  tile("Time", fmt::format("{:.3g} s", run.times.read + run.times.fit + run.times.denoise),
       fmt::format("read {:.3g}{}, denoise {:.3g}", run.times.read,
                   in.series ? fmt::format(", fit {:.3g}", run.times.fit) : "", run.times.denoise));
  return out + "</dl>";
}

/// A slice, as far as the mask goes, with the body's sides written on it; `frame` marks a part.
std::string slice_figure(const SlicePlane& plane, const SliceWindow& shown, const Colour& colour,
                         const std::string& title, const std::string& scale,
                         const SliceWindow* frame = nullptr) {
  const double width = static_cast<double>(shown.width) * plane.column_mm,
               height = static_cast<double>(shown.height) * plane.row_mm;
  // Tall slices are kept as high as square ones.
  std::string out = fmt::format(
      "<figure><div class=\"slice\"><div class=\"picture\" style=\"aspect-ratio:{:.4f};max-width:{:.0f}%\">"
      "<img src=\"{}\" alt=\"{}, {}\">",
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
      "Noise should be gone and edges should stand where they were. The right column is what was taken away: "
      "grain without "
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

std::string direction_section(const SlicePlane& plane, const SliceWindow& window, const DenoiseRun& run,
                              const imaging::Image& noisy) {
  std::string out = fmt::format(
      "<section class=\"card\"><h2>Main directions</h2><p>V1 as a line in every voxel with FA above 0.15, "
      "over FA, in the "
      "part of the {} slice framed above. Neighbours in one bundle should agree after denoising, and bundles "
      "should still meet at sharp borders.</p><div class=\"pair wide\">",
      plane.name);
  for (const auto& [title, tensors] : {std::pair{"Before", &noisy}, std::pair{"After", &run.input.image}})
    out += fmt::format(
        "<figure>{}<figcaption>{}<span>red left&#8211;right, green back&#8211;front, blue "
        "feet&#8211;head</span></figcaption></figure>",
        direction_picture(plane, window, *tensors, run.input), title);
  return out + "</div></section>";
}

std::string chart_figure(const Chart& chart, const std::string& caption) {
  return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>", svg(chart), caption);
}

/// At most about 400 of the steps, the first and the last among them.
std::vector<imaging::DenoiseStep> thinned(const std::vector<imaging::DenoiseStep>& history) {
  const std::size_t stride = history.size() / 400 + 1;
  std::vector<imaging::DenoiseStep> out;
  for (std::size_t k = 0; k < history.size(); ++k)
    if (k % stride == 0 || k + 1 == history.size()) out.push_back(history[k]);
  return out;
}

std::string solver_section(const DenoiseRun& run) {
  Curve objective{"objective", "after", {}}, gap{"relative gap", "after", {}};
  for (const imaging::DenoiseStep& step : thinned(run.done.history)) {
    objective.points.emplace_back(step.iteration, step.objective);
    gap.points.emplace_back(step.iteration, step.gap);
  }
  Chart falling{"iteration", "objective", {objective}};
  Chart bound{"iteration", "relative gap", {gap}, true};
  bound.rule = run.settings.solve.tolerance;
  bound.rule_label = "tolerance";
  const char* begin =
      run.done.noise.empty() ? "" : " It begins where the search for &#955; ended, near the minimum.";
  return fmt::format(
      "<section class=\"card\"><h2>Solver</h2><p>The objective falls to its minimum; the gap bounds how far "
      "it still is "
      "from it, and the iteration ends where the gap reaches the tolerance.{}</p><div class=\"pair "
      "wide\">{}{}</div></section>",
      begin, chart_figure(falling, "Objective"), chart_figure(bound, "Relative gap, logarithmic"));
}

/// What was taken away, each channel over its standard deviation.
std::vector<float> normalised_residual(const DenoiseInput& in, const imaging::Image& noisy,
                                       const std::vector<std::size_t>& voxels) {
  std::vector<float> out;
  for (int c = 0; c < in.image.channels; ++c) {
    double squares = 0;
    const std::size_t first = out.size();
    for (const std::size_t v : voxels) {
      const float removed = noisy.channel(c)[v] - in.image.channel(c)[v];
      out.push_back(removed);
      squares += static_cast<double>(removed) * removed;
    }
    const double deviation = std::sqrt(squares / static_cast<double>(voxels.size()));
    if (deviation > 0)
      for (std::size_t k = first; k < out.size(); ++k) out[k] = static_cast<float>(out[k] / deviation);
  }
  return out;
}

std::string histogram_section(const DenoiseRun& run, const imaging::Image& noisy) {
  const DenoiseInput& in = run.input;
  const std::vector<std::size_t> voxels = sample_voxels(in);
  std::string out = "<section class=\"card\"><h2>Distributions</h2><div class=\"pair wide\">";
  if (in.kind != ImageKind::channels) {
    Chart chart{"FA", "share of voxels", {}};
    chart.y_from_zero = true;
    for (const auto& [label, style, tensors] :
         {std::tuple{"before", "before", &noisy}, std::tuple{"after", "after", &in.image}}) {
      std::vector<float> values;
      for (const std::size_t v : voxels)
        values.push_back(static_cast<float>(fractional_anisotropy(tensor_at(*tensors, v))));
      chart.curves.push_back({label, style, histogram(values, 0, 1, 50), true});
    }
    out += chart_figure(
        chart,
        "FA in the mask<span>Noise makes isotropic tissue look anisotropic; without it the lower end "
        "moves to the left</span>");
  }
  constexpr int kBins = 60;
  constexpr double kEnd = 4, kBinWidth = 2 * kEnd / kBins;
  Chart chart{"what was removed, over its standard deviation", "share of values", {}};
  chart.y_from_zero = true;
  chart.curves.push_back(
      {"removed", "after", histogram(normalised_residual(in, noisy, voxels), -kEnd, kEnd, kBins), true});
  Curve normal{"normal distribution", "model", {}};
  for (double x = -kEnd; x <= kEnd; x += kEnd / 60)
    normal.points.emplace_back(x, kBinWidth * std::exp(-x * x / 2) / std::sqrt(2 * 3.14159265358979323846));
  chart.curves.push_back(std::move(normal));
  out += chart_figure(
      chart,
      "Removed from all channels<span>Close to normal if it is noise alone; noise that differs between "
      "tissues gives a sharper peak and longer tails</span>");
  return out + "</div></section>";
}

}  // namespace

std::string qc_page(const DenoiseRun& run, const imaging::Image& noisy) {
  const DenoiseInput& in = run.input;
  const std::string file = escaped(page::file_name(run.settings.input));
  std::string out = fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>{0} denoised</title><style>{1}</style></head>"
      "<body><header><h1>{0}, before and after denoising</h1><p>Total variation of a {2}. Slices are drawn "
      "as seen from the "
      "feet, the front and the right: the right side (R) of the body is on the left.</p></header><main>",
      file, qc_style, in.kind == ImageKind::channels ? "vector image" : "tensor image");
  out += "<section class=\"card\">" + facts(run) + "</section>";
  const std::vector<SlicePlane> planes = middle_slices(in.image.grid, in.header.affine, in.mask.voxels);
  const std::vector<MapRow> rows = map_rows(in, noisy);
  for (const SlicePlane& plane : planes) {
    const bool lines = &plane == &planes.front() && in.kind != ImageKind::channels;
    const SliceWindow window = lines ? most_anisotropic(plane, in) : SliceWindow{};
    out += slice_section(plane, around_mask(plane, in.mask.voxels), rows, lines ? &window : nullptr);
    if (lines) out += direction_section(plane, window, run, noisy);
  }
  out += solver_section(run) + histogram_section(run, noisy);
  const char* unit = in.kind == ImageKind::channels
                         ? ""
                         : "; diffusivities in &#181;m&#178;/ms = 10<sup>&#8722;3</sup> mm&#178;/s";
  return out + fmt::format("</main><footer>warploom {} denoise{}</footer></body></html>\n", version(), unit);
}

}  // namespace warploom::tool
