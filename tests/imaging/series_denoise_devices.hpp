#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "oracle/marchenko_pastur.hpp"
#include "oracle/phantom.hpp"
#include "warploom/core/error.hpp"
#include "warploom/imaging/series_denoise.hpp"

/// What every back end has to do; series_denoise_test.cpp and series_denoise_gpu_test.cpp say on which.
namespace warploom::imaging {

/// Smooth signal of a few components, about 1000, plus white noise.
inline Image series_of(const Grid& grid, int volumes, double sigma, int components = 4) {
  Image image(grid, volumes);
  std::size_t v = 0;
  for (int c = 0; c < volumes; ++c)
    for (std::int64_t z = 0; z < grid.nz; ++z)
      for (std::int64_t y = 0; y < grid.ny; ++y)
        for (std::int64_t x = 0; x < grid.nx; ++x, ++v) {
          double value = components > 0 ? 1000 : 0;
          for (int k = 1; k < components; ++k)
            value += 200.0 / k * std::sin(0.9 * k * double(x) + 0.4 * double(y) - 0.7 * double(z) * k) *
                     std::cos(1.7 * c * k + k * k);
          image.data[v] = static_cast<float>(value);
        }
  add_noise(image, sigma, 7);
  return image;
}

/// Of the whole series, patch by patch with the oracle. Complex data has real and then imaginary parts.
struct SeriesTruth {
  std::vector<double> noise, remaining;
  std::vector<int> rank;
  std::vector<double> margin;    ///< how far the decision was from another one, relative
  std::vector<double> denoised;  ///< [channels, voxels]
};
inline SeriesTruth oracle_series(const Image& series, bool complex, const std::array<int, 3>& extent,
                                 bool exp1, bool average) {
  const std::array<int, 3> n{int(series.grid.nx), int(series.grid.ny), int(series.grid.nz)};
  const std::size_t voxels = std::size_t(series.grid.voxels()),
                    rows = std::size_t(series.channels) / (complex ? 2 : 1);
  const std::size_t columns = std::size_t(extent[0]) * extent[1] * extent[2];
  SeriesTruth out;
  out.noise.resize(voxels), out.remaining.resize(voxels), out.rank.resize(voxels),
      out.margin.resize(voxels, 1);
  out.denoised.resize(series.data.size());
  std::vector<double> count(voxels);
  for (int bz = 0; bz <= n[2] - extent[2]; ++bz)
    for (int by = 0; by <= n[1] - extent[1]; ++by)
      for (int bx = 0; bx <= n[0] - extent[0]; ++bx) {
        std::vector<std::size_t> at;
        std::vector<bool> own;
        const std::array<int, 3> b{bx, by, bz};
        for (int z = 0; z < extent[2]; ++z)
          for (int y = 0; y < extent[1]; ++y)
            for (int x = 0; x < extent[0]; ++x) {
              const std::array<int, 3> v{bx + x, by + y, bz + z};
              at.push_back(std::size_t((v[2] * n[1] + v[1]) * n[0] + v[0]));
              bool mine = true;
              for (std::size_t a = 0; a < 3; ++a)
                mine = mine && std::clamp(v[a] - extent[a] / 2, 0, n[a] - extent[a]) == b[a];
              own.push_back(mine);
            }
        std::vector<std::complex<double>> matrix;
        for (std::size_t r = 0; r < rows; ++r)
          for (const std::size_t v : at)
            matrix.emplace_back(series.data[r * voxels + v],
                                complex ? series.data[(rows + r) * voxels + v] : 0);
        const auto found = oracle::marchenko_pastur(matrix, rows, columns, exp1);
        const double p = found.rank, m = double(rows), c = double(columns);
        for (std::size_t k = 0; k < columns; ++k) {
          if (!average && !own[k]) continue;
          count[at[k]] += 1;
          out.noise[at[k]] += found.variance;
          out.remaining[at[k]] += found.variance * p * (m + c - p) / (m * c);
          for (std::size_t r = 0; r < rows; ++r) {
            out.denoised[r * voxels + at[k]] += found.denoised[r * columns + k].real();
            if (complex) out.denoised[(rows + r) * voxels + at[k]] += found.denoised[r * columns + k].imag();
          }
          if (own[k]) out.rank[at[k]] = found.rank;
        }
      }
  for (std::size_t v = 0; v < voxels; ++v) {
    out.noise[v] = std::sqrt(out.noise[v] / count[v]);
    out.remaining[v] /= count[v];
    for (int ch = 0; ch < series.channels; ++ch) out.denoised[std::size_t(ch) * voxels + v] /= count[v];
  }
  return out;
}

class SeriesDenoiseOn : public testing::TestWithParam<Device> {
 protected:
  SeriesDenoiseOptions options(PatchOutput output = PatchOutput::centre,
                               Precision precision = Precision::float64) const {
    SeriesDenoiseOptions out;
    out.run.devices = {GetParam()};
    out.output = output;
    out.precision = precision;
    return out;
  }

