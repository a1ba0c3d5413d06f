#include "qc_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "warploom/imaging/quality_page.hpp"
#include "warploom/page/html.hpp"
#include "warploom/page/text.hpp"

namespace warploom::tool {
namespace {

using page::escaped;
using page::grouped;

std::string lambda_text(const imaging::DenoiseReport& done, ImageKind kind) {
  if (done.noise.empty()) return "given";
  const auto [least, most] = std::ranges::minmax(done.noise);
  return fmt::format("from the noise of the channels: {:.3g} to {:.3g}{}", least, most,
                     kind == ImageKind::channels ? "" : " &#181;m&#178;/ms");
}

std::string facts(const DenoiseRun& run) {
  const DenoiseInput& in = run.input;
  const imaging::DenoiseReport& done = run.done;
  std::vector<page::Fact> facts;
  const auto tile = [&](const std::string& what, const std::string& value, const std::string& more) {
    facts.push_back({what, value, more});
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
  if (in.series && in.series->denoised.done)
    tile("Noise", fmt::format("{:.4g}", in.series->denoised.median_noise),
         fmt::format("of the series; {:.3g} of {} components kept (medians)", in.series->denoised.median_rank,
                     in.series->volumes));
  else if (in.series && !in.series->denoised.why_not.empty())
    tile("Series", "not denoised", escaped(in.series->denoised.why_not));
  if (in.adaptive) {
    tile("Tensors", "adaptive",
         fmt::format("{:.3g} neighbours each in the mean", in.adaptive->neighbours - 1));
    tile("Residual", in.adaptive->residual.structured ? "has structure" : "noise",
         escaped(in.adaptive->residual.verdict()));
  }
  if (run.minimised()) {
    tile("&#955;", fmt::format("{:.4g}", done.lambda), lambda_text(done, in.kind));
    tile("Solver", std::string(name(done.solver)),
         done.tgv_ratio > 0 ? fmt::format("on {}, total generalised variation, ratio {:.3g}",
                                          name(done.device), done.tgv_ratio)
                            : fmt::format("on {}, &#949; {:.3g}", name(done.device), done.epsilon));
    tile("Iterations", std::to_string(done.iterations),
         fmt::format("{} at a relative gap of {:.1e}", name(done.stop), done.gap));
  }
  if (in.kind != ImageKind::channels)
    tile("Negative eigenvalues", fmt::format("{} voxels", grouped(done.projected)),
         "of the noisy tensors; the denoised ones are projected to have none");
  tile("Time", fmt::format("{:.3g} s", run.times.read + run.times.fit + run.times.denoise),
       fmt::format("read {:.3g}{}, denoise {:.3g}", run.times.read,
                   in.series ? fmt::format(", fit {:.3g}", run.times.fit) : "", run.times.denoise));
  return page::facts(facts);
}

}  // namespace

std::string qc_page(const DenoiseRun& run, const imaging::Image& noisy) {
  const DenoiseInput& in = run.input;
  return imaging::quality_page({.name = page::file_name(run.settings.input),
                                .facts = facts(run),
                                .noisy = noisy,
                                .clean = in.image,
                                .tensors = in.kind != ImageKind::channels,
                                .mask = in.mask.voxels,
                                .affine = in.header.affine,
                                .frame = in.frame,
                                .done = run.done,
                                .tolerance = run.settings.solve.tolerance});
}

}  // namespace warploom::tool
