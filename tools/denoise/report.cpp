#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "series.hpp"
#include "warploom/core/version.hpp"
#include "warploom/json/json.hpp"
#include "warploom/page/text.hpp"

namespace warploom::tool {
namespace {

using page::grouped;

std::string file_unit(const DenoiseSettings& settings) {
  return settings.square_micrometres ? "um2/ms" : "mm2/s";
}

Json input_json(const DenoiseRun& run) {
  const DenoiseInput& in = run.input;
  Json json{{"file", run.settings.input},
            {"kind", name(in.kind)},
            {"shape", in.header.shape},
            {"nifti", in.header.nifti2 ? 2 : 1}};
  if (in.order) {
    json["order"] = name(*in.order);
    json["elements"] = elements_text(*in.order);
  }
  if (in.kind != ImageKind::channels) {
    json["frame"] = name(in.read_frame);
    json["unit"] = file_unit(run.settings);
  }
  return json;
}

Json fit_json(const SeriesFacts& series) {
  Json shells = Json::array();
  for (const auto& [b, volumes] : series.used) shells.push_back({{"b", b}, {"volumes", volumes}});
  return {{"method", name(series.method)}, {"volumes", series.volumes},  {"used", std::move(shells)},
          {"remark", series.remark},       {"voxels", series.fitted},    {"not_fitted", series.not_fitted},
          {"raised", series.raised},       {"negative", series.negative}};
}

Json solver_json(const imaging::DenoiseReport& done) {
  Json history = Json::array();
  for (const imaging::DenoiseStep& step : done.history)
    history.push_back({step.iteration, step.objective, step.gap});
  return {{"name", name(done.solver)},
          {"variation", name(done.variation)},
          {"tgv_ratio", done.tgv_ratio},
          {"device", name(done.device)},
          {"devices", done.devices},
          {"epsilon", done.epsilon},
          {"iterations", done.iterations},
          {"stop", name(done.stop)},
          {"objective", done.objective},
          {"gap", done.gap},
          {"slabs", done.slabs},
          {"device_bytes", done.device_bytes},
          {"history_columns", {"iteration", "objective", "gap"}},
          {"history", std::move(history)}};
}

std::string unit_text(ImageKind kind) { return kind == ImageKind::channels ? "image units" : "um^2/ms"; }

std::string grid_text(const imaging::Grid& grid) {
  return fmt::format("{} x {} x {} voxels of {:.4g} x {:.4g} x {:.4g} mm", grid.nx, grid.ny, grid.nz,
                     grid.spacing[0], grid.spacing[1], grid.spacing[2]);
}

std::string lambda_origin(const DenoiseRun& run) {
  if (run.done.noise.empty()) return "given";
  const auto [least, most] = std::ranges::minmax(run.done.noise);
  return fmt::format("from a noise of {:.3g} to {:.3g} {} a channel", least, most, unit_text(run.input.kind));
}

Json adaptive_json(const imaging::AdaptiveFacts& facts) {
  Json groups = Json::array();
  for (const auto& group : facts.residual.groups)
    groups.push_back({{"tissue", group.name},
                      {"pairs", group.pairs},
                      {"removed", group.removed},
                      {"noise", group.noise},
                      {"standard_error", group.error},
                      {"structured", group.structured}});
  return {{"voxels", facts.voxels},
          {"neighbours", facts.neighbours},
          {"residual",
           {{"structured", facts.residual.structured},
            {"verdict", facts.residual.verdict()},
            {"groups", std::move(groups)}}},
          {"seconds", facts.seconds}};
}

std::string count_of(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", grouped(static_cast<std::uint64_t>(count)), what, count == 1 ? "" : "s");
}

}  // namespace

std::string shells_text(const SeriesFacts& series) {
  std::string text;
  for (const auto& [b, volumes] : series.used)
    text += fmt::format("{}{} x b = {}", text.empty() ? "" : ", ", volumes, b);
  return text;
}

Json as_json(const DenoiseRun& run) {
  const DenoiseInput& in = run.input;
  Json json{{"warploom", version()}, {"input", input_json(run)}};
  json["grid"] = {{"voxels", {in.image.grid.nx, in.image.grid.ny, in.image.grid.nz}},
                  {"spacing_mm", in.image.grid.spacing},
                  {"affine", in.header.affine}};
  json["mask"] = {{"from", in.mask.origin}, {"voxels", in.mask.inside}, {"not_finite", in.mask.not_finite}};
  if (in.series) json["series"] = series_json(in.series->denoised, run.settings.patches);
  if (in.series) json["fit"] = fit_json(*in.series);
  json["regulariser"] = name(in.regulariser);
  if (in.adaptive) json["adaptive"] = adaptive_json(*in.adaptive);
  const bool tv = run.minimised();
  if (tv) json["lambda"] = {{"value", run.done.lambda}, {"from", run.done.noise.empty() ? "given" : "noise"}};
  if (tv) json["lambda"]["unit"] = fmt::format("1/({} mm)", unit_text(in.kind));
  if (!run.done.noise.empty()) json["lambda"]["noise"] = run.done.noise;
  if (tv) json["solver"] = solver_json(run.done);
  if (in.kind != ImageKind::channels) {
    json["negative_eigenvalues"] = {{"before", run.done.projected}};
    if (run.negative_after) json["negative_eigenvalues"]["after"] = *run.negative_after;
    json["output"] = {{"order", name(in.output_order)},
                      {"elements", elements_text(in.output_order)},
                      {"frame", name(in.output_frame)},
                      {"unit", file_unit(run.settings)}};
  }
  json["output"]["files"] = run.files;
  const DenoiseTimes& t = run.times;
  json["seconds"] = {{"read", t.read},
                     {"series", t.series},
                     {"fit", t.fit},
                     {"denoise", t.denoise},
                     {"iterations", run.done.seconds},
                     {"transfer", run.done.transfer_seconds},
                     {"maps", t.maps},
                     {"qc", t.qc},
                     {"write", t.write},
                     {"total", t.total}};
  return json;
}

std::string as_text(const DenoiseRun& run) {
  const DenoiseInput& in = run.input;
  std::string out = fmt::format("{}: {}, ", run.settings.input, grid_text(in.image.grid));
  switch (in.kind) {
    case ImageKind::tensors:
      out += fmt::format("tensors in {} order ({}), frame {}, {}\n", name(*in.order),
                         elements_text(*in.order), name(in.read_frame), file_unit(run.settings));
      break;
    case ImageKind::series:
      out += fmt::format("{} volumes, used {}\n", in.series->volumes, shells_text(*in.series));
      if (!in.series->remark.empty()) out += fmt::format("  remark    {}\n", in.series->remark);
      break;
    case ImageKind::channels:
      out += count_of(in.image.channels, "channel") + "\n";
      break;
  }
  out += fmt::format("  mask      {} ({})", count_of(in.mask.inside, "voxel"), in.mask.origin);
  if (in.mask.not_finite > 0)
    out += fmt::format("; {} with NaN left out", count_of(in.mask.not_finite, "voxel"));
  if (in.series) {
    const SeriesFacts& fit = *in.series;
    if (run.settings.series_denoise != imaging::SeriesStep::off)
      out += fmt::format("\n  series    {}", series_text(fit.denoised, fit.volumes));
    out += fmt::format("\n  fit       {}: {}, {} with a negative eigenvalue", name(fit.method),
                       count_of(fit.fitted, "voxel"), grouped(static_cast<std::uint64_t>(fit.negative)));
    if (fit.raised > 0)
      out += fmt::format(", {} with a measurement of 0 or less", count_of(fit.raised, "voxel"));
    if (fit.not_fitted > 0) out += fmt::format(", {} not fitted", count_of(fit.not_fitted, "voxel"));
  }
  const imaging::DenoiseReport& done = run.done;
  out += "\n";
  if (in.adaptive) {
    out += fmt::format("  tensors   adaptive: {}, {:.3g} neighbours each in the mean\n",
                       count_of(in.adaptive->voxels, "voxel"), in.adaptive->neighbours - 1);
    out += fmt::format("  residual  {}\n", in.adaptive->residual.verdict());
  } else if (in.regulariser == imaging::Regulariser::none) {
    out += "  tensors   as they were fitted; --regulariser tv smooths them\n";
  }
  if (run.minimised()) {
    out += fmt::format("  lambda    {:.4g} per {} mm, {}; epsilon {:.4g}\n", done.lambda, unit_text(in.kind),
                       lambda_origin(run), done.epsilon);
    if (done.tgv_ratio > 0)
      out += fmt::format("  tensors   total generalised variation of second order, ratio {:.4g}\n",
                         done.tgv_ratio);
    out += fmt::format("  solver    {} on {}{}{}: {}, {}, objective {:.6g}, relative gap {:.2g}\n",
                       name(done.solver), name(done.device),
                       done.devices > 1 ? fmt::format(" and {} more", done.devices - 1) : "",
                       done.slabs > 1 ? fmt::format(" in {} slabs", done.slabs) : "",
                       count_of(done.iterations, "iteration"), name(done.stop), done.objective, done.gap);
  }
  if (in.kind != ImageKind::channels) {
    out += fmt::format("  negative  {} with an eigenvalue below 0 before", count_of(done.projected, "voxel"));
    if (run.negative_after)
      out += fmt::format(", {} after", grouped(static_cast<std::uint64_t>(*run.negative_after)));
    out += fmt::format("\n  output    {} order ({}), frame {}, {}\n", name(in.output_order),
                       elements_text(in.output_order), name(in.output_frame), file_unit(run.settings));
  }
  const DenoiseTimes& t = run.times;
  out += fmt::format("  seconds   {:.3f}: read {:.3f}, ", t.total, t.read);
  if (in.series) out += fmt::format("series {:.3f}, fit {:.3f}, ", t.series, t.fit);
  out += fmt::format("denoise {:.3f}", t.denoise);
  if (run.minimised()) out += fmt::format(" (iterations {:.3f})", done.seconds);
  out += fmt::format(", maps {:.3f}, ", t.maps);
  if (t.qc > 0) out += fmt::format("page {:.3f}, ", t.qc);
  out += fmt::format("write {:.3f}\n", t.write);
  for (const std::string& file : run.files) out += fmt::format("{}\n", file);
  return out;
}

}  // namespace warploom::tool
