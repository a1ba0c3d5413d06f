#include "warploom/imaging/series_workflow.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/doors.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/view.hpp"
#include "warploom/imaging/image_file.hpp"

namespace warploom::imaging {
namespace {

constexpr std::pair<SeriesStep, std::string_view> kSteps[] = {
    {SeriesStep::automatic, "auto"}, {SeriesStep::on, "on"}, {SeriesStep::off, "off"}};

/// Over the voxels that were denoised: those with a rank or with noise.
double median_of(const Image& map, const SeriesDenoising& done) {
  std::vector<float> values;
  for (std::size_t v = 0; v < map.data.size(); ++v)
    if (done.noise.data[v] > 0 || done.rank.data[v] > 0) values.push_back(map.data[v]);
  return values.empty() ? 0 : median(values);
}

}  // namespace

SeriesStep parse_series_step(std::string_view text) {
  for (const auto& [step, label] : kSteps)
    if (label == text) return step;
  throw BadInput(fmt::format("'{}' is none of auto, on, off", text));
}

std::string_view name(SeriesStep step) {
  return at_enumerator(kSteps, step, "whether a series is denoised").second;
}

SeriesOutcome denoise_first(Image& series, const Mask& mask, SeriesStep step,
                            const SeriesDenoiseOptions& options) {
  SeriesOutcome outcome;
  name(step);  // is there such a step?
  if (step == SeriesStep::off) return outcome;
  const auto begin = std::chrono::steady_clock::now();
  if (step == SeriesStep::automatic) outcome.why_not = series_denoise_obstacle(series, mask, options.run);
  if (outcome.why_not.empty()) {
    outcome.done = denoise_series(series, mask, options);
    outcome.median_noise = median_of(outcome.done->noise, *outcome.done);
    outcome.median_rank = median_of(outcome.done->rank, *outcome.done);
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

SeriesImage read_series_image(const std::string& file, const std::string& mask) {
  SeriesImage series;
  series.header = io::read_nifti(file);
  series.image = take_volumes(series.header, file);
  const int volumes = series.image.channels;
  if (volumes < 2)
    throw BadInput(fmt::format("{} has the extents {}; a series has four, [X, Y, Z, volumes]", file,
                               shape_text(series.header.shape)));
  const std::string wanted = mask.empty() ? "none" : mask;
  const auto candidates = [&]() -> Mask {
    if (wanted == "nonzero" || wanted == "none") return {};
    if (wanted != "auto") return read_mask(wanted, series.image.grid, series.header.affine, file);
    Image mean(series.image.grid, 1);
    for (int v = 0; v < volumes; ++v)
      for (std::size_t i = 0; i < mean.data.size(); ++i) {
        const float value = series.image.channel(v)[i];
        if (std::isfinite(value)) mean.data[i] += value / static_cast<float>(volumes);
      }
    return automatic_mask(mean);
  };
  series.mask = choose_mask(series.image, wanted, candidates, file);
  return series;
}

io::Nifti take_volumes_file(Image& image, const io::Nifti& like, std::string_view what) {
  image.check(what);
  io::Nifti file;
  file.shape = {image.grid.nx, image.grid.ny, image.grid.nz};
  if (image.channels > 1) file.shape.push_back(image.channels);
  file.spacing = like.spacing;
  file.affine = like.affine;
  file.sform_code = like.sform_code, file.qform_code = like.qform_code;
  file.nifti2 = like.nifti2;
  file.description = fmt::format("warploom denoise, {}", what);
  file.data = std::move(image.data);
  return file;
}

}  // namespace warploom::imaging
