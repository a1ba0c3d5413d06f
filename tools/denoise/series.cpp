#include "series.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "cli/stopwatch.hpp"
#include "cli/verb.hpp"
#include "warploom/core/device.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/version.hpp"
#include "warploom/page/text.hpp"

namespace warploom::tool {
namespace {

using imaging::SeriesOutcome;
using page::grouped;

void write(const DenoiseSettings& settings, const OutputFiles& files, const std::string& path,
           const io::Nifti& file) {
  files.write(path, [&](const auto& at) { io::write_nifti(at, file, {settings.gzip_level}); });
}

void write(const DenoiseSettings& settings, const OutputFiles& files, const std::string& path,
           imaging::Image& image, const io::Nifti& like, std::string_view what) {
  if (!path.empty()) write(settings, files, path, imaging::take_volumes_file(image, like, what));
}

}  // namespace

void write_series_files(const DenoiseSettings& settings, const OutputFiles& files, imaging::Image& series,
                        std::vector<std::complex<float>>& complex, SeriesOutcome& outcome,
                        const io::Nifti& like) {
  if (settings.series_files().empty()) return;
  if (!outcome.done)
    throw BadInput(fmt::format("{}: {}; --series-denoise on does it all the same", settings.input,
                               series_text(outcome, series.channels)));
  const auto volumes = [&](const std::string& path, imaging::Image& real,
                           std::vector<std::complex<float>>& values, std::string_view what) {
    if (path.empty()) return;
    if (!outcome.complex) return write(settings, files, path, real, like, what);
    write(settings, files, path, imaging::take_volumes_file(values, outcome.done->noise.grid, like, what));
  };
  volumes(settings.series_out, series, complex, "denoised series");
  std::vector<std::complex<float>> residual;
  if (outcome.complex && !settings.residual_out.empty())
    residual = imaging::complex_volumes(outcome.done->residual);
  volumes(settings.residual_out, outcome.done->residual, residual, "residual");
  write(settings, files, settings.noise_map, outcome.done->noise, like, "noise");
  write(settings, files, settings.rank_map, outcome.done->rank, like, "components kept");
}

std::string series_text(const SeriesOutcome& outcome, int volumes) {
  if (!outcome.done)
    return outcome.why_not.empty() ? "not denoised" : fmt::format("not denoised: {}", outcome.why_not);
  const imaging::SeriesDenoising& done = *outcome.done;
  std::string text = fmt::format(
      "{}patches of {} x {} x {} voxels on {}: noise {:.4g}, {:.4g} of {} components kept (medians)",
      outcome.complex ? "complex values, " : "", done.extent[0], done.extent[1], done.extent[2],
      name(done.device), outcome.median_noise, outcome.median_rank, volumes);
  if (done.skipped > 0)
    text += fmt::format("; {} voxels near NaN left out", grouped(static_cast<std::uint64_t>(done.skipped)));
  return text;
}

Json series_json(const SeriesOutcome& outcome, const imaging::SeriesDenoiseOptions& options) {
  if (!outcome.done) return {{"denoised", false}, {"why_not", outcome.why_not}};
  const imaging::SeriesDenoising& done = *outcome.done;
  return {{"denoised", true},
          {"complex", outcome.complex},
          {"patch", done.extent},
          {"patch_output", name(options.output)},
          {"estimator", name(options.estimator)},
          {"precision", name(options.precision)},
          {"device", name(done.device)},
          {"voxels", done.voxels},
          {"skipped", done.skipped},
          {"median_noise", outcome.median_noise},
          {"median_rank", outcome.median_rank},
          {"seconds", outcome.seconds},
          {"device_bytes", done.device_bytes}};
}

int run_only_series(const DenoiseSettings& asked) {
  const Stopwatch watch;
  DenoiseSettings settings = asked;
  const std::string joint = settings.prefix.back() == '/' ? "" : "_",
                    ending = settings.gzip ? ".nii.gz" : ".nii";
  const auto named = [&](std::string& file, const std::string& name) {
    if (file.empty()) file = settings.prefix + joint + name + ending;
  };
  named(settings.series_out, "series");
  named(settings.noise_map, "noise");
  named(settings.rank_map, "rank");
  const RunScope scope(settings.solve.run);
  choose_device(one_device(settings.solve.run.devices, "denoising"));
  OutputFiles files;
  std::vector<std::string> written = settings.series_files();
  for (const std::string& path : written) files.add(path, settings.force);
  if (!settings.report.empty()) {
    files.add(settings.report, settings.force);
    written.push_back(settings.report);
  }

  imaging::SeriesImage series =
      imaging::read_series_image(settings.input, settings.mask, settings.max_memory);
  const double read = watch.seconds();
  imaging::SeriesDenoiseOptions options = settings.patches;
  options.run = settings.solve.run;
  options.residual = !settings.residual_out.empty();
  SeriesOutcome outcome =
      series.complex.empty()
          ? imaging::denoise_first(series.image, series.mask.voxels, settings.series_denoise, options)
          : imaging::denoise_first(series.complex, series.image.grid, series.image.channels,
                                   series.mask.voxels, settings.series_denoise, options);
  const imaging::Grid grid = series.image.grid;
  const int volumes = series.image.channels;
  const Stopwatch writing;
  write_series_files(settings, files, series.image, series.complex, outcome, series.header);
  const double wrote = writing.seconds(), total = watch.seconds();

  const Json json{
      {"warploom", version()},
      {"input", {{"file", settings.input}, {"kind", "series"}, {"shape", series.header.shape}}},
      {"mask",
       {{"from", series.mask.origin},
        {"voxels", series.mask.inside},
        {"not_finite", series.mask.not_finite}}},
      {"series", series_json(outcome, options)},
      {"output", {{"files", written}}},
      {"seconds", {{"read", read}, {"series", outcome.seconds}, {"write", wrote}, {"total", total}}}};
  if (!settings.report.empty()) files.write(settings.report, json_text(json));
  files.commit();
  if (settings.json) {
    print_json(json);
    return kDone;
  }
  std::string text = fmt::format(
      "{}: {} x {} x {} voxels of {:.4g} x {:.4g} x {:.4g} mm, {} volumes\n  mask      {} voxels ({})\n  series    {}\n"
      "  seconds   {:.3f}: read {:.3f}, series {:.3f}, write {:.3f}\n",
      settings.input, grid.nx, grid.ny, grid.nz, grid.spacing[0], grid.spacing[1], grid.spacing[2], volumes,
      grouped(static_cast<std::uint64_t>(series.mask.inside)), series.mask.origin,
      series_text(outcome, volumes), total, read, outcome.seconds, wrote);
  for (const std::string& file : written) text += file + "\n";
  print(text);
  return kDone;
}

}  // namespace warploom::tool
