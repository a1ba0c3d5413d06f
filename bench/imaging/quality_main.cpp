// How far denoised tensors are from the truth on a made-up head, by tissue, beside the plain fit:
//   study_imaging_quality [--variations] LAYOUT SEED SNR [NX NY NZ [NOISE_VARIATION [BANDWIDTH [PRIOR
//   [RADIUS]]]]]
// prints JSON. Errors: `d` relative in the Frobenius norm, `fa` root mean square, `v1` mean angle [degrees]
// where the true FA is above 0.2. Truth is the plain fit of the noiseless series. --variations: also total
// variation and total generalised variation, with lambda from the noise, of the plain fit ("plain tv", "plain
// tgv") and of the fit of the denoised series ("tv", "tgv").

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "imaging/dwi_phantom.hpp"
#include "study_main.hpp"
#include "warploom/imaging/adaptive_fit.hpp"
#include "warploom/imaging/denoise.hpp"
#include "warploom/imaging/fit.hpp"
#include "warploom/imaging/maps.hpp"
#include "warploom/imaging/residual_structure.hpp"
#include "warploom/imaging/rician.hpp"
#include "warploom/imaging/series_denoise.hpp"

namespace {

using namespace warploom;
using namespace warploom::imaging;

struct Errors {
  double d = 0, d_norm = 0, fa = 0, v1 = 0, voxels = 0, directed = 0;
};

class Study {
 public:
  explicit Study(const DwiPhantom& phantom)
      : phantom_(phantom),
        truth_(fit(phantom.clean.image).tensor),
        maps_(tensor_maps(truth_, phantom.mask)) {}

  TensorFit fit(const Image& series) const {
    const io::Gradients& gradients = phantom_.clean.gradients;
    return fit_tensors(series, gradients.b, gradients.directions, phantom_.mask);
  }

  std::string errors(const TensorImage& tensor) const {
    const TensorMaps maps = tensor_maps(tensor, phantom_.mask);
    std::string text;
    Errors all;
    for (const Tissue tissue : kTissues) {
      Errors here;
      for (std::size_t v = 0; v < phantom_.tissue.size(); ++v)
        if (phantom_.tissue[v] == tissue) add(here, all, tensor, maps, v);
      text += line(name(tissue), here);
    }
    return text + line("all", all);
  }

 private:
  void add(Errors& here, Errors& all, const TensorImage& tensor, const TensorMaps& maps,
           std::size_t v) const {
    const std::size_t stride = phantom_.tissue.size();
    double d = 0, norm = 0;
    for (std::size_t c = 0; c < 6; ++c) {
      const double want = truth_.data[c * stride + v], off = tensor.data[c * stride + v] - want;
      d += static_cast<double>(kTensorWeights[c]) * off * off;
      norm += static_cast<double>(kTensorWeights[c]) * want * want;
    }
    const double fa =
        std::pow(static_cast<double>(maps.fa.data[v]) - static_cast<double>(maps_.fa.data[v]), 2);
    double cosine = 0;
    for (std::size_t k = 0; k < 3; ++k)
      cosine += static_cast<double>(maps.v1.data[k * stride + v]) *
                static_cast<double>(maps_.v1.data[k * stride + v]);
    const bool directed = maps_.fa.data[v] > 0.2F;
    for (Errors* const sum : {&here, &all}) {
      sum->d += d, sum->d_norm += norm, sum->fa += fa, ++sum->voxels;
      if (directed)
        sum->v1 += std::acos(std::min(1.0, std::abs(cosine))) * 180 / 3.14159265358979323846, ++sum->directed;
    }
  }
  static std::string line(const char* tissue, const Errors& e) {
    return fmt::format("{}\n    \"{}\": {{\"d\": {:.5f}, \"fa\": {:.5f}, \"v1\": {:.3f}}}",
                       std::string(tissue) == "bundle" ? "" : ",", tissue, std::sqrt(e.d / e.d_norm),
                       std::sqrt(e.fa / e.voxels), e.directed > 0 ? e.v1 / e.directed : 0.0);
  }

