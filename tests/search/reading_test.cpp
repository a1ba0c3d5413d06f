#include "warploom/search/reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>

#include "warploom/core/error.hpp"
#include "warploom/search/distance.hpp"
#include "warploom/search/in_place.hpp"

namespace warploom::search {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kStep = 100, kRecorded = 6000, kAxes = 6, kSteps = 8;

/// Noise without high frequencies.
std::vector<float> smooth(std::int64_t samples, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<float> all;
  double fast = 0, slow = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    fast = 0.8 * fast + normal(random);
    slow = 0.8 * slow + fast;
    all.push_back(static_cast<float>(slow));
  }
  return all;
}

/// Six channels, two sensors of three axes, in which a pattern occurs eight times; and the pattern.
struct Steps {
  std::vector<std::vector<float>> recorded, pattern;
  Query query;

  explicit Steps(std::uint32_t seed, double stretched = 1) {
    for (std::uint32_t c = 0; c < kAxes; ++c) {
      recorded.push_back(smooth(kRecorded, 100 * seed + c));
      pattern.push_back(smooth(kStep, 100 * seed + 50 + c));
      const std::vector<float> found =
          stretch(pattern[c], static_cast<std::int64_t>(stretched * static_cast<double>(kStep)));
      for (std::int64_t k = 0; k < kSteps; ++k) std::ranges::copy(found, recorded[c].begin() + place(k));
      const std::vector<float> noise = smooth(kRecorded, 100 * seed + 20 + c);
      for (std::int64_t i = 0; i < kRecorded; ++i) recorded[c][i] += 0.2F * noise[i];
    }
    query.label = "step";
    query.channels = {pattern.begin(), pattern.end()};
    query.places = {0, 1, 2, 3, 4, 5};
    query.names = {"foot x", "foot y", "foot z", "back x", "back y", "back z"};
  }
  static std::int64_t place(std::int64_t k) { return 300 + 700 * k; }
  Signal signal() const { return {recorded.begin(), recorded.end()}; }

  FoundAs found(const FindOptions& options = {.limit = 8}) const {
    IndexOptions on_cpu;
    on_cpu.run.devices = {Device::cpu};
    Index index(signal(), on_cpu);
    return find_automatic(index, query, options);
  }
  /// Plants that are among the matches, within some samples.
  static std::int64_t hit(const FoundAs& found, std::int64_t within) {
    std::int64_t hits = 0;
    for (std::int64_t k = 0; k < kSteps; ++k)
      hits += std::ranges::any_of(
          found.matches, [&](const Match& match) { return std::abs(match.first - place(k)) <= within; });
    return hits;
  }
};

TEST(FindAutomatic, InPlaceAllAreFound) {
  const FoundAs found = Steps(1).found({.limit = 15});
  EXPECT_EQ(found.chosen().name, "in place");
  EXPECT_EQ(Steps::hit(found, 2), kSteps);
  EXPECT_LT(found.matches[7].chance.value(), 1e-3);
  EXPECT_GT(found.matches[8].chance.value(), 0.05);  // all are found
}

TEST(FindAutomatic, StaysInPlaceWhereMovementsDiffer) {
  // Each step of another shape: half of what a channel does is its own.
  std::int64_t in_place = 0;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    Steps all(40 + seed);
    for (std::uint32_t c = 0; c < kAxes; ++c)
      for (std::int64_t k = 0; k < kSteps; ++k) {
        const std::vector<float> own =
            smooth(kStep, 9000 + 100 * seed + 10 * c + static_cast<std::uint32_t>(k));
        for (std::int64_t i = 0; i < kStep; ++i) all.recorded[c][Steps::place(k) + i] += own[i];
      }
    in_place += all.found().chosen().name == "in place";
  }
  EXPECT_GE(in_place, 18);
}

