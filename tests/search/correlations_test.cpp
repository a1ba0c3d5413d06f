#include "search/correlations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <random>

#include "search/assignments.hpp"
#include "search/orientations.hpp"
#include "search/own_places.hpp"
#include "search/sizes.hpp"
#include "search/thirds.hpp"

namespace warploom::search {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kQuerySamples = 70, kRecordedSamples = 900;

std::vector<float> slow_noise(std::int64_t samples, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<float> all;
  double slow = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    slow = 0.9 * slow + normal(random);
    all.push_back(static_cast<float>(slow));
  }
  return all;
}

/// Three channels of noise and a query of three.
struct NoisyQuery {
  std::vector<std::vector<float>> recorded, pattern;
  Query query;
  FindOptions options;
  NoisyQuery() {
    for (std::uint32_t c = 0; c < 3; ++c) {
      recorded.push_back(slow_noise(kRecordedSamples, 10 + c));
      pattern.push_back(slow_noise(kQuerySamples, 20 + c));
    }
    query.channels = {pattern.begin(), pattern.end()};
    query.places = {0, 1, 2};
  }
  /// Until the next call, since it looks at what is searched.
  Correlations correlations() {
    index.emplace(Signal{recorded.begin(), recorded.end()});
    searched.emplace(*index, kQuerySamples);
    return {*searched, query, options};
  }
  std::optional<Index> index;
  std::optional<Searched> searched;
};