  const DwiPhantom& phantom_;
  TensorImage truth_;
  TensorMaps maps_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A variation of tensors, as the tool applies it to a fitted series. Prints its lambda and time, too.
void print_variation(const Study& study, const DwiPhantom& phantom, const char* label, TensorImage tensor,
                     Variation variation) {
  DenoiseOptions options;
  options.run.devices = {Device::cpu};
  if (variation == Variation::generalised) {
    options.variation = variation;
    options.solver = Solver::primal_dual;
    options.epsilon = 0;
  }
  const auto start = std::chrono::steady_clock::now();
  const DenoiseReport report = denoise_tensors(tensor, phantom.mask, options);
  fmt::print(
      "  \"{}\": {{{},\n    \"lambda\": {:.3f}, \"iterations\": {}, \"gap\": {:.2g}, \"seconds\": {:.2f}}},\n",
      label, study.errors(tensor), report.lambda, report.iterations, report.gap, seconds_since(start));
}

void study(int count, char** arguments, bool variations) {
  DwiPhantomOptions options;
  options.layout = static_cast<std::uint32_t>(std::atoi(arguments[1]));
  const auto seed = static_cast<std::uint32_t>(std::atoi(arguments[2]));
  const double snr = std::atof(arguments[3]);
  if (count > 6) {
    options.nx = std::atoi(arguments[4]);
    options.ny = std::atoi(arguments[5]);
    options.nz = std::atoi(arguments[6]);
  }
  if (count > 7) options.noise_variation = std::atof(arguments[7]);
  AdaptiveFitOptions fit;
  if (count > 8) fit.bandwidth = std::atof(arguments[8]);
  if (count > 9) fit.prior = std::atof(arguments[9]);
  if (count > 10) fit.radius = std::atoi(arguments[10]);
  const DwiPhantom phantom = dwi_phantom(options);
  const Series noisy = with_noise(phantom, snr, seed);
  const Study study(phantom);
  fmt::print(
      "{{\"layout\": {}, \"seed\": {}, \"snr\": {}, \"grid\": [{}, {}, {}], \"noise_variation\": {},\n",
      options.layout, seed, snr, options.nx, options.ny, options.nz, options.noise_variation);
  fmt::print("  \"plain\": {{{}}},\n", study.errors(study.fit(noisy.image).tensor));

  const auto print_variations = [&](const std::string& label, const Image& volumes) {
    if (!variations) return;
    const TensorImage tensor = study.fit(volumes).tensor;
    print_variation(study, phantom, (label + "tv").c_str(), tensor, Variation::total);
    print_variation(study, phantom, (label + "tgv").c_str(), tensor, Variation::generalised);
  };
  print_variations("plain ", noisy.image);

  auto start = std::chrono::steady_clock::now();
  Image denoised = noisy.image;
  SeriesDenoising series = denoise_series(denoised, phantom.mask);
  correct_noise_bias(series.noise, denoised, series.extent);
  const double series_seconds = seconds_since(start);
  fmt::print("  \"series\": {{{}}},\n", study.errors(study.fit(denoised).tensor));
  print_variations("", denoised);
  Image unbiased = denoised;
  correct_rician_bias(unbiased, series.noise, phantom.mask);
  fmt::print("  \"series unbiased\": {{{}}},\n", study.errors(study.fit(unbiased).tensor));

  start = std::chrono::steady_clock::now();
  const io::Gradients& gradients = noisy.gradients;
  const AdaptiveFit chain = fit_tensors_adaptively(noisy.image, denoised, series.noise, gradients.b,
                                                   gradients.directions, phantom.mask, fit);
  const double fit_seconds = seconds_since(start);
  fmt::print("  \"chain\": {{{}}},\n", study.errors(chain.tensor));
  // What a noise map says, relative to the truth.
  std::vector<double> ratios;
  for (std::size_t v = 0; v < phantom.mask.size(); ++v)
    if (phantom.mask[v] != 0)
      ratios.push_back(static_cast<double>(series.noise.data[v]) /
                       (1000 / snr * static_cast<double>(phantom.noise[v])));
  std::ranges::sort(ratios);
  const auto share = [&](double p) {
    return ratios[static_cast<std::size_t>(p * static_cast<double>(ratios.size() - 1))];
  };
  fmt::print("  \"noise_ratio\": [{:.3f}, {:.3f}, {:.3f}],\n", share(0.05), share(0.5), share(0.95));

  const ResidualStructure found = residual_structure(noisy.image, series.noise, chain.tensor, chain.s0,
                                                     gradients.b, gradients.directions, phantom.mask);
  fmt::print("  \"residual\": {{\"structured\": {}", found.structured);
  for (const auto& group : found.groups)
    fmt::print(", \"{}\": {{\"pairs\": {}, \"removed\": {:.4f}, \"noise\": {:.4f}, \"error\": {:.4f}}}",
               group.name, group.pairs, group.removed, group.noise, group.error);
  fmt::print("}},\n  \"seconds\": {{\"series\": {:.3f}, \"fit\": {:.3f}}}}}\n", series_seconds, fit_seconds);
}

}  // namespace

int main(int count, char** arguments) {
  const bool variations = count > 1 && arguments[1] == std::string("--variations");
  if (variations) {
    arguments[1] = arguments[0];
    --count, ++arguments;
  }
  return warploom::imaging::study_main(
      count, arguments, 4,
      "[--variations] LAYOUT SEED SNR [NX NY NZ [NOISE_VARIATION [BANDWIDTH [PRIOR [RADIUS]]]]]",
      [variations](int n, char** given) { study(n, given, variations); });
}