TEST(FindAutomatic, InPlaceBadChannelsTakeNoPart) {
  // Of six channels two fail at each step, each time others: on one path they are most of the distance.
  Steps all(7);
  for (std::int64_t k = 0; k < kSteps; ++k)
    for (const std::int64_t c : {k % kAxes, (k + 2) % kAxes})
      std::ranges::copy(smooth(kStep, 800 + static_cast<std::uint32_t>(10 * k + c)),
                        all.recorded[c].begin() + Steps::place(k));
  for (std::uint32_t c = 0; c < kAxes; ++c) {
    const std::vector<float> noise = smooth(kRecorded, 950 + c);
    for (std::int64_t i = 0; i < kRecorded; ++i) all.recorded[c][i] += 0.4F * noise[i];
  }
  const FoundAs found = all.found({.limit = 10});
  EXPECT_EQ(found.chosen().name, "in place");
  EXPECT_EQ(Steps::hit(found, 5), kSteps);
}

TEST(FindAutomatic, KnowsChannelsThatWereSwitchedAndNegated) {
  Steps all(2);
  std::swap(all.recorded[0], all.recorded[2]);
  for (float& x : all.recorded[4]) x = -x;
  const FoundAs found = all.found();
  EXPECT_EQ(found.chosen().name, "switched");
  EXPECT_THAT(found.chosen().reading.channels, ElementsAre(2, 1, 0, 3, 4, 5));
  EXPECT_THAT(found.chosen().reading.negated, ElementsAre(false, false, false, false, true, false));
  EXPECT_GT(found.chosen().nearer, found.chosen().price);
  EXPECT_EQ(Steps::hit(found, 2), kSteps);
  const Pair& first = found.matches[0].pairs[0];
  EXPECT_EQ(first.query_channel, 0);
  EXPECT_EQ(first.channel, 2);
  EXPECT_TRUE(first.switched);
  EXPECT_TRUE(found.matches[0].pairs[4].negated);
}

TEST(FindAutomatic, KnowsConstantLags) {
  Steps all(3);
  std::ranges::rotate(all.recorded[1], all.recorded[1].end() - 15);
  std::ranges::rotate(all.recorded[5], all.recorded[5].end() - 22);
  const FoundAs found = all.found();
  EXPECT_EQ(found.chosen().name, "lagged");
  EXPECT_NEAR(static_cast<double>(found.chosen().reading.lags[1] - found.chosen().reading.lags[0]), 15, 1);
  EXPECT_NEAR(static_cast<double>(found.chosen().reading.lags[5] - found.chosen().reading.lags[0]), 22, 1);
  EXPECT_EQ(Steps::hit(found, 3), kSteps);
  const Match& match = found.matches[0];
  EXPECT_NEAR(static_cast<double>(match.lag(match.pairs[5])), 22, 1);
  EXPECT_EQ(match.last - match.first, kStep + match.lag(match.pairs[5]));
}

TEST(FindAutomatic, KnowsSensorsInAnotherOrientation) {
  Steps all(4);
  const std::array<double, 9> turn = rotations(7)[3];
  for (std::int64_t i = 0; i < kRecorded; ++i) {
    const double was[] = {all.recorded[0][i], all.recorded[1][i], all.recorded[2][i]};
    for (int row = 0; row < 3; ++row)
      all.recorded[row][i] = static_cast<float>(turn[3 * row] * was[0] + turn[3 * row + 1] * was[1] +
                                                turn[3 * row + 2] * was[2]);
  }
  const FoundAs found = all.found();
  EXPECT_EQ(found.chosen().name, "rotated");
  EXPECT_EQ(Steps::hit(found, 2), kSteps);
  for (int k = 0; k < 9; ++k) EXPECT_NEAR(found.chosen().reading.turns[0][k], turn[k], 0.15) << k;
}

TEST(FindAutomatic, KnowsChannelsThatSayNothing) {
  Steps all(5);
  all.recorded[3] = smooth(kRecorded, 999);
  all.recorded[0] = smooth(kRecorded, 998);
  const FoundAs found = all.found();
  EXPECT_EQ(found.chosen().name, "missing");
  EXPECT_THAT(found.chosen().reading.channels, ElementsAre(-1, 1, 2, -1, 4, 5));
  EXPECT_EQ(Steps::hit(found, 2), kSteps);
  EXPECT_EQ(found.matches[0].matched, 4);
  EXPECT_EQ(found.matches[0].channels, 6);
  EXPECT_NEAR(found.matches[0].coverage, 4.0 / 6, 1e-12);
}

