#include "warploom/imaging/rician.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "warploom/core/error.hpp"

namespace warploom::imaging {
namespace {

// E |S + n|^power by summing over a fine grid of both parts of the noise.
double moment(double signal, int power) {
  constexpr double kStep = 0.02, kReach = 8;
  double sum = 0;
  for (double a = -kReach; a <= kReach; a += kStep)
    for (double b = -kReach; b <= kReach; b += kStep)
      sum += std::pow(std::hypot(signal + a, b), power) * std::exp(-(a * a + b * b) / 2);
  return sum * kStep * kStep / (2 * std::numbers::pi);
}

TEST(Rician, MomentsAreTheIntegrals) {
  for (const double signal : {0.0, 0.3, 1.0, 2.7, 6.0, 15.9, 16.1, 40.0}) {
    const RicianMoments at = rician_moments(signal);
    const double mean = moment(signal, 1);
    EXPECT_NEAR(at.mean, mean, 2e-5 * mean) << signal;
    EXPECT_NEAR(at.variance, moment(signal, 2) - mean * mean, 1e-3) << signal;
  }
}

TEST(Rician, SlopeIsTheDerivativeOfTheMean) {
  for (const double signal : {0.1, 0.7, 2.0, 9.0, 15.99, 16.01, 30.0}) {
    const double h = 1e-3;
    const double slope = (rician_moments(signal + h).mean - rician_moments(signal - h).mean) / (2 * h);
    EXPECT_NEAR(rician_moments(signal).slope, slope, 1e-5) << signal;
  }
}

TEST(Rician, SignalInvertsTheMean) {
  for (double signal = 0.2; signal < 40; signal *= 1.3)
    EXPECT_NEAR(rician_signal(rician_moments(signal).mean), signal, 1e-4) << signal;
}

TEST(Rician, AMeanAtTheFloorOfNoiseIsNoSignal) {
  EXPECT_EQ(rician_signal(1.2533), 0);
  EXPECT_EQ(rician_signal(0), 0);
  EXPECT_EQ(rician_signal(-3), 0);
  EXPECT_EQ(rician_signal(std::nan("")), 0);
}

TEST(RicianBias, IsTakenFromTheMeansWithTheNoiseOfEachVoxel) {
  const Grid grid{2, 2, 1};
  Image series(grid, 1), noise(grid, 1);
  noise.data = {1, 10, 0, 5};
  series.data = {static_cast<float>(rician_moments(3).mean), static_cast<float>(10 * rician_moments(2).mean),
                 7, 1};
  const Mask mask{1, 1, 1, 1};
  EXPECT_EQ(correct_rician_bias(series, noise, mask), 1);
  EXPECT_NEAR(series.data[0], 3, 1e-4);
  EXPECT_NEAR(series.data[1], 20, 1e-3);
  EXPECT_EQ(series.data[2], 7);  // no noise is known there
  EXPECT_EQ(series.data[3], 0);
}

TEST(RicianBias, RefusesANoiseMapOfAnotherSize) {
  Image series(Grid{2, 2, 1}, 3), noise(Grid{2, 1, 1}, 1);
  EXPECT_THROW(correct_rician_bias(series, noise, {}), BadInput);
}

TEST(RicianNoise, IsThatOfTheComplexSignal) {
  // Half of the volumes have no signal, the others much: the mean variance of magnitudes is known.
  const Grid grid{9, 9, 9};
  Image series(grid, 2), noise(grid, 1);
  for (float& value : series.channel(0)) value = static_cast<float>(5 * rician_moments(0).mean);
  for (float& value : series.channel(1)) value = static_cast<float>(5 * rician_moments(50).mean);
  const double measured = 5 * std::sqrt((rician_moments(0).variance + rician_moments(50).variance) / 2);
  for (float& value : noise.data) value = static_cast<float>(measured);
  correct_noise_bias(noise, series, {5, 5, 5});
  for (const float value : noise.data) EXPECT_NEAR(value, 5, 0.05);
}

TEST(RicianNoise, StaysWhereItIsNotKnownOrTheSignalIsHigh) {
  Image series(Grid{3, 3, 3}, 2), noise(Grid{3, 3, 3}, 1);
  for (float& value : series.data) value = 500;
  for (float& value : noise.data) value = 2;
  noise.data[4] = 0;
  correct_noise_bias(noise, series, {3, 3, 3});
  EXPECT_EQ(noise.data[4], 0);
  EXPECT_NEAR(noise.data[5], 2, 1e-4);
}

}  // namespace
}  // namespace warploom::imaging