/// As it is defined, in double precision; 0 where it is not.
double correlation_in_double(std::span<const float> a, std::span<const float> b) {
  const auto n = static_cast<double>(a.size());
  double mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    mean_a += a[i] / n;
    mean_b += b[i] / n;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
    ab += (a[i] - mean_a) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

TEST(Correlations, AreThoseOfTheirDefinition) {
  NoisyQuery all;
  for (float& x : all.recorded[1]) x += 3000;  // a large level
  std::fill(all.recorded[2].begin() + 100, all.recorded[2].begin() + 300, 7.F);
  all.recorded[0][500] = std::numeric_limits<float>::quiet_NaN();
  const Correlations correlations = all.correlations();
  ASSERT_EQ(correlations.step(), kQuerySamples / 32);
  ASSERT_EQ(correlations.windows(), (kRecordedSamples - kQuerySamples) / correlations.step() + 1);
  for (std::size_t c = 0; c < 3; ++c)
    for (const std::int32_t k : {0, 1, 2})
      for (std::int64_t w = 0; w < correlations.windows(); ++w) {
        const std::int64_t at = w * correlations.step();
        const std::span<const float> window = std::span(all.recorded[k]).subspan(at, kQuerySamples);
        const bool missing = k == 0 && at <= 500 && 500 < at + kQuerySamples;
        EXPECT_NEAR(correlations.of(c, k)[w], missing ? 0 : correlation_in_double(all.pattern[c], window),
                    2e-5);
        EXPECT_EQ(std::isnan(correlations.deviations(k)[w]), missing);
      }
  EXPECT_EQ(correlations.deviations(2)[110 / correlations.step()], 0);
}

TEST(Correlations, AreWeighedByHowFarSizesAndLevelsDiffer) {
  NoisyQuery all;
  for (float& x : all.recorded[1]) x = 40 + 3 * x;
  std::fill(all.recorded[2].begin() + 100, all.recorded[2].begin() + 300, 7.F);
  all.recorded[0][500] = std::numeric_limits<float>::quiet_NaN();
  const Correlations correlations = all.correlations();
  for (std::size_t c = 0; c < 3; ++c)
    for (const std::int32_t k : {0, 1, 2}) {
      const Sizes sizes(all.pattern[c], spread_of(all.recorded[k]));
      const WindowMoments windows =
          window_moments(all.recorded[k], kQuerySamples, 0, kRecordedSamples - kQuerySamples + 1);
      for (std::int64_t w = 0; w < correlations.windows(); ++w) {
        const std::int64_t at = w * correlations.step();
        const float plain = correlations.of(c, k)[w], sign = plain < 0 ? -1.F : 1.F;
        const double factor =
            sizes.factor(sign * windows.mean[at], sign * windows.rest[at], windows.scale[at]);
        EXPECT_NEAR(correlations.alike(c, k)[w], plain / std::pow(factor, 4), 1e-5) << c << k << w;
      }
    }
  // Nothing to weigh of one channel.
  all.query.channels.resize(1);
  all.query.places.resize(1);
  const Correlations one = all.correlations();
  for (std::int64_t w = 0; w < one.windows(); ++w) EXPECT_EQ(one.alike(0, 1)[w], one.of(0, 1)[w]);
}

TEST(Correlations, AreThoseThatMayBeAskedFor) {
  NoisyQuery all;
  all.options.neighbours = 1;
  EXPECT_THAT(all.correlations().candidates(0), ElementsAre(0, 1));
  // The axes of its sensor are computed, and are no candidates.
  all.options.neighbours = 0;
  all.options.sensors = {{0, 1, 2}};
  const Correlations correlations = all.correlations();
  EXPECT_THAT(correlations.candidates(0), ElementsAre(0));
  EXPECT_NEAR(correlations.of(0, 2)[5],
              correlation_in_double(
                  all.pattern[0], std::span(all.recorded[2]).subspan(5 * correlations.step(), kQuerySamples)),
              2e-5);
}

TEST(LargestOf, LieFartherApartThanTheZone) {
  EXPECT_THAT(largest_of({1, 5, 4, 0, 3, 2}, 3, 1), ElementsAre(1, 4));
  EXPECT_THAT(largest_of({1, 5, 4, 0, 3, 2}, 1, 0), ElementsAre(1));
  EXPECT_THAT(largest_of({}, 3, 1), ElementsAre());
}

/// Where the pattern is put into a recording.
constexpr std::int64_t kPlanted[] = {96, 300, 520, 700};

TEST(Assignments, AreFoundAtPlacesThatNobodyNamed) {
  NoisyQuery all;
  constexpr std::int64_t kLag = 12;
  // Channel 0 in 2, late and with its sign changed; 1 in 0; 2 in 1.
  for (const std::int64_t place : kPlanted)
    for (std::int64_t i = 0; i < kQuerySamples; ++i) {
      all.recorded[2][place + kLag + i] = -all.pattern[0][i];
      all.recorded[0][place + i] = all.pattern[1][i];
      all.recorded[1][place + i] = all.pattern[2][i];
    }
  const Correlations correlations = all.correlations();
  const Assignments assignments(correlations, all.query, true, 16);
  std::vector<std::int64_t> places = assignments.places({true, true}, {}, 4, kQuerySamples / 2);
  std::ranges::sort(places);
  const Reading reading = assignments.fit({true, true}, places);
  EXPECT_THAT(reading.channels, ElementsAre(2, 0, 1));
  EXPECT_THAT(reading.negated, ElementsAre(true, false, false));
  ASSERT_EQ(places.size(), 4U);
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_NEAR(static_cast<double>(places[k] + reading.lags[1] - kPlanted[k]), 0, 2);
  EXPECT_NEAR(static_cast<double>(reading.lags[0] - reading.lags[1]), kLag, 1);
  // Without negation it cannot be told, and without the map there is only the lag.
  EXPECT_FALSE(Assignments(correlations, all.query, false, 16).fit({true, true}, places).negated[0]);
  EXPECT_THAT(assignments.fit({false, true}, places).channels, ElementsAre(0, 1, 2));
}

TEST(Assignments, LagsHaveToBeWorthTheirCost) {
  // Periodic channels are as much alike a period later; the second one is late by a little.
  constexpr std::int64_t kPeriod = 16, kLate = 4;
  NoisyQuery all;
  const auto wave = [](std::int64_t t, std::size_t c) {
    return static_cast<float>(
        std::sin(2 * std::numbers::pi * static_cast<double>(t) / kPeriod + static_cast<double>(c)));
  };
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::int64_t t = 0; t < kRecordedSamples; ++t)
      all.recorded[c][t] = wave(t - (c == 1 ? kLate : 0), c);
    for (std::int64_t t = 0; t < kQuerySamples; ++t) all.pattern[c][t] = wave(t, c);
  }
  const Correlations correlations = all.correlations();
  const std::int64_t places[] = {10 * kPeriod, 20 * kPeriod, 30 * kPeriod};
  EXPECT_THAT(Assignments(correlations, all.query, false, 32).fit({false, true}, places).lags,
              ElementsAre(0, kLate, 0));
}