TEST(FindAutomatic, KnowsPatternsOfAnotherLength) {
  const Steps all(6, 1.2);
  const FoundAs found = all.found();
  EXPECT_EQ(found.chosen().name, "stretched");
  EXPECT_EQ(Steps::hit(found, 10), kSteps);
  EXPECT_GT(found.matches[0].pairs[0].scale, 1.1);
}

TEST(FindAutomatic, KnowsMatchesThatHaveReadingsOfTheirOwn) {
  // Each step comes in other channels, at other lags.
  const Steps steps(7);
  Steps all(7);
  const auto channel_of = [](std::int64_t c, std::int64_t k) { return c / 3 * 3 + (c + k) % 3; };
  const auto lag_of = [](std::int64_t c, std::int64_t k) { return (7 * c * k + 5 * c) % 23; };
  for (std::uint32_t c = 0; c < kAxes; ++c) all.recorded[c] = smooth(kRecorded, 7000 + c);
  for (std::int64_t k = 0; k < kSteps; ++k)
    for (std::int64_t c = 0; c < kAxes; ++c)
      std::ranges::copy(steps.pattern[c],
                        all.recorded[channel_of(c, k)].begin() + Steps::place(k) + lag_of(c, k));
  for (std::uint32_t c = 0; c < kAxes; ++c) {
    const std::vector<float> noise = smooth(kRecorded, 7100 + c);
    for (std::int64_t i = 0; i < kRecorded; ++i) all.recorded[c][i] += 0.1F * noise[i];
  }
  const FoundAs found = all.found();
  ASSERT_EQ(found.chosen().name, "match by match");
  EXPECT_TRUE(found.chosen().reading.own);
  ASSERT_EQ(std::ssize(found.matches), kSteps);
  EXPECT_EQ(Steps::hit(found, 3), kSteps);
  for (const Match& match : found.matches) {
    const std::int64_t k = (match.first - Steps::place(0) + 350) / 700;
    ASSERT_EQ(match.matched, kAxes);
    for (const Pair& pair : match.pairs) {
      EXPECT_EQ(pair.channel, channel_of(pair.query_channel, k)) << k;
      EXPECT_NEAR(static_cast<double>(pair.offset - Steps::place(k)),
                  static_cast<double>(lag_of(pair.query_channel, k)), 3)
          << k;
    }
    EXPECT_LT(match.chance.value(), 0.05);
  }
  EXPECT_TRUE(std::ranges::is_sorted(found.matches, {}, &Match::distance));
}

/// Two channels of Steps.
Steps two_channels(std::uint32_t seed) {
  Steps all(seed);
  all.recorded.resize(2);
  all.pattern.resize(2);
  all.query.channels = {all.pattern.begin(), all.pattern.end()};
  all.query.places = {0, 1};
  all.query.names = {"lead 1", "lead 2"};
  return all;
}

