#include "search/windows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "search/signals.hpp"

namespace warploom::search {
namespace {

struct Direct {
  double mean = 0, deviation = 0;
};

Direct direct(std::span<const float> window) {
  Direct d;
  for (const float x : window) d.mean += x;
  d.mean /= static_cast<double>(window.size());
  for (const float x : window) d.deviation += (x - d.mean) * (x - d.mean);
  d.deviation = std::sqrt(d.deviation / static_cast<double>(window.size()));
  return d;
}

/// Compares all windows with their own sums.
void expect_moments(const std::vector<float>& channel, std::int64_t length) {
  const std::int64_t count = std::ssize(channel) - length + 1;
  const WindowMoments moments = window_moments(channel, length, 0, count);
  for (std::int64_t t = 0; t < count; ++t) {
    const Direct d = direct(std::span(channel).subspan(t, length));
    ASSERT_NEAR(double{moments.mean[t]} + moments.rest[t], d.mean,
                1e-6 * d.deviation + 1e-13 * std::abs(d.mean))
        << t;
    if (d.deviation <= kConstantDeviation * std::abs(d.mean))
      ASSERT_EQ(moments.scale[t], 0) << t;
    else
      ASSERT_NEAR(moments.scale[t] * d.deviation, 1, 1e-6) << t;
  }
}

TEST(WindowMoments, AreThoseOfEachWindowByItself) {
  for (const std::int64_t length : {2, 8, 100}) expect_moments(random_walk(10'000, 3), length);
}

TEST(WindowMoments, SurviveASpike) {
  std::vector<float> channel = random_walk(6000, 4);
  for (float& x : channel) x *= 1e-3F;
  channel[1000] = 1e6F;
  channel[5000] = -3e7F;
  expect_moments(channel, 50);
}

TEST(WindowMoments, SurviveALargeOffsetAndASlope) {
  std::vector<float> channel = random_walk(6000, 5);
  for (std::size_t i = 0; i < channel.size(); ++i) channel[i] += 3e4F + 10 * static_cast<float>(i);
  expect_moments(channel, 8);
  expect_moments(channel, 300);
}

/// Pressure in Pa, raw counts: means of up to 10^6 deviations.
TEST(WindowMoments, OfSamplesFarFromZeroAreNotConstant) {
  for (const float mean : {1e5F, -1e6F}) {
    std::vector<float> channel = random_walk(9000, 10);
    for (std::size_t i = channel.size(); i-- > 1;) channel[i] = mean + 2 * (channel[i] - channel[i - 1]);
    channel[0] = mean;
    for (const std::int64_t length : {8, 64, 300}) expect_moments(channel, length);
    const WindowMoments moments = window_moments(channel, 64, 0, 8000);
    EXPECT_EQ(std::ranges::count(moments.scale, 0.F), 0) << mean;
  }
}

TEST(WindowMoments, OfWindowsThatVaryByRoundingAloneHaveScaleZero) {
  std::vector<float> channel(1000, 1e6F);
  for (std::size_t i = 0; i < channel.size(); i += 3) channel[i] = std::nextafter(1e6F, 2e6F);
  const WindowMoments moments = window_moments(channel, 50, 0, 951);
  EXPECT_EQ(std::ranges::count(moments.scale, 0.F), 951);
}

TEST(WindowMoments, OfConstantWindowsHaveScaleZero) {
  std::vector<float> channel = random_walk(3000, 6);
  std::fill(channel.begin() + 500, channel.begin() + 900, .1F);
  std::fill(channel.begin() + 1500, channel.begin() + 1800, 0.F);
  const WindowMoments moments = window_moments(channel, 64, 0, 2900);
  for (std::int64_t t = 0; t < 2900; ++t) {
    const bool constant = (t >= 500 && t + 64 <= 900) || (t >= 1500 && t + 64 <= 1800);
    EXPECT_EQ(moments.scale[t] == 0, constant) << t;
  }
}

TEST(WindowMoments, AreMarkedWhereASampleIsMissing) {
  std::vector<float> channel = random_walk(9000, 7);
  channel[100] = channel[4096] = std::numeric_limits<float>::quiet_NaN();
  channel[5000] = std::numeric_limits<float>::infinity();
  const WindowMoments moments = window_moments(channel, 10, 0, 8991);
  for (std::int64_t t = 0; t < 8991; ++t) {
    bool missing = false;
    for (const std::int64_t gap : {100, 4096, 5000}) missing |= t <= gap && gap < t + 10;
    EXPECT_EQ(std::isnan(moments.scale[t]), missing) << t;
  }
}

TEST(WindowMoments, DoNotDependOnWhichWindowsAreAskedFor) {
  const std::vector<float> channel = random_walk(20'000, 8);
  const WindowMoments all = window_moments(channel, 77, 0, 19'000);
  for (const std::int64_t first : {1, 4095, 4096, 5000, 12'345}) {
    const WindowMoments some = window_moments(channel, 77, first, 5000);
    EXPECT_TRUE(std::equal(some.mean.begin(), some.mean.end(), all.mean.begin() + first));
    EXPECT_TRUE(std::equal(some.rest.begin(), some.rest.end(), all.rest.begin() + first));
    EXPECT_TRUE(std::equal(some.scale.begin(), some.scale.end(), all.scale.begin() + first));
  }
}

TEST(Moments, OfSeveralWindowsAreThoseOfEach) {
  std::vector<float> samples;
  for (int t = 0; t < 90; ++t) samples.push_back(static_cast<float>(1000 + std::sin(0.7 * t) + 0.01 * t));
  std::fill(samples.begin() + 30, samples.begin() + 60, 5.F);
  samples[80] = std::numeric_limits<float>::quiet_NaN();
  constexpr std::int64_t kLength = 21;
  std::vector<const float*> windows;
  for (std::int64_t t = 0; t + kLength <= std::ssize(samples); t += 3) windows.push_back(samples.data() + t);
  const std::vector<Moments> all = moments_of_each(windows, kLength);
  ASSERT_EQ(all.size(), windows.size());
  for (std::size_t k = 0; k < all.size(); ++k) {
    const Moments one = moments(std::span(windows[k], kLength), Normalization::z);
    EXPECT_EQ(std::isnan(all[k].mean), std::isnan(one.mean)) << k;
    if (std::isnan(one.mean)) continue;
    EXPECT_EQ(all[k].mean, one.mean) << k;
    EXPECT_EQ(all[k].scale, one.scale) << k;
  }
  EXPECT_TRUE(moments_of_each({}, kLength).empty());
}

TEST(Normalised, HasMeanZeroAndDeviationOne) {
  std::vector<float> samples = random_walk(500, 9);
  for (float& x : samples) x += 1000;
  const Direct d = direct(normalised(samples));
  EXPECT_NEAR(d.mean, 0, 1e-7);
  EXPECT_NEAR(d.deviation, 1, 1e-7);
}

TEST(Normalised, OfAConstantIsZero) {
  EXPECT_EQ(normalised(std::vector<float>(9, .3F)), std::vector<float>(9, 0));
}

}  // namespace
}  // namespace warploom::search