TEST(Orientations, AreFoundAtPlacesThatNobodyNamed) {
  NoisyQuery all;
  all.options.sensors = {{0, 1, 2}};
  const std::array<double, 9> turn = rotations(9)[4];
  for (const std::int64_t place : kPlanted)
    for (std::int64_t i = 0; i < kQuerySamples; ++i)
      for (int row = 0; row < 3; ++row) {
        double sum = 0;
        for (int column = 0; column < 3; ++column) sum += turn[3 * row + column] * all.pattern[column][i];
        all.recorded[row][place + i] = static_cast<float>(1.2 * sum);
      }
  const Correlations correlations = all.correlations();
  const Orientations orientations(correlations, all.query, all.options.sensors);
  std::vector<std::int64_t> places = orientations.places(4, kQuerySamples / 2);
  std::ranges::sort(places);
  ASSERT_EQ(places.size(), 4U);
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(places[k], kPlanted[k]);
  const std::array<double, 9> fitted = orientations.fit(places)[0];
  for (int k = 0; k < 9; ++k) EXPECT_NEAR(fitted[k], turn[k], 1e-3) << k;
}

TEST(GainOfLevels, IsThatOfTheBestExchangeOfChannelsAndSigns) {
  // Channels 0 and 1 changed places, and 2 its sign; the levels alone tell.
  NoisyQuery noisy;
  const std::array<double, 3> levels = {20, -9, 5};
  for (std::size_t c = 0; c < 3; ++c)
    for (float& x : noisy.recorded[c]) x += static_cast<float>(levels[c]);
  const std::array<double, 3> in_query = {levels[1], levels[0], -levels[2]};
  for (std::size_t c = 0; c < 3; ++c)
    for (float& x : noisy.pattern[c]) x += static_cast<float>(in_query[c]);
  const Signal signal(noisy.recorded.begin(), noisy.recorded.end());
  noisy.query.channels = {noisy.pattern.begin(), noisy.pattern.end()};
  Index index(signal, {});
  const Searched searched(index, kQuerySamples);
  const Correlations correlations(searched, noisy.query, noisy.options);
  const std::int64_t offsets[] = {100, 300};

  struct Size {
    double mean = 0, deviation = 0;
  };
  const auto size_of = [](const float* samples) {
    Size size;
    for (std::int64_t i = 0; i < kQuerySamples; ++i) size.mean += samples[i] / double{kQuerySamples};
    for (std::int64_t i = 0; i < kQuerySamples; ++i)
      size.deviation += (samples[i] - size.mean) * (samples[i] - size.mean) / double{kQuerySamples};
    size.deviation = std::sqrt(size.deviation);
    return size;
  };
  const auto alike = [&](std::size_t c, std::size_t k, double sign) {
    double sum = 0;
    for (const std::int64_t offset : offsets) {
      const Size a = size_of(noisy.pattern[c].data()), b = size_of(noisy.recorded[k].data() + offset);
      sum += (sign * a.mean * b.mean + a.deviation * b.deviation) /
             (a.mean * a.mean + b.mean * b.mean + a.deviation * a.deviation + b.deviation * b.deviation);
    }
    return sum;  // 2 / two offsets
  };
  const double best = (alike(0, 1, 1) + alike(1, 0, 1) + alike(2, 2, -1)) / 3;
  const double plain = (alike(0, 0, 1) + alike(1, 1, 1) + alike(2, 2, 1)) / 3;
  const Reading in_place = plain_reading(noisy.query);
  EXPECT_NEAR(gain_of_levels(correlations, searched, noisy.query, noisy.options, in_place, offsets),
              best - plain, 1e-5);
  EXPECT_GT(best - plain, 0.5);
  Reading right = in_place;
  right.channels = {1, 0, 2};
  right.negated = {false, false, true};
  EXPECT_NEAR(gain_of_levels(correlations, searched, noisy.query, noisy.options, right, offsets), 0, 1e-5);
}