double mean_of(std::span<const float> values) {
  double sum = 0;
  for (const float x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

double deviation_of(std::span<const float> values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const float x : values) squares += (x - mean) * (x - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

TEST(FindAutomatic, MatchesAreRankedByTheGeometricMeanOfTheirChannels) {
  for (Steps all : {two_channels(1), Steps(1)}) {
    for (auto& channel : all.recorded) channel.resize(1600);
    const std::size_t channels = all.pattern.size();
    const FoundAs found = all.found({.limit = 12});
    ASSERT_EQ(found.chosen().name, "in place");
    // By definition: each window, a path each, and how its sizes and levels differ.
    const auto factor = [&](std::size_t c, std::int64_t t) {
      const std::span<const float> window = std::span(all.recorded[c]).subspan(t, kStep);
      const double ratio = deviation_of(window) / deviation_of(all.pattern[c]);
      const double away = mean_of(window) - mean_of(all.pattern[c]);
      const double beside = std::pow(deviation_of(window), 2) + std::pow(deviation_of(all.pattern[c]), 2) +
                            std::pow(deviation_of(all.recorded[c]), 2);
      return std::sqrt((ratio + 1 / ratio) / 2 * std::sqrt(1 + away * away / beside));
    };
    std::vector<std::pair<double, std::int64_t>> windows;
    for (std::int64_t t = 0; t + kStep <= 1600; ++t) {
      double logarithm = 0;
      for (std::size_t c = 0; c < channels; ++c)
        logarithm +=
            std::log(factor(c, t) * dtw_distance(all.pattern[c], std::span(all.recorded[c]).subspan(t, kStep),
                                                 5, Normalization::z));
      windows.emplace_back(std::exp(logarithm / static_cast<double>(channels)), t);
    }
    std::ranges::sort(windows);
    std::vector<std::pair<double, std::int64_t>> chosen;
    for (const auto& [distance, t] : windows)
      if (std::ranges::none_of(chosen,
                               [&](const auto& other) { return std::abs(other.second - t) <= kStep / 2; }))
        chosen.emplace_back(distance, t);
    ASSERT_GE(chosen.size(), found.matches.size());
    for (std::size_t k = 0; k < found.matches.size(); ++k) {
      const Match& match = found.matches[k];
      EXPECT_EQ(match.first, chosen[k].second) << k;
      EXPECT_NEAR(match.distance, chosen[k].first, 1e-4 * chosen[k].first) << k;
      ASSERT_EQ(match.pairs.size(), channels);
      double logarithm = 0;
      for (std::size_t c = 0; c < channels; ++c)
        logarithm += std::log(factor(c, match.first) * match.pairs[c].distance);
      EXPECT_NEAR(match.distance, std::exp(logarithm / static_cast<double>(channels)), 1e-3) << k;
    }
  }
}

TEST(FindAutomatic, ShapesOfAnotherSizeOrLevelAreFarther) {
  // Every second step is as large again, or elsewhere: as near, normalised.
  for (const bool larger : {true, false}) {
    Steps all(8);
    for (std::uint32_t c = 0; c < kAxes; ++c)
      for (std::int64_t k = 1; k < kSteps; k += 2)
        for (std::int64_t i = 0; i < kStep; ++i)
          if (float& x = all.recorded[c][Steps::place(k) + i]; larger)
            x *= 3;
          else
            x += 40;
    const FoundAs found = all.found({.limit = 8});
    EXPECT_EQ(found.chosen().name, "in place");
    ASSERT_EQ(std::ssize(found.matches), 8);
    for (std::int64_t k = 0; k < 4; ++k)
      EXPECT_LE((found.matches[k].first - Steps::place(0) + 5) % 1400, 10) << k << larger;
  }
}

/// Channels of a recording times what they would be in other units.
Steps in_units(Steps all, const std::vector<double>& gains) {
  for (std::size_t c = 0; c < gains.size(); ++c)
    for (float& x : all.recorded[c]) x = static_cast<float>(gains[c] * x);
  return all;
}

std::vector<std::int64_t> firsts(const FoundAs& found) {
  std::vector<std::int64_t> all;
  for (const Match& match : found.matches) all.push_back(match.first);
  return all;
}

TEST(FindAutomatic, FindsTheSameInOtherUnits) {
  // Of steps as they are, and as large again in some: sizes tell which come first.
  Steps all(9);
  for (std::uint32_t c = 0; c < kAxes; ++c)
    for (std::int64_t k = 1; k < kSteps; k += 2)
      for (std::int64_t i = 0; i < kStep; ++i) all.recorded[c][Steps::place(k) + i] *= 2;
  const std::vector<std::int64_t> same = firsts(all.found());
  constexpr double kGravity = 9.80665, kDegrees = 57.29577951308232;
  for (const auto& [foot, back] :
       {std::pair(kGravity, kGravity), std::pair(1 / kGravity, 1 / kGravity), std::pair(kDegrees, kDegrees),
        std::pair(1000.0, 1000.0), std::pair(200.0, 200.0), std::pair(kGravity, 1.0),
        std::pair(1.0, 1 / kDegrees), std::pair(kGravity, 1 / kDegrees)}) {
    const FoundAs found = in_units(all, {foot, foot, foot, back, back, back}).found();
    EXPECT_EQ(firsts(found), same) << foot << ' ' << back;
    ASSERT_EQ(std::ssize(found.gains), kAxes);
    // Of units that are none of the known pairs the gain is an estimate.
    const double tolerance = foot == 200 ? 0.5 : 1e-6;
    for (std::size_t c = 0; c < found.gains.size(); ++c)
      EXPECT_NEAR(found.gains[c] / (c < 3 ? foot : back), 1, tolerance) << foot << ' ' << back;
  }
}

TEST(FindAutomatic, WhoMovesTwiceAsMuchIsInTheSameUnits) {
  for (const double gain : {0.5, 2.0}) {
    const FoundAs found = in_units(Steps(9), std::vector<double>(kAxes, gain)).found();
    EXPECT_THAT(found.gains, Each(1)) << gain;
    EXPECT_EQ(Steps::hit(found, 2), kSteps) << gain;
  }
}

TEST(FindAutomatic, ChannelsExchangedBetweenSensorsAreNoOtherUnit) {
  // Feet in tens, the back in thousandths; and what is one's x is the other's.
  Steps all(12);
  for (std::size_t c = 0; c < kAxes; ++c)
    for (std::vector<float>* samples : {&all.recorded[c], &all.pattern[c]})
      for (float& x : *samples) x *= c < 3 ? 10.F : 1e-3F;
  std::swap(all.recorded[0], all.recorded[3]);
  const FoundAs found = all.found();
  EXPECT_THAT(found.gains, Each(1));
  EXPECT_EQ(Steps::hit(found, 3), kSteps);
}

TEST(FindAutomatic, TakesGainsThatAreGiven) {
  const Steps all = in_units(Steps(9), std::vector<double>(kAxes, 3));
  const std::vector<std::int64_t> same = firsts(Steps(9).found());
  EXPECT_EQ(firsts(all.found({.limit = 8, .gains = {3, 3, 3, 3, 3, 3}})), same);
  EXPECT_THAT(in_units(Steps(9), std::vector<double>(kAxes, 1000))
                  .found({.limit = 8, .gains = std::vector<double>(kAxes, 1)})
                  .gains,
              Each(1));
  EXPECT_THROW(all.found({.gains = {1, 2}}), BadInput);
  EXPECT_THROW(all.found({.gains = {1, 1, 1, 1, 1, -1}}), BadInput);
}

TEST(FindAutomatic, OfTwoChannelsOneMayFailAtAPlace) {
  Steps all = two_channels(2);
  for (std::int64_t k = 0; k < kSteps; ++k) {
    const std::vector<float> noise = smooth(kStep, 500 + static_cast<std::uint32_t>(k));
    if (k % 2 == 1) std::ranges::copy(noise, all.recorded[k / 2 % 2].begin() + Steps::place(k));
  }
  EXPECT_EQ(Steps::hit(all.found({.limit = 12}), 3), kSteps);
  IndexOptions on_cpu;
  on_cpu.run.devices = {Device::cpu};
  Index index(all.signal(), on_cpu);
  FoundAs plain;
  plain.matches = find_in_place(index, all.query, {.limit = 12});
  EXPECT_LT(Steps::hit(plain, 3), kSteps);
}

TEST(FindAutomatic, KnowsSwitchedChannelsThoughDecoysAreAsNear) {
  // The pattern is the same in both directions of time, and so is its decoy: no place is rare among decoys.
  Steps all = two_channels(3);
  for (std::int64_t c = 0; c < 2; ++c) {
    const std::vector<float> was = all.pattern[c];
    for (std::int64_t i = 0; i < kStep; ++i) all.pattern[c][i] = was[i] + was[kStep - 1 - i];
    for (std::int64_t k = 0; k < kSteps; ++k)
      for (std::int64_t i = 0; i < kStep; ++i)
        all.recorded[1 - c][Steps::place(k) + i] =
            all.pattern[c][i] + 0.2F * all.recorded[1 - c][Steps::place(k) + i];
  }
  const FoundAs found = all.found();
  EXPECT_THAT(found.chosen().reading.channels, ElementsAre(1, 0));
  EXPECT_EQ(Steps::hit(found, 3), kSteps);
}

TEST(FindAutomatic, SaysThatWhatIsNotThereMayBeChance) {
  int reported = 0;
  for (std::uint32_t seed = 10; seed < 30; ++seed) {
    Steps all(seed);
    for (std::uint32_t c = 0; c < kAxes; ++c) all.recorded[c] = smooth(kRecorded, 7000 + 10 * seed + c);
    const FoundAs found = all.found();
    reported += !found.matches.empty() && found.matches[0].chance.value() <= 0.05;
  }
  EXPECT_LE(reported, 3);  // of 20; 1 is to be expected
}

TEST(FindAutomatic, DoesNotDependOnThreads) {
  Steps all(2);
  std::swap(all.recorded[0], all.recorded[2]);
  std::vector<FoundAs> found;
  for (const int threads : {1, 3}) {
    IndexOptions options;
    options.run.devices = {Device::cpu};
    options.run.threads = threads;
    Index index(all.signal(), options);
    found.push_back(find_automatic(index, all.query));
  }
  ASSERT_EQ(found[0].matches.size(), found[1].matches.size());
  for (std::size_t k = 0; k < found[0].matches.size(); ++k) {
    EXPECT_EQ(found[0].matches[k].first, found[1].matches[k].first);
    EXPECT_EQ(found[0].matches[k].chance, found[1].matches[k].chance);
  }
  for (std::size_t k = 0; k < found[0].tried.size(); ++k)
    EXPECT_EQ(found[0].tried[k].nearer, found[1].tried[k].nearer) << found[0].tried[k].name;
}

TEST(FindAutomatic, RunsOnAsManyThreadsAsTheIndex) {
  const Steps all(3);
  IndexOptions options;
  options.run.devices = {Device::cpu};
  options.run.threads = 1;
  Index index(all.signal(), options);
  const auto seconds = [](clockid_t clock) {
    timespec now = {};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  const double own = seconds(CLOCK_THREAD_CPUTIME_ID), whole = seconds(CLOCK_PROCESS_CPUTIME_ID);
  find_automatic(index, all.query);
  const double by_all = seconds(CLOCK_PROCESS_CPUTIME_ID) - whole;
  EXPECT_LT(by_all - (seconds(CLOCK_THREAD_CPUTIME_ID) - own), 0.05 * by_all);
}

TEST(FindAutomatic, TakesQueriesThatHaveNoFreedom) {
  Steps all(7);
  // One channel; and a recording in which the query fits once.
  all.query.channels.resize(1);
  all.query.places.resize(1);
  all.query.names.resize(1);
  EXPECT_EQ(all.found().chosen().name, "in place");
  for (auto& channel : all.recorded) channel.resize(kStep + 3);
  const FoundAs found = all.found();
  EXPECT_EQ(found.chosen().name, "in place");
  ASSERT_EQ(found.matches.size(), 1U);
  EXPECT_EQ(found.matches[0].chance, 1);
}

TEST(FindAutomatic, PassesOverMissingSamples) {
  Steps all(2);
  for (auto& channel : all.recorded)
    for (std::int64_t i = 2000; i < 2030; ++i) channel[i] = std::numeric_limits<float>::quiet_NaN();
  std::swap(all.recorded[0], all.recorded[2]);
  const FoundAs found = all.found();
  EXPECT_EQ(found.chosen().name, "switched");
  for (const Match& match : found.matches) EXPECT_TRUE(match.last <= 2000 || match.first >= 2030);
}

TEST(FindAutomatic, RefusesWhatTheFreeSearchRefuses) {
  const Steps all(1);
  EXPECT_THROW(all.found({.limit = 0}), BadInput);
  EXPECT_THROW(all.found({.band = -1}), BadInput);
  EXPECT_THROW(all.found({.sensors = {{0, 1, 9}}}), BadInput);
  EXPECT_THROW(FoundAs().chosen(), BadInput);
}

TEST(SensorsByName, AreThreeInARowThatDifferInOneLetter) {
  const auto first = [](const std::vector<std::string>& names) {
    std::vector<std::int32_t> all;
    for (const SensorAxes& sensor : sensors_by_name(names)) all.push_back(sensor.x);
    return all;
  };
  EXPECT_THAT(first({"acc_x", "acc_y", "acc_z", "gyr_x", "gyr_y", "gyr_z"}), ElementsAre(0, 3));
  EXPECT_THAT(first({"time", "X1", "Y1", "Z1"}), ElementsAre(1));
  EXPECT_THAT(first({"heel", "arch", "ball", "toe"}), IsEmpty());
  EXPECT_THAT(first({"acc_y", "acc_x", "acc_z"}), IsEmpty());
  EXPECT_THAT(first({"x", "y"}), IsEmpty());
  EXPECT_THAT(first({}), IsEmpty());
}

}  // namespace
}  // namespace warploom::search
