#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "doors/doors.hpp"
#include "doors/imaging_doors.hpp"
#include "warploom/imaging/adaptive_fit.hpp"
#include "warploom/imaging/denoise_workflow.hpp"
#include "warploom/imaging/image_file.hpp"
#include "warploom/imaging/residual_structure.hpp"
#include "warploom/imaging/rician.hpp"
#include "warploom/imaging/series_denoise.hpp"
#include "warploom/imaging/series_workflow.hpp"

namespace warploom::doors {
namespace {

using namespace imaging;

std::vector<SeriesDenoiseOptions> odd_series_options() {
  std::vector<SeriesDenoiseOptions> all;
  for (const int extent : {-3, 1, 2, 7, 1 << 30, std::numeric_limits<int>::max()})
    all.push_back({.extent = {extent, extent, extent}});
  all.push_back({.extent = {3, 0, 3}});
  all.push_back({.estimator = no_enumerator<NoiseEstimator>()});
  all.push_back({.output = no_enumerator<PatchOutput>()});
  all.push_back({.precision = no_enumerator<Precision>()});
  all.push_back({.run = {.devices = {Device::cpu, Device::cpu}}});
  return all;
}

DOOR(
    DenoiseSeries, "imaging::denoise_series(Image &, const Mask &, const SeriesDenoiseOptions &)",
    "imaging::denoise_series(const ImageView &, Image &, const Mask &, const SeriesDenoiseOptions &)",
    "imaging::noise_correlation", "imaging::series_denoise_obstacle",
    "imaging::denoise_first(const ImageView &, Image &, const Mask &, SeriesStep, const SeriesDenoiseOptions &)",
    "imaging::denoise_first(Image &, const Mask &, SeriesStep, const SeriesDenoiseOptions &)") {
  const SeriesDenoiseOptions cpu{.extent = {3, 3, 3}, .run = {.devices = {Device::cpu}}};
  door_of_images(9, [&](Image& i, const Mask& m) { return denoise_series(i, m, cpu).voxels; });
  door_of_images(9, [](Image& i, const Mask& m) { return noise_correlation(i, m).patches; });
  door_of_images(9, [](Image& i, const Mask& m) { return series_denoise_obstacle(i, m); });
  door_of_images(9,
                 [&](Image& i, const Mask& m) { return denoise_first(i, m, SeriesStep::on, cpu).seconds; });
  door_of_images(9, [&](Image& i, const Mask& m) {
    Image beside = broken(2).front();  // becomes whole
    return denoise_first(i, beside, m, SeriesStep::on, cpu).seconds;
  });
  refused([&] {
    Image both = whole(9);
    return denoise_series(both, both, {}, cpu).voxels;
  });
  for (SeriesDenoiseOptions options : odd_series_options()) {
    if (options.run.devices.empty()) options.run.devices = {Device::cpu};
    Image series = whole(9);
    if (options.extent[0] != 1) refused([&] { return denoise_series(series, {}, options).voxels; });
  }
  Image series = whole(9);
  refused([&] { return denoise_first(series, {}, no_enumerator<SeriesStep>(), cpu).seconds; });
}

/// What fit_tensors_adaptively() and residual_structure() are given of a series of nine volumes.
struct KnownNoise {
  Image series = whole(9), denoised = whole(9), noise{{6, 6, 6}, 1}, tensor{{6, 6, 6}, 6}, s0{{6, 6, 6}, 1};
  std::vector<double> b;
  std::vector<std::array<double, 3>> g;
  Mask mask;
  KnownNoise() {
    const double h = std::sqrt(0.5);
    b = {0, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000};
    g = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {h, h, 0}, {h, 0, h}, {0, h, h}, {h, -h, 0}, {h, 0, -h}};
    std::ranges::fill(noise.data, 3.0F);
    std::ranges::fill(s0.data, 90.0F);
    for (const int c : {0, 3, 5}) std::ranges::fill(tensor.channel(c), 0.7F);
  }
  std::int64_t fit(const AdaptiveFitOptions& options = {}) const {
    return fit_tensors_adaptively(series, denoised, noise, b, g, mask, options).voxels;
  }
  bool look() const { return residual_structure(series, noise, tensor, s0, b, g, mask).structured; }
};

DOOR(KnownNoise, "imaging::fit_tensors_adaptively", "imaging::residual_structure",
     "imaging::ResidualStructure::verdict") {
  EXPECT_EQ(KnownNoise{}.fit(), 216);
  EXPECT_FALSE(ResidualStructure{}.verdict().empty());
  const auto both_refused = [](const std::function<void(KnownNoise&)>& change, bool of_fit = true,
                               bool of_look = true) {
    KnownNoise of;
    change(of);
    if (of_fit) refused([&] { return of.fit(); });
    if (of_look) refused([&] { return of.look(); });
  };
  for (const Image& image : broken(9)) {
    both_refused([&](KnownNoise& of) { of.series = image; });
    both_refused([&](KnownNoise& of) { of.denoised = image; }, true, false);
  }
  for (const Image& image : broken(1)) {
    both_refused([&](KnownNoise& of) { of.noise = image; });
    both_refused([&](KnownNoise& of) { of.s0 = image; }, false, true);
  }
  for (const Image& image : broken(6)) both_refused([&](KnownNoise& of) { of.tensor = image; }, false, true);
  both_refused([](KnownNoise& of) { of.mask = Mask(5, 1); });
  both_refused([](KnownNoise& of) { of.b.pop_back(); });
  both_refused([](KnownNoise& of) { of.g.clear(); });
  both_refused([](KnownNoise& of) { of.b[3] = kNan; });
  for (const double odd : {kNan, kInfinity, -1.0}) {
    refused([&] { return KnownNoise{}.fit({.bandwidth = odd}); });
    refused([&] { return KnownNoise{}.fit({.prior = odd}); });
  }
  for (const int radius : {-1, 5, std::numeric_limits<int>::max()})
    refused([&] { return KnownNoise{}.fit({.radius = radius}); });
  for (const float value : {0.0F, -1.0F, 1e38F, static_cast<float>(kInfinity), static_cast<float>(kNan)}) {
    KnownNoise of;
    std::ranges::fill(of.series.data, value);
    survives([&] { return of.fit(); });
    survives([&] { return of.look(); });
    of = {};
    of.denoised.data[7] = of.noise.data[9] = of.tensor.data[11] = of.s0.data[12] = value;
    survives([&] { return of.fit(); });
    survives([&] { return of.look(); });
  }
}

DOOR(Rician, "imaging::correct_noise_bias", "imaging::correct_rician_bias", "imaging::rician_moments",
     "imaging::rician_signal") {
  for (const double value : {kNan, kInfinity, -kInfinity, -1.0, 0.0, 1e300}) {
    survives([&] { return rician_moments(value).mean; });
    survives([&] { return rician_signal(value); });
  }
  Image noise = whole(1), series = whole(9);
  for (Image& image : broken(9)) {
    refused([&] { return correct_rician_bias(image, noise, {}); });
    refused([&] { return correct_noise_bias(noise, image, {3, 3, 3}), 0; });
  }
  for (Image& image : broken(1)) {
    refused([&] { return correct_rician_bias(series, image, {}); });
    refused([&] { return correct_noise_bias(image, series, {3, 3, 3}), 0; });
  }
  refused([&] { return correct_rician_bias(series, noise, Mask(7, 1)); });
  for (const int extent : {-3, 0, 2})
    refused([&] { return correct_noise_bias(noise, series, {extent, 3, 3}), 0; });
  survives([&] { return correct_noise_bias(noise, series, {std::numeric_limits<int>::max(), 3, 3}), 0; });
  survives_numbers(9, [&](Image& i, const Mask& m) { return correct_rician_bias(i, noise, m); });
}

DOOR(DenoiseComplexSeries, "imaging::denoise_complex_series", "imaging::patch_extent") {
  std::vector<std::complex<float>> values(216 * 9);
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = {static_cast<float>((k * 2654435761U) % 97), static_cast<float>((k * 40503U) % 89)};
  const SeriesDenoiseOptions cpu{.extent = {3, 3, 3}, .run = {.devices = {Device::cpu}}};
  const Grid grid{6, 6, 6};
  EXPECT_EQ(denoise_complex_series(values, grid, 9, {}, cpu).voxels, 216);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, values.size() - 1})
    refused([&] { return denoise_complex_series(std::span(values).first(count), grid, 9, {}, cpu).voxels; });
  for (const int volumes : {-1, 0, 1, 8, std::numeric_limits<int>::max()})
    refused([&] { return denoise_complex_series(values, grid, volumes, {}, cpu).voxels; });
  for (const Grid& odd : {Grid{0, 6, 6}, Grid{-6, -6, 6}, Grid{kMost, kMost, 2}})
    refused([&] { return denoise_complex_series(values, odd, 9, {}, cpu).voxels; });
  refused([&] { return denoise_complex_series(values, grid, 9, Mask(5, 1), cpu).voxels; });
  for (const float value : {1e38F, static_cast<float>(kInfinity), static_cast<float>(kNan)}) {
    values[5] = {value, value};
    survives([&] { return denoise_complex_series(values, grid, 9, {}, cpu).voxels; });
  }
  for (const int volumes : {-1, 0}) refused([&] { return patch_extent(grid, volumes)[0]; });
  survives([&] { return patch_extent(grid, std::numeric_limits<int>::max())[0]; });
  for (const Grid& odd : {Grid{0, 6, 6}, Grid{6, -1, 6}}) refused([&] { return patch_extent(odd, 9)[0]; });
  survives([] { return patch_extent({kMost, kMost, kMost}, 1 << 30)[0]; });
}