  /// Same ranks; maps and values within `tolerance` of the noise.
  static void expect_near(const Image& after, const SeriesDenoising& got, const SeriesTruth& want,
                          double sigma, double tolerance) {
    double noise = 0, remaining = 0, values = 0;
    std::size_t other_ranks = 0;
    for (std::size_t v = 0; v < want.rank.size(); ++v) {
      other_ranks += int(got.rank.data[v]) != want.rank[v];
      noise = std::max(noise, std::abs(got.noise.data[v] - want.noise[v]) / sigma);
      remaining =
          std::max(remaining, std::abs(got.remaining_variance.data[v] - want.remaining[v]) / (sigma * sigma));
    }
    for (std::size_t k = 0; k < after.data.size(); ++k)
      values = std::max(values, std::abs(double(after.data[k]) - want.denoised[k]) / sigma);
    EXPECT_EQ(other_ranks, 0U) << "of " << want.rank.size();
    EXPECT_LT(noise, tolerance);
    EXPECT_LT(remaining, tolerance);
    EXPECT_LT(values, tolerance);
  }
};

// Float images of about 1000 with noise of 20: rounding of the result is 3e-6 of the noise, and single
// precision 6e-8 * lambda_1 in eigenvalues.
constexpr double kDoubleTolerance = 1e-5, kSingleTolerance = 5e-3;
// Averages are sums of up to 27 such values in single precision, in an order that depends on the instruction
// set: each of the additions rounds by at most half the spacing of floats at 27,000, 1e-3, and so does their
// mean: 5e-5 of the noise.
constexpr double kAverageTolerance = 5e-5;

TEST_P(SeriesDenoiseOn, CentreIsTheOracles) {
  for (const Precision precision : {Precision::float64, Precision::float32})
    for (const int volumes : {2, 7, 20}) {
      const Image before = series_of({11, 7, 5}, volumes, 20);
      Image after = before;
      const SeriesDenoising got = denoise_series(after, {}, options(PatchOutput::centre, precision));
      EXPECT_EQ(got.voxels, before.grid.voxels());
      expect_near(after, got, oracle_series(before, false, got.extent, false, false), 20,
                  precision == Precision::float64 ? kDoubleTolerance : kSingleTolerance);
    }
}

TEST_P(SeriesDenoiseOn, AverageIsTheOracles) {
  for (const Precision precision : {Precision::float64, Precision::float32})
    for (const int components : {0, 1, 6}) {
      const Image before = series_of({9, 6, 5}, 10, 20, components);
      Image after = before;
      const SeriesDenoising got = denoise_series(after, {}, options(PatchOutput::average, precision));
      expect_near(after, got, oracle_series(before, false, got.extent, false, true), 20,
                  precision == Precision::float64 ? kAverageTolerance : kSingleTolerance);
    }
}

TEST_P(SeriesDenoiseOn, BesideTheSeriesAreTheBitsOfInPlace) {
  Image before = series_of({9, 6, 5}, 10, 20);
  before.data[7] = std::numeric_limits<float>::quiet_NaN();  // voxels that stay as they are
  Mask mask(270, 1);
  std::fill_n(mask.begin() + 200, 40, 0);
  for (const PatchOutput output : {PatchOutput::centre, PatchOutput::average}) {
    auto with = options(output, Precision::float32);
    with.residual = true;
    Image in_place = before, beside(before.grid, 10);
    std::ranges::fill(beside.data, 5.0F);  // what was there means nothing
    const SeriesDenoising a = denoise_series(in_place, mask, with),
                          b = denoise_series(before, beside, mask, with);
    EXPECT_GT(b.skipped, 0);
    EXPECT_EQ(std::memcmp(beside.data.data(), in_place.data.data(), 4 * beside.data.size()), 0);
    EXPECT_EQ(a.noise.data, b.noise.data);
    EXPECT_EQ(std::memcmp(a.residual.data.data(), b.residual.data.data(), 4 * beside.data.size()), 0);
  }
}

TEST_P(SeriesDenoiseOn, TheFirstEstimatorIsTheOracles) {
  const Image before = series_of({8, 6, 5}, 12, 20);
  Image after = before;
  auto with = options();
  with.estimator = NoiseEstimator::exp1;
  const SeriesDenoising got = denoise_series(after, {}, with);
  expect_near(after, got, oracle_series(before, false, got.extent, true, false), 20, kDoubleTolerance);
}

TEST_P(SeriesDenoiseOn, APatchMayHaveFewerVoxelsThanThereAreVolumes) {
  for (const PatchOutput output : {PatchOutput::centre, PatchOutput::average}) {
    const Image before = series_of({6, 5, 4}, 31, 20, 3);
    Image after = before;
    auto with = options(output);
    with.extent = {3, 1, 3};
    const SeriesDenoising got = denoise_series(after, {}, with);
    expect_near(after, got, oracle_series(before, false, with.extent, false, output == PatchOutput::average),
                20, output == PatchOutput::average ? kAverageTolerance : kDoubleTolerance);
  }
}

TEST_P(SeriesDenoiseOn, ComplexIsTheOracles) {
  for (const PatchOutput output : {PatchOutput::centre, PatchOutput::average}) {
    const int volumes = 9;
    Image parts = series_of({7, 5, 4}, 2 * volumes, 20, 3);
    const std::size_t half = parts.data.size() / 2;
    std::vector<std::complex<float>> values;
    for (std::size_t k = 0; k < half; ++k) values.emplace_back(parts.data[k], parts.data[half + k]);
    const SeriesDenoising got = denoise_complex_series(values, parts.grid, volumes, {}, options(output));
    const SeriesTruth want = oracle_series(parts, true, got.extent, false, output == PatchOutput::average);
    for (std::size_t k = 0; k < half; ++k)
      parts.data[k] = values[k].real(), parts.data[half + k] = values[k].imag();
    expect_near(parts, got, want, 20, output == PatchOutput::average ? kAverageTolerance : kDoubleTolerance);
  }
}

TEST_P(SeriesDenoiseOn, PureNoiseHasRankZeroAndItsStandardDeviation) {
  Image noise = series_of({20, 20, 12}, 40, 3, 0);
  const SeriesDenoising got = denoise_series(noise, {}, options(PatchOutput::centre, Precision::float32));
  EXPECT_GT(std::ranges::count(got.rank.data, 0.0F), 0.9 * double(got.rank.data.size()));
  double mean = 0;
  for (const float level : got.noise.data) mean += double(level);
  EXPECT_NEAR(mean / double(got.noise.data.size()), 3, 0.06);
}

TEST_P(SeriesDenoiseOn, ASeriesOfLowRankWithoutNoiseStaysAsItIs) {
  for (const PatchOutput output : {PatchOutput::centre, PatchOutput::average})
    for (const Precision precision : {Precision::float64, Precision::float32}) {
      const Image before = series_of({12, 7, 6}, 24, 0, 4);
      Image after = before;
      denoise_series(after, {}, options(output, precision));
      for (std::size_t k = 0; k < before.data.size(); ++k)
        ASSERT_NEAR(after.data[k], before.data[k], precision == Precision::float64 ? 2e-3 : 2e-2) << k;
    }
}

TEST_P(SeriesDenoiseOn, ZerosStayZeros) {
  Image zeros(Grid{7, 6, 5}, 12);
  const SeriesDenoising got = denoise_series(zeros, {}, options(PatchOutput::average, Precision::float32));
  EXPECT_EQ(std::ranges::count(zeros.data, 0.0F), std::ssize(zeros.data));
  EXPECT_EQ(std::ranges::count(got.noise.data, 0.0F), std::ssize(got.noise.data));
}

TEST_P(SeriesDenoiseOn, TheUnitScalesEverything) {
  for (const float unit : {1e-12F, 1024.0F, 1e12F}) {
    const Image before = series_of({9, 7, 5}, 14, 20);
    Image one = before, other = before;
    for (float& value : other.data) value *= unit;
    const SeriesDenoising a = denoise_series(one, {}, options()), b = denoise_series(other, {}, options());
    EXPECT_EQ(a.rank.data, b.rank.data);
    for (std::size_t v = 0; v < a.noise.data.size(); ++v)
      ASSERT_NEAR(b.noise.data[v] / unit, a.noise.data[v], 1e-3);
    for (std::size_t k = 0; k < one.data.size(); ++k) ASSERT_NEAR(other.data[k] / unit, one.data[k], 1e-3);
  }
}

TEST_P(SeriesDenoiseOn, VoxelsOutsideTheMaskStayAndCountInPatches) {
  const Image before = series_of({10, 8, 6}, 12, 20);
  Image whole = before, masked = before;
  Mask mask(std::size_t(before.grid.voxels()));
  for (std::size_t v = 0; v < mask.size(); ++v) mask[v] = v % 3 == 0 && v % 10 > 2;
  const auto with = options();
  const SeriesDenoising all = denoise_series(whole, {}, with), some = denoise_series(masked, mask, with);
  EXPECT_EQ(some.voxels, std::ranges::count(mask, 1));
  for (std::size_t v = 0; v < mask.size(); ++v) {
    ASSERT_EQ(some.noise.data[v], mask[v] ? all.noise.data[v] : 0);
    for (int c = 0; c < 12; ++c)
      ASSERT_EQ(masked.channel(c)[v], mask[v] ? whole.channel(c)[v] : before.channel(c)[v]);
  }
}

TEST_P(SeriesDenoiseOn, APatchWithAValueThatIsNotFiniteIsSkipped) {
  for (const PatchOutput output : {PatchOutput::centre, PatchOutput::average}) {
    Image image = series_of({16, 9, 7}, 12, 20);
    const std::size_t hole = (3 * 9 + 4) * 16 + 5;
    image.channel(7)[hole] = std::numeric_limits<float>::quiet_NaN();
    const Image before = image;
    const SeriesDenoising got = denoise_series(image, {}, options(output, Precision::float32));
    EXPECT_EQ(got.skipped, 27);  // 3 x 3 x 3 patches contain it
    EXPECT_EQ(got.voxels, 16 * 9 * 7 - 27);
    for (std::size_t v = 0; v < got.noise.data.size(); ++v) {
      const bool near = std::abs(int(v % 16) - 5) <= 1 && std::abs(int(v / 16 % 9) - 4) <= 1 &&
                        std::abs(int(v / 144) - 3) <= 1;
      ASSERT_EQ(got.noise.data[v] == 0, near) << v;
      ASSERT_EQ(image.channel(3)[v] == before.channel(3)[v], near) << v;
    }
  }
}

TEST_P(SeriesDenoiseOn, TheResidualIsWhatWasTakenAway) {
  const Image before = series_of({9, 6, 5}, 10, 20);
  Image after = before;
  auto with = options(PatchOutput::average);
  with.residual = true;
  const SeriesDenoising got = denoise_series(after, {}, with);
  ASSERT_EQ(got.residual.data.size(), before.data.size());
  for (std::size_t k = 0; k < before.data.size(); ++k)
    ASSERT_EQ(got.residual.data[k], before.data[k] - after.data[k]);
}

TEST_P(SeriesDenoiseOn, TheRemainingVarianceIsThatOfTheError) {
  const Grid grid{24, 20, 12};
  const Image truth = series_of(grid, 40, 0, 4), before = series_of(grid, 40, 20, 4);
  Image after = before;
  const SeriesDenoising got = denoise_series(after, {}, options(PatchOutput::centre, Precision::float32));
  double error = 0, told = 0;
  for (std::size_t k = 0; k < truth.data.size(); ++k)
    error += std::pow(double(after.data[k]) - double(truth.data[k]), 2) / double(truth.data.size());
  for (const float variance : got.remaining_variance.data) told += double(variance) / double(grid.voxels());
  EXPECT_NEAR(told, error, 0.15 * error);
  EXPECT_LT(error, 0.3 * 400);
}

// lambda_1 is 2500 sigma^2 a volume: rounding of 6e-8 lambda_1 would be 4 % of sigma^2 at 240 of them.
TEST_P(SeriesDenoiseOn, SinglePrecisionFindsTheRanksOfDoubleWhateverTheLengthOfTheSeries) {
  for (const int volumes : {17, 65, 130, 240}) {
    const Image before = series_of({15, 10, 9}, volumes, 20, 6);
    Image exact = before, rounded = before;
    const SeriesDenoising a = denoise_series(exact, {}, options(PatchOutput::centre, Precision::float64));
    const SeriesDenoising b = denoise_series(rounded, {}, options(PatchOutput::centre, Precision::float32));
    const std::size_t voxels = a.rank.data.size();
    double other_ranks = 0, values = 0;
    for (std::size_t v = 0; v < voxels; ++v) {
      if (a.rank.data[v] != b.rank.data[v]) {
        other_ranks += 1.0 / double(voxels);
        continue;
      }
      for (int c = 0; c < volumes; ++c)
        values = std::max(values, std::abs(double(exact.channel(c)[v]) - double(rounded.channel(c)[v])) / 20);
    }
    EXPECT_LE(other_ranks, 1e-3) << volumes;
    EXPECT_LT(values, kSingleTolerance) << volumes;
  }
}

TEST_P(SeriesDenoiseOn, TwoRunsHaveTheSameBits) {
  for (const PatchOutput output : {PatchOutput::centre, PatchOutput::average}) {
    const Image before = series_of({21, 17, 9}, 12, 20);
    Image a = before, b = before;
    auto with = options(output, Precision::float32);
    denoise_series(a, {}, with);
    with.run.threads = 1;
    denoise_series(b, {}, with);
    EXPECT_EQ(a.data, b.data);
  }
}

}  // namespace warploom::imaging
