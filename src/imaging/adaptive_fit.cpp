#include "warploom/imaging/adaptive_fit.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <string_view>

#include "core/built_with_cuda.hpp"
#include "imaging/adaptive_fit_backend.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"

namespace warploom::imaging {
namespace {

void require_options(const AdaptiveFitOptions& options) {
  if (!(options.bandwidth >= 0 && options.bandwidth <= 1e6))
    throw BadInput(
        fmt::format("the bandwidth is {}; it must be from 0 (every voxel alone) up", options.bandwidth));
  if (!(options.prior >= 0 && options.prior <= 1e6))
    throw BadInput(
        fmt::format("the prior is {}; it must be from 0 (the measured series alone) up", options.prior));
  if (options.radius < 0 || options.radius > 4)
    throw BadInput(fmt::format("the radius is {} voxels; it must be from 0 to 4", options.radius));
}

void require_same(const ImageView& image, const ImageView& series, int channels, std::string_view what) {
  image.check(what);
  if (image.channels != channels || image.grid.voxels() != series.grid.voxels())
    throw BadInput(fmt::format("{} has {} volumes of {} voxels; it must have {} of {}, as the series", what,
                               image.channels, image.grid.voxels(), channels, series.grid.voxels()));
}

bool known(float noise) { return noise > 0 && std::isfinite(noise); }

double usual_noise(const Image& noise, const Mask& mask) {
  std::vector<float> values;
  for (std::size_t v = 0; v < noise.data.size(); ++v)
    if (inside(mask, v) && known(noise.data[v])) values.push_back(noise.data[v]);
  if (values.empty()) throw BadInput("the noise map is nowhere above 0 inside the mask");
  return median(values);
}

void fit_adaptively(const AdaptiveProblem& problem, AdaptiveFit& fit) {
#if defined(WARPLOOM_HAVE_CUDA)
  if (fit.device.is_gpu()) return fit_adaptively_cuda(problem, fit);
#endif
  fit_adaptively_cpu(problem, fit);
}

}  // namespace

float AdaptiveProblem::noise_at(std::size_t v) const {
  return known(noise.data[v]) ? noise.data[v] : static_cast<float>(usual_noise);
}

AdaptiveFit fit_tensors_adaptively(const ImageView& series, const ImageView& denoised, const Image& noise,
                                   std::span<const double> b,
                                   std::span<const std::array<double, 3>> directions, const Mask& mask,
                                   const AdaptiveFitOptions& options) {
  const DeviceScope scope(options.run, "fitting tensors to a series", kBuiltWithCuda);
  require_options(options);
  series.check("the series");
  require_same(denoised, series, series.channels, "the denoised series");
  require_same(noise, series, 1, "the noise map");
  require_mask(mask, series.grid);
  const TensorDesign design = tensor_design(series.channels, b, directions);
  const auto start = std::chrono::steady_clock::now();
  AdaptiveFit fit;
  fit.device = scope.device();
  fit.tensor = TensorImage(series.grid, kTensorChannels);
  fit.s0 = Image(series.grid, 1);
  fit.neighbours = Image(series.grid, 1);
  fit_adaptively({series, denoised, noise, mask, design, options, usual_noise(noise, mask)}, fit);
  fit.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return fit;
}

}  // namespace warploom::imaging
