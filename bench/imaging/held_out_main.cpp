// How well tensors predict directions that they were not fitted to, on a measured series:
//   study_imaging_held_out DWI BVAL BVEC [FOLDS]
// Every fold leaves out each FOLDS-th weighted volume (default: one volume a fold), fits the rest plainly,
// without negative eigenvalues ("positive", what `denoise` does where it leaves the series as it is) and by
// the chain, and compares predicted magnitudes with those left out. Prints JSON: root mean square error by
// kind of tissue (where there is any), in the series' unit; by how much the mean squared error falls from the
// plain fit to the chain, in percent, with the standard error of that over voxels, as if they were
// independent; whether the whole chain's residual holds structure; and why `denoise` would leave the chain
// out, if it would.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "study_main.hpp"
#include "warploom/imaging/adaptive_fit.hpp"
#include "warploom/imaging/fit.hpp"
#include "warploom/imaging/maps.hpp"
#include "warploom/imaging/mask.hpp"
#include "warploom/imaging/residual_structure.hpp"
#include "warploom/imaging/rician.hpp"
#include "warploom/imaging/series.hpp"
#include "warploom/imaging/series_denoise.hpp"

namespace {

using namespace warploom;
using namespace warploom::imaging;

struct Fits {
  TensorFit plain, positive;
  AdaptiveFit chain;
  Image noise;
};

Fits fit(const Series& series, const Mask& mask) {
  Fits fits;
  const io::Gradients& g = series.gradients;
  fits.plain = fit_tensors(series.image, g.b, g.directions, mask);
  fits.positive = fit_tensors(series.image, g.b, g.directions, mask, {FitMethod::positive});
  Image denoised = series.image;
  SeriesDenoising series_denoised = denoise_series(denoised, mask);
  fits.noise = std::move(series_denoised.noise);
  correct_noise_bias(fits.noise, denoised, series_denoised.extent);
  fits.chain = fit_tensors_adaptively(series.image, denoised, fits.noise, g.b, g.directions, mask);
  return fits;
}

// The volumes for which keep(v) holds.
template <class Keep>
Series part(const Series& series, const Keep& keep) {
  Series result;
  result.header = series.header;
  std::vector<int> kept;
  for (int v = 0; v < series.image.channels; ++v)
    if (keep(v)) kept.push_back(v);
  result.image = Image(series.image.grid, static_cast<int>(kept.size()));
  result.gradients.frame = series.gradients.frame;
  for (std::size_t k = 0; k < kept.size(); ++k) {
    const auto from = static_cast<std::size_t>(kept[k]);
    std::ranges::copy(series.image.channel(kept[k]), result.image.channel(static_cast<int>(k)).begin());
    result.gradients.b.push_back(series.gradients.b[from]);
    result.gradients.directions.push_back(series.gradients.directions[from]);
  }
  return result;
}

double predict(const TensorImage& tensor, const Image& s0, std::size_t v, double b,
               const std::array<double, 3>& g) {
  const std::size_t stride = s0.data.size();
  const auto d = [&](std::size_t c) { return static_cast<double>(tensor.data[c * stride + v]); };
  const double exponent = d(0) * g[0] * g[0] + d(3) * g[1] * g[1] + d(5) * g[2] * g[2] +
                          2 * (d(1) * g[0] * g[1] + d(2) * g[0] * g[2] + d(4) * g[1] * g[2]);
  return static_cast<double>(s0.data[v]) * std::exp(-b / 1000 * exponent);
}

int kind(const TensorMaps& maps, std::size_t v) {
  return maps.md.data[v] > 1.5F ? 2 : maps.fa.data[v] >= 0.25F ? 1 : 0;
}

void study(int count, char** arguments) {
  const Series series = read_series({.input = arguments[1], .bval = arguments[2], .bvec = arguments[3]});
  const io::Gradients& g = series.gradients;
  Mask mask;
  try {
    mask = automatic_mask(mean_b0(series.image, g));
  } catch (const std::exception&) {
    mask.assign(static_cast<std::size_t>(series.image.grid.voxels()), 1);
  }
  std::vector<int> weighted;
  for (int v = 0; v < series.image.channels; ++v)
    if (g.b[static_cast<std::size_t>(v)] > 50) weighted.push_back(v);
  const int folds = count > 4 ? std::atoi(arguments[4]) : static_cast<int>(weighted.size());
  const Fits whole = fit(series, mask);
  const TensorMaps maps = tensor_maps(whole.chain.tensor, mask);
  struct Errors {
    double plain = 0, positive = 0, chain = 0, count = 0;
  };
  std::vector<Errors> errors(mask.size());
  for (int fold = 0; fold < folds; ++fold) {
    std::vector<int> left_out;
    for (std::size_t k = static_cast<std::size_t>(fold); k < weighted.size();
         k += static_cast<std::size_t>(folds))
      left_out.push_back(weighted[k]);
    const Fits fits =
        fit(part(series, [&](int v) { return std::ranges::find(left_out, v) == left_out.end(); }), mask);
    for (const int volume : left_out)
      for (std::size_t v = 0; v < mask.size(); ++v) {
        const auto at = static_cast<std::size_t>(volume);
        const double sigma = static_cast<double>(fits.noise.data[v]);
        if (mask[v] == 0 || !(sigma > 0) || !(fits.chain.s0.data[v] > 0)) continue;
        const double seen = static_cast<double>(series.image.channel(volume)[v]);
        const double plain = predict(fits.plain.tensor, fits.plain.s0, v, g.b[at], g.directions[at]);
        const double positive = predict(fits.positive.tensor, fits.positive.s0, v, g.b[at], g.directions[at]);
        const double signal = predict(fits.chain.tensor, fits.chain.s0, v, g.b[at], g.directions[at]);
        if (!std::isfinite(plain)) continue;
        errors[v].plain += std::pow(plain - seen, 2);
        errors[v].positive += std::pow(positive - seen, 2);
        errors[v].chain += std::pow(sigma * rician_moments(signal / sigma).mean - seen, 2);
        ++errors[v].count;
      }
  }
  const ResidualStructure found = residual_structure(series.image, whole.noise, whole.chain.tensor,
                                                     whole.chain.s0, g.b, g.directions, mask);
  fmt::print("{{\"input\": \"{}\", \"folds\": {}", arguments[1], folds);
  for (std::size_t k = 0; k < 3; ++k) {
    Errors sum;
    double voxels = 0, squares = 0;
    for (std::size_t v = 0; v < mask.size(); ++v)
      if (errors[v].count > 0 && kind(maps, v) == static_cast<int>(k)) {
        sum.plain += errors[v].plain, sum.positive += errors[v].positive, sum.chain += errors[v].chain,
            sum.count += errors[v].count;
        squares += std::pow(errors[v].plain - errors[v].chain, 2);
        ++voxels;
      }
    fmt::print(",\n  \"{}\": {{\"measurements\": {}", found.groups[k].name, sum.count);
    if (sum.count > 0) {  // a small series may lack a kind of tissue
      const double gain = sum.plain - sum.chain, variance = squares - gain * gain / voxels;
      fmt::print(", \"voxels\": {}, \"plain\": {:.4g}, \"positive\": {:.4g}, \"chain\": {:.4g}", voxels,
                 std::sqrt(sum.plain / sum.count), std::sqrt(sum.positive / sum.count),
                 std::sqrt(sum.chain / sum.count));
      fmt::print(", \"gain_percent\": {:.2f}, \"gain_error\": {:.2f}", 100 * gain / sum.plain,
                 100 * std::sqrt(std::max(0.0, variance)) / sum.plain);
    }
    fmt::print(", \"pairs\": {}, \"removed\": {:.4f}, \"noise\": {:.4f}, \"error\": {:.4f}}}",
               found.groups[k].pairs, found.groups[k].removed, found.groups[k].noise, found.groups[k].error);
  }
  fmt::print(",\n  \"left_out_because\": \"{}\"", series_denoise_obstacle(series.image, mask));
  fmt::print(",\n  \"verdict\": \"{}\"}}\n", found.verdict());
}

}  // namespace

int main(int count, char** arguments) {
  return warploom::imaging::study_main(count, arguments, 4, "DWI BVAL BVEC [FOLDS]", study);
}
