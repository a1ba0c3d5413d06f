#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "warploom/core/error.hpp"
#include "warploom/signal/filter.hpp"

namespace warploom::signal {
namespace {

using io::Channel;
using io::Recording;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;
using testing::ThrowsMessage;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Channel channel(double rate, std::vector<float> samples) { return {"", "", rate, std::move(samples)}; }

Channel waves(double rate, std::size_t count, const auto& value) {
  std::vector<float> samples(count);
  for (std::size_t k = 0; k < count; ++k)
    samples[k] = static_cast<float>(value(static_cast<double>(k) / rate));
  return channel(rate, samples);
}

// n = numpy.arange(60); x = (numpy.sin(0.2 * n) + 0.01 * n + (n * 7919 % 101) /
// 101).astype("f4").astype("f8") sos = scipy.signal.butter(4, corners, kind, fs=100, output="sos")
// scipy.signal.sosfiltfilt(sos, x)[[0, 1, 17, 30, 58, 59]], of SciPy 1.17.1
TEST(Filter, IsScipysSosfiltfilt) {
  const struct {
    std::optional<double> low, high;
    double want[6];
  } cases[] = {
      {{}, 12, {-0.00113593798, 0.426684498, 0.414118326, 0.616917335, 0.500291086, 0.842440616}},
      {3, {}, {-0.0605215689, 0.409981633, 0.19482808, -0.518709554, -0.464507058, 0.0146635701}},
      {2, 20, {0.0505923855, 0.64854688, -0.16365763, -0.369615048, -0.79615031, -0.198784565}},
  };
  for (const auto& [low, high, want] : cases) {
    std::vector<float> x(60);
    for (int n = 0; n < 60; ++n)
      x[static_cast<std::size_t>(n)] =
          static_cast<float>(std::sin(0.2 * n) + 0.01 * n + (n * 7919 % 101) / 101.);
    Channel c = channel(100, x);
    filter(c, low, high);
    const std::size_t places[] = {0, 1, 17, 30, 58, 59};
    for (std::size_t k = 0; k < 6; ++k)
      EXPECT_NEAR(c.samples[places[k]], want[k], 1e-6) << low.value_or(0) << " " << k;
  }
}

// x = (numpy.sin(0.2 * numpy.arange(200)) + 5).astype("f4").astype("f8"); corners = 0.05; kind = "high"
// scipy.signal.sosfiltfilt(sos, x)[[0, 1, 100, 198, 199]]
TEST(Filter, IsScipysAtALowCorner) {
  std::vector<float> x(200);
  for (int n = 0; n < 200; ++n) x[static_cast<std::size_t>(n)] = static_cast<float>(std::sin(0.2 * n) + 5);
  Channel c = channel(100, x);
  filter(c, 0.05, std::nullopt);
  const double want[] = {0.268300837, 0.459988852, 0.234708681, -1.24828986, -1.35057452};
  const std::size_t places[] = {0, 1, 100, 198, 199};
  for (std::size_t k = 0; k < 5; ++k) EXPECT_NEAR(c.samples[places[k]], want[k], 2e-6) << k;
}

// A Butterworth filter's |H|^2 at f is, by the bilinear transform,
// 1 / (1 + (tan(pi f / rate) / tan(pi corner / rate))^8).
TEST(Filter, GainIsThatOfTheFormulaAndNothingIsShifted) {
  const double rate = 200, corner = 20;
  for (const double frequency : {2., 15., 20., 30.}) {
    const auto tone = [&](double t) { return std::sin(2 * std::numbers::pi * frequency * t); };
    Channel low = waves(rate, 4000, tone), high = low;
    filter(low, std::nullopt, corner);
    filter(high, corner, std::nullopt);
    const auto warped = [&](double f) { return std::tan(std::numbers::pi * f / rate); };
    const double ratio = std::pow(warped(frequency) / warped(corner), 8);
    for (std::size_t k = 1900; k < 2100; ++k) {
      const double in = tone(static_cast<double>(k) / rate);
      EXPECT_NEAR(low.samples[k], in / (1 + ratio), 1e-5) << frequency;
      EXPECT_NEAR(high.samples[k], in * ratio / (1 + ratio), 1e-5) << frequency;
    }
  }
}

TEST(Filter, BandPassKeepsTheMiddleAndTakesAwayAnOffset) {
  Channel c = waves(200, 4000, [](double t) { return 7 + std::sin(2 * std::numbers::pi * 10 * t); });
  filter(c, 5, 20);
  for (std::size_t k = 1900; k < 2100; ++k)
    EXPECT_NEAR(c.samples[k], std::sin(2 * std::numbers::pi * 10 * static_cast<double>(k) / 200), 1e-2);
}

TEST(Filter, LowPassKeepsAConstantAndALine) {
  Channel constant = waves(100, 40, [](double) { return 3; }),
          line = waves(100, 400, [](double t) { return 2 * t - 1; });
  filter(constant, std::nullopt, 10);
  filter(line, std::nullopt, 10);
  for (const float sample : constant.samples) EXPECT_NEAR(sample, 3, 1e-6);
  for (std::size_t k = 100; k < 300; ++k)
    EXPECT_NEAR(line.samples[k], 2 * static_cast<double>(k) / 100 - 1, 1e-5);
}

TEST(Filter, RunsWithoutAGapAreFilteredByThemselves) {
  const Channel whole = waves(100, 50, [](double t) { return std::sin(40 * t) + t; });
  Channel first = whole, gapped = whole;
  gapped.samples.push_back(kNan);
  gapped.samples.insert(gapped.samples.end(), whole.samples.begin(), whole.samples.end());
  filter(first, 1, 20);
  filter(gapped, 1, 20);
  EXPECT_THAT(gapped.samples[50], IsNan());
  for (std::size_t k = 0; k < 50; ++k) {
    EXPECT_EQ(gapped.samples[k], first.samples[k]);
    EXPECT_EQ(gapped.samples[51 + k], first.samples[k]);
  }
}

TEST(Filter, ShortRunsAndNoSamplesAreTaken) {
  Channel one = channel(100, {5}), two = channel(100, {1, 2}), none = channel(100, {}),
          missing = channel(100, {kNan, kNan});
  for (Channel* c : {&one, &two, &none, &missing}) filter(*c, std::nullopt, 10);
  EXPECT_NEAR(one.samples[0], 5, 1e-6);
  EXPECT_TRUE(std::isfinite(two.samples[0]) && std::isfinite(two.samples[1]));
  EXPECT_TRUE(none.samples.empty());
  EXPECT_THAT(missing.samples, ElementsAre(IsNan(), IsNan()));
}

TEST(Filter, CornersOutOfRangeAreRefused) {
  Channel c = channel(100, {1, 2, 3});
  const double nan = std::nan("");
  const std::pair<std::optional<double>, std::optional<double>> bad[] = {
      {0, {}},  {-1, {}},  {50, {}},  {{}, 50}, {{}, 0}, {20, 10},
      {10, 10}, {nan, {}}, {{}, nan}, {1, nan}, {1, 60}};
  for (const auto& corners : bad)
    EXPECT_THAT([&] { filter(c, corners.first, corners.second); },
                ThrowsMessage<BadInput>(HasSubstr("0 < low < high < 50")));
  EXPECT_THAT([&] { filter(c, 1e-300, std::nullopt); }, ThrowsMessage<BadInput>(HasSubstr("too narrow")));
  EXPECT_THAT(c.samples, ElementsAre(1, 2, 3));
  filter(c, std::nullopt, std::nullopt);
  EXPECT_THAT(c.samples, ElementsAre(1, 2, 3));
}

TEST(Detrend, TakesTheLineOfEachRunAway) {
  Channel c = channel(10, {1, 3, 5, 7, kNan, 100, kNan, 4, 1, 4, 1});
  detrend(c);
  // The last run's line: mean 2.5, slope -0.6.
  const double want[] = {0, 0, 0, 0, kNan, 0, kNan, 0.6, -1.8, 1.8, -0.6};
  for (std::size_t k = 0; k < c.samples.size(); ++k) {
    if (std::isnan(want[k]))
      EXPECT_THAT(c.samples[k], IsNan());
    else
      EXPECT_NEAR(c.samples[k], want[k], 1e-5) << k;
  }
}

TEST(Resample, InterpolatesBetweenSamples) {
  Recording r;
  r.channels = {channel(2, {0, 2, 4, 10})};
  resample(r, 4);
  EXPECT_EQ(r.channels[0].rate, 4);
  EXPECT_THAT(r.channels[0].samples, ElementsAre(0, 1, 2, 3, 4, 7, 10));
}

TEST(Resample, MissingNeighboursMakeMissingSamples) {
  Recording r;
  r.channels = {channel(2, {0, 2, kNan, 10, 20})};
  resample(r, 4);
  EXPECT_THAT(r.channels[0].samples, ElementsAre(0, 1, 2, IsNan(), IsNan(), IsNan(), 10, 15, 20));
}

TEST(Resample, GivesChannelsOneRateAndTheShortestLength) {
  Recording r;
  r.channels = {channel(1, {0, 10, 20}), channel(4, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})};
  EXPECT_EQ(common_rate(r), 4);
  resample(r, common_rate(r));
  EXPECT_THAT(r.channels[0].samples, ElementsAre(0, 2.5, 5, 7.5, 10, 12.5, 15, 17.5, 20));
  EXPECT_THAT(r.channels[1].samples, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(Resample, RatesThatAreNoFractionsOfEachOtherKeepWholeLengths) {
  // 0.1 and 1 / 3 have no exact doubles; the last sample must not be lost by rounding.
  Recording r;
  r.channels = {channel(0.1, std::vector<float>(101)), channel(1. / 3, std::vector<float>(301))};
  for (std::size_t k = 0; k < 101; ++k) r.channels[0].samples[k] = static_cast<float>(k);
  Recording up = r;
  resample(up, 0.3);
  EXPECT_EQ(up.channels[0].samples.size(),
            271u);  // the other channel's: 300 / (1 / 3) / (1 / 0.3) = 270 steps
  for (std::size_t k = 0; k < 271; ++k)
    EXPECT_NEAR(up.channels[0].samples[k], static_cast<double>(k) / 3, 1e-5);
  up.channels.resize(1);
  up.channels[0] = r.channels[0];
  resample(up, 0.3);
  EXPECT_EQ(up.channels[0].samples.size(), 301u);
  EXPECT_EQ(up.channels[0].samples.back(), 100);
}

TEST(Resample, LowerRatesAreFilteredAgainstAliasing) {
  // 48 Hz, sampled at 50 Hz, would be seen as 2 Hz; 2 Hz must stay.
  const auto sine = [](double f) { return [f](double t) { return std::sin(2 * std::numbers::pi * f * t); }; };
  Recording r;
  r.channels = {waves(200, 2000, sine(48)), waves(200, 2000, sine(2))};
  resample(r, 50);
  for (std::size_t k = 100; k < 400; ++k) {
    EXPECT_NEAR(r.channels[0].samples[k], 0, 0.002);
    EXPECT_NEAR(r.channels[1].samples[k], sine(2)(static_cast<double>(k) / 50), 0.002);
  }
}

TEST(Resample, BadRatesAreRefused) {
  Recording r;
  r.channels = {channel(100, {1, 2, 3})};
  for (const double rate : {0., -1., std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_THAT([&] { resample(r, rate); }, ThrowsMessage<BadInput>(HasSubstr("must be above 0")));
  EXPECT_THAT([&] { resample(r, 1e300); }, ThrowsMessage<BadInput>(HasSubstr("the limit is 2147483647")));
  Recording none;
  resample(none, 10);
  EXPECT_EQ(common_rate(none), 0);
}

}  // namespace
}  // namespace warploom::signal
