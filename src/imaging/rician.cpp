#include "warploom/imaging/rician.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <iterator>
#include <numbers>
#include <vector>

#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"

namespace warploom::imaging {
namespace {

const double kFloor = std::sqrt(std::numbers::pi / 2);  // mean of noise alone
constexpr double kTableEnd = 16, kPerUnit = 256;
constexpr std::size_t kEntries = static_cast<std::size_t>(kTableEnd * kPerUnit) + 1;

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
  const double mean = kFloor * ((1 + 2 * x) * i0 + 2 * x * i1);
  return {mean, kFloor * signal / 2 * (i0 + i1), 2 + signal * signal - mean * mean};
}

struct Table {
  std::array<RicianMoments, kEntries> at;
  Table() {
    for (std::size_t k = 0; k < kEntries; ++k) at[k] = exact(static_cast<double>(k) / kPerUnit);
  }
};
const Table& table() {
  static const Table made;
  return made;
}

RicianMoments far(double signal) {
  const double r = 1 / signal, r2 = r * r;
  const double mean = signal + r * (0.5 + r2 * (0.125 + r2 * (0.1875 + r2 * 0.5859375)));
  const double variance = 1 - r2 * (0.5 + r2 * (0.5 + r2 * 1.375));  // without the difference of two squares
  return {mean, 1 - r2 * (0.5 + r2 * (0.375 + r2 * 0.9375)), variance};
}

// Of a magnitude that is taken for a mean.
double variance_at(double mean) {
  constexpr double kFar = 6;
  if (mean < kFar) return rician_moments(rician_signal(mean)).variance;
  return 1 - 0.5 / (mean * mean - 1);
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

RicianMoments rician_moments(double signal) {
  if (!(signal < kTableEnd)) return far(signal);
  // Cubic in the mean, whose slope is in the table; linear in what varies less.
  const double place = std::max(signal, 0.0) * kPerUnit;
  const auto k = std::min(static_cast<std::size_t>(place), kEntries - 2);
  const double t = place - static_cast<double>(k), h = 1 / kPerUnit;
  const auto &a = table().at[k], &b = table().at[k + 1];
  const double mean = (1 + 2 * t) * (1 - t) * (1 - t) * a.mean + t * (1 - t) * (1 - t) * h * a.slope +
                      t * t * (3 - 2 * t) * b.mean - t * t * (1 - t) * h * b.slope;
  return {mean, a.slope + t * (b.slope - a.slope), a.variance + t * (b.variance - a.variance)};
}

double rician_signal(double mean) {
  if (!(mean > kFloor)) return 0;
  // Near the floor mean = floor + floor S^2 / 4, far from it S = mean - 1 / (2 S).
  double signal = mean < 2 ? std::sqrt(4 * (mean / kFloor - 1)) : std::sqrt(mean * mean - 1);
  const int steps = mean < 8 ? 3 : 1;
  for (int step = 0; step < steps; ++step) {
    const auto [at, slope, variance] = rician_moments(signal);
    if (slope > 0) signal = std::max(signal / 2, signal - (at - mean) / slope);
  }
  return signal;
}

void correct_noise_bias(Image& noise, const Image& series, const std::array<int, 3>& extent, const Run& run) {
  const RunScope scope(run);
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
  std::vector<double> variance(measured.size());
  const Grid& grid = series.grid;
  for (int step = 0; step < 3; ++step) {
    for_pieces(grid, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) {
        const double scale = 1 / (noise.data[v] > 0 ? static_cast<double>(noise.data[v]) : usual);
        double sum = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(series.channels); ++i) {
          const double value = static_cast<double>(series.data[i * variance.size() + v]);
          sum += std::isfinite(value) ? variance_at(scale * value) : 1;
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
