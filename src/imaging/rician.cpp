#include "warploom/imaging/rician.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <numbers>
#include <vector>

#include "core/built_with_cuda.hpp"
#include "imaging/residual_backend.hpp"
#include "imaging/rician_moments.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"

namespace warploom::imaging {
namespace {

// exp(-x) I_nu(x) for nu = 0 and 1, from the power series up to 20 and Hankel's series beyond.
double scaled_bessel(int nu, double x) {
  if (x < 20) {
    double term = nu == 0 ? 1 : x / 2, sum = term;
    for (int k = 1; term > 1e-17 * sum; ++k) sum += term *= x * x / 4 / (k * (k + nu));
    return std::exp(-x) * sum;
  }
  double term = 1, sum = 1;
  for (int k = 1; k < 16; ++k) {
    term *= -(4.0 * nu * nu - (2 * k - 1) * (2 * k - 1)) / (8 * k * x);
    sum += term;
  }
  return sum / std::sqrt(2 * std::numbers::pi * x);
}

RicianMoments exact(double signal) {
  const double x = signal * signal / 4, i0 = scaled_bessel(0, x), i1 = scaled_bessel(1, x);
  const double mean = kRicianFloor * ((1 + 2 * x) * i0 + 2 * x * i1);
  return {mean, kRicianFloor * signal / 2 * (i0 + i1), 2 + signal * signal - mean * mean};
}

// Means over the voxels of the grid up to `reach` off along one axis.
void box_means(std::vector<double>& values, std::size_t extent, std::size_t step, std::size_t reach) {
  const std::size_t rows = values.size() / extent;
  parallel_for(static_cast<std::int64_t>(rows), [&](std::int64_t row) {
    const auto r = static_cast<std::size_t>(row);
    double* const first = values.data() + r / step * step * extent + r % step;
    std::vector<double> sums(extent + 1);
    for (std::size_t i = 0; i < extent; ++i) sums[i + 1] = sums[i] + first[i * step];
    for (std::size_t i = 0; i < extent; ++i) {
      const std::size_t begin = i - std::min(i, reach), end = std::min(extent, i + reach + 1);
      first[i * step] = (sums[end] - sums[begin]) / static_cast<double>(end - begin);
    }
  });
}

}  // namespace

const RicianMoments* rician_table() {
  static const std::vector<RicianMoments> table = [] {
    std::vector<RicianMoments> made;
    for (int k = 0; k < kRicianEntries; ++k) made.push_back(exact(static_cast<double>(k) / kRicianPerUnit));
    return made;
  }();
  return table.data();
}

RicianMoments rician_moments(double signal) { return rician_moments(signal, rician_table()); }

double rician_signal(double mean) { return rician_signal(mean, rician_table()); }

void correct_noise_bias(Image& noise, const Image& series, const std::array<int, 3>& extent, const Run& run) {
  const DeviceScope scope(run, "correcting a noise map", kBuiltWithCuda);
  series.check("the series");
  noise.check("the noise map");
  if (noise.channels != 1 || noise.grid.voxels() != series.grid.voxels())
    throw BadInput("the noise map must have one value for each voxel of the series");
  for (const int side : extent)
    if (side < 1 || side % 2 == 0) throw BadInput("a patch's extents must be odd and at least 1");
  const std::vector<float> measured = noise.data;
  std::vector<float> known;
  std::ranges::copy_if(measured, std::back_inserter(known), [](float value) { return value > 0; });
  if (known.empty()) return;
  const double usual = median(known);
#if defined(WARPLOOM_HAVE_CUDA)
  if (scope.device().is_gpu()) return correct_noise_bias_cuda(noise, series, extent, usual);
#endif
  std::vector<double> variance(measured.size());
  const Grid& grid = series.grid;
  for (int step = 0; step < 3; ++step) {
    for_pieces(grid, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) {
        const double scale = 1 / (noise.data[v] > 0 ? static_cast<double>(noise.data[v]) : usual);
        double sum = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(series.channels); ++i) {
          const double value = static_cast<double>(series.data[i * variance.size() + v]);
          sum += std::isfinite(value) ? rician_variance(scale * value, rician_table()) : 1;
        }
        variance[v] = sum / series.channels;
      }
    });
    std::size_t stride = 1;
    const std::array<std::int64_t, 3> extents{grid.nx, grid.ny, grid.nz};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto length = static_cast<std::size_t>(extents[axis]);
      box_means(variance, length, stride, static_cast<std::size_t>(extent[axis] / 2));
      stride *= length;
    }
    for (std::size_t v = 0; v < variance.size(); ++v)
      if (measured[v] > 0) noise.data[v] = measured[v] / static_cast<float>(std::sqrt(variance[v]));
  }
}

std::int64_t correct_rician_bias(Image& series, const Image& noise, const Mask& mask, const Run& run) {
  const RunScope scope(run);
  series.check("the series");
  noise.check("the noise map");
  require_mask(mask, series.grid);
  if (noise.channels != 1 || noise.grid.voxels() != series.grid.voxels())
    throw BadInput("the noise map must have one value for each voxel of the series");
  std::atomic<std::int64_t> low = 0;
  for_pieces(series.grid, [&](std::size_t begin, std::size_t end) {
    std::int64_t here = 0;
    for (int volume = 0; volume < series.channels; ++volume) {
      const auto values = series.channel(volume);
      for (std::size_t v = begin; v < end; ++v) {
        const double sigma = static_cast<double>(noise.data[v]);
        if (!inside(mask, v) || !(sigma > 0)) continue;
        const double signal = rician_signal(static_cast<double>(values[v]) / sigma);
        here += signal == 0;
        values[v] = static_cast<float>(sigma * signal);
      }
    }
    low += here;
  });
  return low;
}

}  // namespace warploom::imaging
