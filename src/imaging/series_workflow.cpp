#include "warploom/imaging/series_workflow.hpp"

#include <fmt/format.h>

#include <algorithm>
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

namespace {

/// @param obstacle  says what speaks against denoising
/// @param denoise   does it
template <class Obstacle, class Denoise>
SeriesOutcome first_step(SeriesStep step, const Obstacle& obstacle, const Denoise& denoise) {
  SeriesOutcome outcome;
  name(step);  // is there such a step?
  if (step == SeriesStep::off) return outcome;
  const auto begin = std::chrono::steady_clock::now();
  if (step == SeriesStep::automatic) outcome.why_not = obstacle();
  if (outcome.why_not.empty()) {
    outcome.done = denoise();
    outcome.median_noise = median_of(outcome.done->noise, *outcome.done);
    outcome.median_rank = median_of(outcome.done->rank, *outcome.done);
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

/// A file that lies where `like` does, without data.
io::Nifti volumes_file(const Grid& grid, std::int64_t volumes, const io::Nifti& like, std::string_view what) {
  io::Nifti file;
  file.shape = {grid.nx, grid.ny, grid.nz};
  if (volumes > 1) file.shape.push_back(volumes);
  file.spacing = like.spacing;
  file.affine = like.affine;
  file.sform_code = like.sform_code, file.qform_code = like.qform_code;
  file.nifti2 = like.nifti2;
  file.description = fmt::format("warploom denoise, {}", what);
  return file;
}

}  // namespace

SeriesOutcome denoise_first(Image& series, const Mask& mask, SeriesStep step,
                            const SeriesDenoiseOptions& options) {
  return first_step(
      step, [&] { return series_denoise_obstacle(series, mask, options.run); },
      [&] { return denoise_series(series, mask, options); });
}

SeriesOutcome denoise_first(const ImageView& series, Image& denoised, const Mask& mask, SeriesStep step,
                            const SeriesDenoiseOptions& options) {
  return first_step(
      step, [&] { return series_denoise_obstacle(series, mask, options.run); },
      [&] { return denoise_series(series, denoised, mask, options); });
}

SeriesOutcome denoise_first(std::span<std::complex<float>> series, const Grid& grid, int volumes,
                            const Mask& mask, SeriesStep step, const SeriesDenoiseOptions& options) {
  const auto obstacle = [&] {
    Image real(grid, volumes);
    if (real.data.size() != series.size())
      throw BadInput(fmt::format("{} complex values are not {} volumes of {} voxels", series.size(), volumes,
                                 grid.voxels()));
    std::ranges::transform(series, real.data.begin(), [](const auto& value) { return value.real(); });
    return series_denoise_obstacle(real, mask, options.run);
  };
  SeriesOutcome outcome = first_step(
      step, obstacle, [&] { return denoise_complex_series(series, grid, volumes, mask, options); });
  outcome.complex = true;
  return outcome;
}

SeriesImage read_series_image(const std::string& file, const std::string& mask, std::uint64_t max_memory) {
  SeriesImage series;
  series.header = io::read_nifti(file, max_memory, io::NiftiNumbers::real_or_complex);
  series.image = take_measured_volumes(series.header, file, series.complex);
  const int volumes = series.image.channels;
  if (volumes < 2)
    throw BadInput(fmt::format("{} has the extents {}; a series has four, [X, Y, Z, volumes]", file,
                               shape_text(series.header.shape)));
  const std::string wanted = mask.empty() ? "none" : mask;
  const auto candidates = [&]() -> Mask {
    if (wanted == "nonzero" || wanted == "none") return {};
    if (wanted != "auto") return read_mask(wanted, series.image.grid, series.header.affine, file, max_memory);
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
  io::Nifti file = volumes_file(image.grid, image.channels, like, what);
  file.data = std::move(image.data);
  return file;
}

io::Nifti take_volumes_file(std::vector<std::complex<float>>& values, const Grid& grid, const io::Nifti& like,
                            std::string_view what) {
  const std::int64_t voxels = grid.voxels();
  if (voxels < 1 || values.empty() || std::ssize(values) % voxels != 0)
    throw BadInput(
        fmt::format("{}: {} complex values are not volumes of {} voxels", what, values.size(), voxels));
  io::Nifti file = volumes_file(grid, std::ssize(values) / voxels, like, what);
  file.type = io::NiftiType::complex64;
  file.complex_data = std::move(values);
  return file;
}

std::vector<std::complex<float>> complex_volumes(const Image& parts) {
  parts.check("the parts of complex volumes");
  if (parts.channels % 2 != 0)
    throw BadInput(fmt::format("{} channels are no real and imaginary parts", parts.channels));
  std::vector<std::complex<float>> values(parts.data.size() / 2);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = {parts.data[i], parts.data[values.size() + i]};
  return values;
}

}  // namespace warploom::imaging