DOOR(SeriesFiles, "imaging::read_series_image",
     "imaging::take_volumes_file(Image &, const Nifti &, std::string_view)",
     "imaging::take_volumes_file(std::vector<std::complex<float>> &, const Grid &, const Nifti &, "
     "std::string_view)",
     "imaging::denoise_first(std::span<std::complex<float>>, const Grid &, int, const Mask &, SeriesStep, "
     "const SeriesDenoiseOptions &)",
     "imaging::complex_volumes", "imaging::magnitudes", "imaging::take_measured_volumes",
     "imaging::name(NoiseEstimator)", "imaging::name(PatchOutput)", "imaging::name(Precision)",
     "imaging::name(SeriesStep)", "imaging::parse_noise_estimator", "imaging::parse_patch_output",
     "imaging::parse_precision", "imaging::parse_series_step", "imaging::name(Regulariser)",
     "imaging::parse_regulariser") {
  refused([] { return name(no_enumerator<Regulariser>()); });
  refused([] { return name(no_enumerator<NoiseEstimator>()); });
  refused([] { return name(no_enumerator<PatchOutput>()); });
  refused([] { return name(no_enumerator<Precision>()); });
  refused([] { return name(no_enumerator<SeriesStep>()); });
  for (const std::string& text : odd_texts()) {
    refused([&] { return parse_noise_estimator(text); });
    refused([&] { return parse_patch_output(text); });
    refused([&] { return parse_precision(text); });
    refused([&] { return parse_series_step(text); });
    refused([&] { return parse_regulariser(text); });
    refused([&] { return read_series_image(text).mask.inside; });
    refused([&] { return read_series_image("/nowhere", text).mask.inside; });
  }
  for (Image& image : broken(2)) refused([&] { return take_volumes_file(image, {}, "w").data; });
  Image image = whole(2);
  EXPECT_EQ(take_volumes_file(image, {}, "w").data.size(), 432u);
  refused([&] { return take_volumes_file(image, {}, "w").data; });

  std::vector<std::complex<float>> values(432, {static_cast<float>(kNan), 1e38F});
  const Grid grid{6, 6, 6};
  EXPECT_EQ(magnitudes(values, grid, 2).data.size(), 432U);
  for (const int volumes : {-1, 0, 1, 3, std::numeric_limits<int>::max()})
    refused([&] { return magnitudes(values, grid, volumes).data; });
  for (const Grid& odd : {Grid{0, 6, 6}, Grid{-6, -6, 6}, Grid{kMost, kMost, 2}}) {
    refused([&] { return magnitudes(values, odd, 2).data; });
    refused([&] { return take_volumes_file(values, odd, {}, "w").complex_data; });
    refused([&] {
      return denoise_first(values, odd, 2, {}, SeriesStep::automatic, {.run = {.devices = {Device::cpu}}})
          .seconds;
    });
  }
  for (Image& parts : broken(2)) refused([&] { return complex_volumes(parts); });
  refused([&] { return complex_volumes(whole(3)); });
  EXPECT_EQ(complex_volumes(whole(2)).size(), 216U);
  io::Nifti file = take_volumes_file(values, grid, {}, "w");
  refused([&] { return take_volumes_file(values, grid, {}, "w").complex_data; });
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, std::vector<std::int64_t>{6, 6},
                                                 std::vector<std::int64_t>{6, 6, 6, -2}}) {
    io::Nifti odd = file;
    odd.shape = shape;
    refused([&] { return take_measured_volumes(odd, "w", values).data; });
  }
  EXPECT_EQ(take_measured_volumes(file, "w", values).channels, 2);
  EXPECT_EQ(values.size(), 432U);
}

}  // namespace
}  // namespace warploom::doors