TEST(LikenessOfLevels, IsThatOfMeansAndDeviations) {
  NoisyQuery noisy;
  const Query& query = noisy.query;
  noisy.recorded[1] = noisy.recorded[0];
  for (float& x : noisy.recorded[1]) x = -x;
  Index index({noisy.recorded.begin(), noisy.recorded.end()});
  const Searched searched(index, query.length());
  const std::vector<std::int64_t> offsets = {0, 17};
  const auto level = [&](std::span<const float> all, std::int64_t first) {
    const auto count = static_cast<double>(query.length());
    double mean = 0, squares = 0;
    for (const float x : all.subspan(first, query.length())) mean += static_cast<double>(x) / count;
    for (const float x : all.subspan(first, query.length())) squares += (x - mean) * (x - mean) / count;
    return std::pair(mean, std::sqrt(squares));
  };
  Reading reading = plain_reading(query);
  reading.channels = {1, 0, -1};  // the first channel in the one that is negated, the last one nowhere
  reading.negated = {true, false, false};
  reading.lags = {5, 0, 0};
  double sum = 0;
  for (const std::int64_t offset : offsets)
    for (std::size_t c = 0; c < 2; ++c) {
      const auto [mean, deviation] = level(query.channels[c], 0);
      const auto [there, its] = level(noisy.recorded[1 - c], offset + reading.lags[c]);
      const double sign = c == 0 ? -1 : 1;
      sum += 2 * (sign * mean * there + deviation * its) /
             (mean * mean + deviation * deviation + there * there + its * its);
    }
  EXPECT_NEAR(likeness_of_levels(searched, query, noisy.options, reading, offsets), sum / 4, 1e-5);
}

TEST(Thirds, AreTheMostAlikeOfTheirCandidatesSignsAndLags) {
  NoisyQuery noisy;
  constexpr std::int64_t kLength = 48, kThird = 16;  // correlations of every window
  for (std::vector<float>& channel : noisy.pattern) channel.resize(kLength);
  for (std::vector<float>& channel : noisy.recorded) channel.resize(300);
  noisy.query.channels = {noisy.pattern.begin(), noisy.pattern.end()};
  Index index({noisy.recorded.begin(), noisy.recorded.end()});
  const Searched searched(index, kLength);
  const Correlations correlations(searched, noisy.query, noisy.options);
  ASSERT_EQ(correlations.step(), 1);
  const Thirds thirds(correlations, searched, noisy.query, noisy.options);

  const std::int64_t windows = 300 - kLength + 1, reach = kLength / 4;
  std::vector<double> alike(windows);
  for (std::size_t c = 0; c < 3; ++c)
    for (std::int64_t t = 0; t < 3; ++t)
      for (std::int64_t w = 0; w < windows; ++w) {
        double most = 0;
        for (std::int64_t at = w + t * kThird - reach; at <= w + t * kThird + reach; ++at)
          for (std::size_t k = 0; k < 3 && at >= 0 && at + kThird <= 300; ++k) {
            const std::span<const float> part = std::span(noisy.pattern[c]).subspan(t * kThird, kThird);
            const std::span<const float> there = std::span(noisy.recorded[k]).subspan(at, kThird);
            const double alike_there = correlation_in_double(part, there);
            const Moments level = moments(there, Normalization::z);
            const float sign = alike_there < 0 ? -1.F : 1.F;
            const double factor =
                Sizes(part, spread_of(noisy.recorded[k]))
                    .factor(sign * static_cast<float>(level.mean), 0, static_cast<float>(level.scale));
            most = std::max(most, std::abs(alike_there) / std::pow(factor, 4));
          }
        alike[w] += most / 9;
      }
  ASSERT_EQ(std::ssize(thirds.alike()), windows);
  for (std::int64_t w = 0; w < windows; ++w) EXPECT_NEAR(thirds.alike()[w], alike[w], 1e-4) << w;
}

}  // namespace
}  // namespace warploom::search
