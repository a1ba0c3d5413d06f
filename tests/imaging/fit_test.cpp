#include "warploom/imaging/fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "oracle/phantom.hpp"
#include "oracle/tensor_fit.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"
#include "warploom/imaging/maps.hpp"

namespace warploom::imaging {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Direction = std::array<double, 3>;

constexpr double kS0 = 1000;
constexpr FitMethod kMethods[] = {FitMethod::ols, FitMethod::wls, FitMethod::iterated, FitMethod::positive};

// Two volumes without weighting, then `count` with b = 1000 s/mm^2 spread over the sphere (golden spiral).
struct Table {
  std::vector<double> b;
  std::vector<Direction> directions;
};
Table table(int count) {
  Table result{{0, 0}, {{0, 0, 0}, {0, 0, 0}}};
  for (int k = 0; k < count; ++k) {
    const double z = (k + 0.5) / count, turn = k * 2.399963229728653, r = std::sqrt(1 - z * z);
    result.b.push_back(1000);
    result.directions.push_back({r * std::cos(turn), r * std::sin(turn), z});
  }
  return result;
}

// The signal of a tensor image; noise of standard deviation `sigma` on top.
Image series_of(const TensorImage& tensors, const Table& table, double sigma) {
  Image series(tensors.grid, static_cast<int>(table.b.size()));
  for (std::size_t k = 0; k < table.b.size(); ++k) {
    const auto row = oracle::design_row(table.b[k], table.directions[k]);
    for (std::size_t v = 0; v < series.channel(0).size(); ++v) {
      long double exponent = 0;
      for (int c = 0; c < 6; ++c) exponent += row[std::size_t(c)] * tensors.channel(c)[v];
      series.channel(static_cast<int>(k))[v] = static_cast<float>(kS0 * std::exp(exponent));
    }
  }
  if (sigma > 0) add_noise(series, sigma, 21);
  return series;
}

struct Logarithms {
  std::vector<oracle::Unknowns> rows;
  std::vector<long double> values;
};
Logarithms logarithms(const Image& series, const Table& table, std::size_t voxel) {
  Logarithms result;
  for (std::size_t k = 0; k < table.b.size(); ++k) {
    result.rows.push_back(oracle::design_row(table.b[k], table.directions[k]));
    result.values.push_back(std::log(static_cast<long double>(series.channel(int(k))[voxel])));
  }
  return result;
}

// The fits by their definitions.
oracle::Unknowns expected_fit(FitMethod method, const Logarithms& data) {
  std::vector<long double> weights(data.rows.size(), 1);
  if (method == FitMethod::iterated)
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::exp(2 * data.values[i]);
  auto solution = oracle::least_squares(data.rows, data.values, weights);
  const int reweightings = method == FitMethod::ols ? 0 : method == FitMethod::wls ? 1 : 2;
  for (int k = 0; k < reweightings; ++k)
    solution = oracle::least_squares(data.rows, data.values, oracle::predicted_squares(data.rows, solution));
  return solution;
}

TEST(FitMethod, NamesAreParsedBack) {
  for (const FitMethod method : kMethods) EXPECT_EQ(parse_fit_method(name(method)), method);
  EXPECT_THAT([] { parse_fit_method("nls"); },
              ThrowsMessage<BadInput>(AllOf(HasSubstr("'nls'"), HasSubstr("wls"))));
}

TEST(FitTensors, RecoversTheTruthFromASignalWithoutNoise) {
  const auto truth = tensor_phantom(10);
  const auto t = table(12);
  const Image series = series_of(truth, t, 0);
  for (const FitMethod method : kMethods) {
    const TensorFit fit = fit_tensors(series, t.b, t.directions, {}, {method});
    EXPECT_LT(relative_error(fit.tensor, truth), 1e-6) << name(method);
    EXPECT_NEAR(fit.s0.data[123], kS0, 1e-3);
    EXPECT_EQ(fit.voxels, 1000);
    EXPECT_EQ(fit.not_fitted + fit.raised + fit.negative, 0);
    EXPECT_LT(fit.residual_variance, 1e-6);
  }
}

TEST(FitTensors, EveryMethodIsItsDefinition) {
  const auto t = table(15);
  const Image series = series_of(tensor_phantom(6), t, 10);
  for (const FitMethod method : {FitMethod::ols, FitMethod::wls, FitMethod::iterated}) {
    const TensorFit fit = fit_tensors(series, t.b, t.directions, {}, {method});
    for (std::size_t v = 0; v < 216; ++v) {
      const auto expected = expected_fit(method, logarithms(series, t, v));
      for (int c = 0; c < 6; ++c)
        ASSERT_NEAR(fit.tensor.channel(c)[v], double(expected[std::size_t(c)]), 1e-6)
            << name(method) << " " << v;
      ASSERT_NEAR(fit.s0.data[v] / double(std::exp(expected[6])), 1, 1e-6);
    }
  }
}

TEST(FitTensors, PositiveIsWlsWhereThatIsPositive) {
  const auto t = table(15);
  const Image series = series_of(tensor_phantom(8), t, 20);
  const TensorFit wls = fit_tensors(series, t.b, t.directions, {}, {FitMethod::wls});
  const TensorFit positive = fit_tensors(series, t.b, t.directions, {}, {FitMethod::positive});
  ASSERT_EQ(wls.negative, 0);
  EXPECT_EQ(positive.tensor.data, wls.tensor.data);
  EXPECT_EQ(positive.s0.data, wls.s0.data);
}

// Karush, Kuhn and Tucker's conditions: with G the gradient of the weighted residual by D, D and G have no
// negative eigenvalue and <G, D> = 0; the residual's derivative by ln S0 is 0.
TEST(FitTensors, PositiveIsTheBestTensorWithoutNegativeEigenvalues) {
  TensorImage truth(Grid{400, 1, 1}, 6);
  for (std::size_t v = 0; v < 400; ++v) {
    const double turn = 0.01 * double(v);
    const auto tensor = fibre(std::cos(turn), 0.8 * std::sin(turn), 0.6 * std::sin(turn));
    for (int c = 0; c < 6; ++c) truth.channel(c)[v] = tensor[std::size_t(c)];
  }
  const auto t = table(12);
  const Image series = series_of(truth, t, 130);
  const TensorFit wls = fit_tensors(series, t.b, t.directions, {}, {FitMethod::wls});
  const TensorFit fit = fit_tensors(series, t.b, t.directions, {}, {FitMethod::positive});
  EXPECT_EQ(fit.negative, 0);
  EXPECT_GT(wls.negative, 40);
  EXPECT_EQ(tensor_maps(fit.tensor, {}).negative, 0);
  int checked = 0;
  for (std::size_t v = 0; v < 400; ++v) {
    if (fit.tensor.channel(0)[v] == wls.tensor.channel(0)[v]) continue;
    bool positive_signal = true;
    for (int k = 0; k < series.channels; ++k) positive_signal = positive_signal && series.channel(k)[v] > 0;
    if (!positive_signal) continue;  // those were raised
    ++checked;
    const Logarithms data = logarithms(series, t, v);
    const auto weights = oracle::predicted_squares(data.rows, expected_fit(FitMethod::ols, data));
    oracle::Unknowns solution, slope{};
    std::array<double, 6> tensor;
    for (int c = 0; c < 6; ++c) solution[std::size_t(c)] = tensor[std::size_t(c)] = fit.tensor.channel(c)[v];
    solution[6] = std::log(static_cast<long double>(fit.s0.data[v]));
    long double scale = 0;  // of what adds up in the slope
    for (std::size_t i = 0; i < data.rows.size(); ++i) {
      const auto residual = oracle::dot(data.rows[i], solution) - data.values[i];
      for (std::size_t c = 0; c < 7; ++c) slope[c] += weights[i] * residual * data.rows[i][c];
      scale += weights[i] * std::abs(residual);
    }
    std::array<double, 6> gradient;
    double product = 0;
    for (std::size_t c = 0; c < 6; ++c) {
      gradient[c] = double(slope[c] / scale) / (c == 1 || c == 2 || c == 4 ? 2 : 1);
      product += double(slope[c] / scale) * tensor[c];
    }
    EXPECT_NEAR(double(slope[6] / scale), 0, 1e-4) << v;
    EXPECT_NEAR(product, 0, 1e-4) << v;
    EXPECT_GE(eigen(gradient).values[2], -1e-4) << v;
    EXPECT_GE(eigen(tensor).values[2], -1e-6) << v;
  }
  EXPECT_GT(checked, 40);
}

TEST(FitTensors, PositiveHoldsForAnySignal) {
  const auto t = table(8);
  Image series(Grid{2000, 1, 1}, 10);
  std::mt19937 engine(5);
  for (float& value : series.data) value = std::pow(10.0F, float(engine() % 70) - 35);
  const TensorFit fit = fit_tensors(series, t.b, t.directions, {}, {FitMethod::positive});
  EXPECT_EQ(fit.negative, 0);
  for (std::size_t v = 0; v < 2000; ++v) {
    std::array<double, 6> tensor;
    for (int c = 0; c < 6; ++c) tensor[std::size_t(c)] = fit.tensor.channel(c)[v];
    const auto values = eigen(tensor).values;
    ASSERT_TRUE(std::isfinite(values[0]));
    ASSERT_GE(values[2], -1e-6 * values[0]) << v;
  }
}

TEST(FitTensors, RaisesWhatIsNotPositiveToTheSmallestPositiveMeasurementInTheMask) {
  const auto t = table(10);
  Image series = series_of(tensor_phantom(4), t, 10);
  Mask mask(64, 1);
  mask[7] = 0;
  series.channel(3)[7] = 0.5F;  // not in the mask
  series.channel(4)[9] = 20;    // the smallest in the mask
  Image expected = series;
  series.channel(5)[11] = 0;
  series.channel(6)[12] = -3;
  expected.channel(5)[11] = expected.channel(6)[12] = 20;
  const TensorFit fit = fit_tensors(series, t.b, t.directions, mask);
  EXPECT_EQ(fit.raised, 2);
  EXPECT_EQ(fit.tensor.data, fit_tensors(expected, t.b, t.directions, mask).tensor.data);
}

TEST(FitTensors, LeavesOutWhatHasNoSignal) {
  const auto t = table(10);
  Image series = series_of(tensor_phantom(4), t, 10);
  series.channel(3)[7] = std::numeric_limits<float>::quiet_NaN();
  series.channel(4)[8] = std::numeric_limits<float>::infinity();
  for (int k = 0; k < series.channels; ++k) series.channel(k)[9] = 0;
  Mask mask(64, 1);
  mask[10] = 0;
  const TensorFit fit = fit_tensors(series, t.b, t.directions, mask);
  EXPECT_EQ(fit.not_fitted, 3);
  EXPECT_EQ(fit.voxels, 60);
  EXPECT_EQ(fit.raised, 0);
  for (const std::size_t v : {7, 8, 9, 10}) {
    EXPECT_EQ(fit.s0.data[v], 0);
    for (int c = 0; c < 6; ++c) EXPECT_EQ(fit.tensor.channel(c)[v], 0);
  }
  EXPECT_GT(fit.s0.data[11], 900);
}

TEST(FitTensors, IgnoresTheDirectionOfAVolumeWithoutWeighting) {
  auto t = table(10);
  const Image series = series_of(tensor_phantom(4), t, 10);
  const auto expected = fit_tensors(series, t.b, t.directions, {}).tensor.data;
  t.directions[0].fill(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(fit_tensors(series, t.b, t.directions, {}).tensor.data, expected);
}

TEST(FitTensors, CountsNegativeEigenvalues) {
  TensorImage truth(Grid{3, 1, 1}, 6);
  for (int c : {0, 3, 5}) truth.channel(c)[0] = truth.channel(c)[1] = truth.channel(c)[2] = 1;
  truth.channel(5)[1] = -0.2F;
  const auto t = table(10);
  EXPECT_EQ(fit_tensors(series_of(truth, t, 0), t.b, t.directions, {}).negative, 1);
}

TEST(FitTensors, ResidualVarianceIsThatOfTheNoise) {
  const auto t = table(30);
  const Image series = series_of(tensor_phantom(16), t, 10);
  // The median of chi^2 with n - 7 degrees of freedom over n - 7 is about (1 - 2 / 9 / (n - 7))^3.
  const double median = std::pow(1 - 2.0 / 9 / 25, 3);
  for (const FitMethod method : kMethods)
    EXPECT_NEAR(fit_tensors(series, t.b, t.directions, {}, {method}).residual_variance, 100 * median, 4)
        << name(method);
}

TEST(FitTensors, SevenMeasurementsAreFittedExactly) {
  Table t = table(6);
  t.b.erase(t.b.begin());
  t.directions.erase(t.directions.begin());
  const auto truth = tensor_phantom(5);
  const TensorFit fit = fit_tensors(series_of(truth, t, 0), t.b, t.directions, {});
  EXPECT_LT(relative_error(fit.tensor, truth), 1e-5);
  EXPECT_EQ(fit.residual_variance, 0);
}

TEST(FitTensors, TakesSeveralBValuesWithoutAZero) {
  Table t = table(20);
  for (std::size_t k = 0; k < t.b.size(); ++k) {
    t.b[k] = k % 2 ? 700 : 2500;
    if (k < 2) t.directions[k] = {0, 0, 1};
  }
  const auto truth = tensor_phantom(5);
  EXPECT_LT(relative_error(fit_tensors(series_of(truth, t, 0), t.b, t.directions, {}).tensor, truth), 1e-5);
}

TEST(FitTensors, DoesNotDependOnTheNumberOfThreads) {
  const auto t = table(12);
  const Image series = series_of(tensor_phantom(12), t, 60);
  const RunScope one_thread({.threads = 1});
  const TensorFit one = fit_tensors(series, t.b, t.directions, {}, {FitMethod::positive});
  const RunScope three_threads({.threads = 3});
  const TensorFit three = fit_tensors(series, t.b, t.directions, {}, {FitMethod::positive});
  EXPECT_EQ(one.tensor.data, three.tensor.data);
  EXPECT_EQ(one.residual_variance, three.residual_variance);
}

class BadGradients : public testing::Test {
 protected:
  void expect_rejected(const std::string& part) const {
    EXPECT_THAT(
        [&] {
          fit_tensors(Image(Grid{2, 2, 2}, volumes), t.b, t.directions, {});
        },
        ThrowsMessage<BadInput>(HasSubstr(part)));
  }

  Table t = table(8);
  int volumes = 10;
};

TEST_F(BadGradients, CountsThatDiffer) {
  t.b.pop_back();
  expect_rejected("10 volumes, but there are 9 b-values and 10 directions");
}

TEST_F(BadGradients, FewerVolumesThanUnknowns) {
  t = table(4);
  volumes = 6;
  expect_rejected("7 unknowns; the series has 6 volumes");
}

TEST_F(BadGradients, NoWeightingAtAll) {
  std::fill(t.b.begin(), t.b.end(), 0);
  expect_rejected("all 10 b-values are 0");
}

TEST_F(BadGradients, BValuesInAnotherUnit) {
  for (double& b : t.b) b /= 1000;
  expect_rejected("the largest b-value is 1 s/mm^2");
}

TEST_F(BadGradients, OneShellAlone) {
  std::fill(t.b.begin(), t.b.end(), 1000);
  t.directions[0] = t.directions[1] = {0, 0, 1};
  expect_rejected("determines 6 of the 7 unknowns of a diffusion tensor and S0: all b-values are 1000");
}

TEST_F(BadGradients, DirectionsInAPlane) {
  for (auto& g : t.directions) {
    const double length = std::hypot(g[0], g[1]);
    if (length > 0) g = {g[0] / length, g[1] / length, 0};
  }
  expect_rejected("determines 4 of the 7 unknowns");  // xx, xy, yy, S0
}

TEST_F(BadGradients, FiveDirections) {
  for (std::size_t k = 7; k < 10; ++k) t.directions[k] = t.directions[2];
  expect_rejected("determines 6 of the 7 unknowns of a diffusion tensor and S0: it needs six directions");
}

TEST_F(BadGradients, ADirectionThatIsNoUnitVector) {
  t.directions[4] = {0, 0, 0.5};
  expect_rejected("volume 4: direction (0, 0, 0.5) has length 0.5");
}

TEST_F(BadGradients, ADirectionThatIsMissing) {
  t.directions[4].fill(std::numeric_limits<double>::quiet_NaN());
  expect_rejected("volume 4: direction (nan, nan, nan)");
}

TEST_F(BadGradients, ABValueThatIsNone) {
  t.b[3] = -5;
  expect_rejected("volume 3: b-value -5");
  t.b[3] = std::numeric_limits<double>::quiet_NaN();
  expect_rejected("volume 3: b-value nan");
}

TEST(FitTensors, RejectsAMaskOfAnotherSize) {
  const auto t = table(8);
  EXPECT_THAT(
      [&] {
        fit_tensors(Image(Grid{2, 2, 2}, 10), t.b, t.directions, Mask(9, 1));
      },
      ThrowsMessage<BadInput>(HasSubstr("the mask has 9 voxels, the image 2 x 2 x 2 = 8")));
}

}  // namespace
}  // namespace warploom::imaging
