#include "warploom/search/find.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <tuple>

#include "oracle/search_brute_force.hpp"
#include "oracle/search_matchings.hpp"
#include "search/figure_cases.hpp"
#include "search/plan.hpp"
#include "search/signals.hpp"
#include "search/thresholds.hpp"
#include "warploom/core/error.hpp"

namespace warploom::search {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Recording = std::vector<std::vector<float>>;

Found find_in(const Recording& recording, const Query& query, const FindOptions& options = {},
              Normalization normalization = Normalization::z) {
  const Signal signal(recording.begin(), recording.end());
  Index index(signal, {.run = {.devices = {Device::cpu}}, .normalization = normalization});
  return find(index, query, options);
}

/// A query that owns its samples.
struct OwnQuery {
  Recording samples;
  Query query;
  OwnQuery(const Recording& recording, std::int64_t first, std::int64_t length) {
    for (const std::vector<float>& channel : recording)
      samples.emplace_back(channel.begin() + first, channel.begin() + first + length);
    view();
  }
  void view() {
    query.channels.assign(samples.begin(), samples.end());
    query.places.clear();
    for (std::size_t c = 0; c < samples.size(); ++c) query.places.push_back(static_cast<std::int32_t>(c));
  }
};

Recording walks(std::size_t channels, std::size_t samples, std::uint32_t seed) {
  Recording recording;
  for (std::size_t c = 0; c < channels; ++c)
    recording.push_back(random_walk(samples, seed + static_cast<std::uint32_t>(c)));
  return recording;
}

/// Adds to `channel` from `first` on what makes it `samples` there.
void put(std::vector<float>& channel, std::int64_t first, std::span<const float> samples) {
  std::copy(samples.begin(), samples.end(), channel.begin() + first);
}

auto identity(const Pair& pair) {
  return std::tuple(pair.query_channel, pair.channel, pair.offset, pair.segment, pair.negated);
}

/// That two lists are of the same pairs, and of distances as near as single precision allows.
void expect_same(const std::vector<Match>& found, const std::vector<Match>& want) {
  ASSERT_EQ(found.size(), want.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    EXPECT_NEAR(found[k].distance, want[k].distance, 1e-3) << "rank " << k + 1;
    EXPECT_EQ(found[k].coverage, want[k].coverage) << "rank " << k + 1;
    EXPECT_EQ(found[k].first, want[k].first) << "rank " << k + 1;
    EXPECT_EQ(found[k].last, want[k].last) << "rank " << k + 1;
    ASSERT_EQ(found[k].pairs.size(), want[k].pairs.size()) << "rank " << k + 1;
    for (std::size_t p = 0; p < found[k].pairs.size(); ++p)
      EXPECT_EQ(identity(found[k].pairs[p]), identity(want[k].pairs[p]))
          << "rank " << k + 1 << ", pair " << p;
  }
}

TEST(Find, IsWhatBruteForceFinds) {
  for (Normalization normalization : {Normalization::z, Normalization::none}) {
    const bool normalised = normalization == Normalization::z;
    Recording recording = walks(3, 300, 10);
    recording[1][150] = std::numeric_limits<float>::quiet_NaN();
    const OwnQuery own(walks(3, 24, 20), 0, 24);
    FindOptions options;
    options.max_distance = normalised ? 0.6 : 3;
    options.scales = {1, 1.25};
    options.segments = 2;
    options.neighbours = 1;
    options.switched_weight = 1.25;
    options.candidates = 6;
    const Plan plan = make_plan(own.query, options, options.band, normalization);
    const Signal signal(recording.begin(), recording.end());
    std::vector<Piece> pieces;
    for (const Group& group : plan.groups)
      for (std::int32_t channel : channels_for(plan.variant(group).query_channel, options, 3)) {
        const Task task{channel, group.first_pattern, group.patterns,
                        6,       group.exclusion,     static_cast<float>(*options.max_distance)};
        for (const oracle::Choice& choice : oracle::best(signal, plan.patterns, task, normalised))
          pieces.push_back(piece_of({choice.offset, static_cast<float>(choice.distance), choice.pattern},
                                    channel, plan, own.query, options, 3));
      }
    const Found found = find_in(recording, own.query, options, normalization);
    EXPECT_EQ(found.candidates, std::ssize(pieces));
    EXPECT_EQ(found.pairs, 7);
    expect_same(found.matches,
                oracle::assemble(pieces, own.query,
                                 {.max_lag = 12, .exclusion = 12, .min_channels = 2, .limit = 20}));
    EXPECT_GT(found.matches.size(), 3u);
  }
}

TEST(Find, DoesNotDependOnTheOrderOfChannels) {
  const FigureCase figure = figure_54();
  const std::vector<Match> before = find_in(figure.recording, figure.query()).matches;
  const std::int32_t to[] = {2, 0, 1};  // of the recording
  Recording moved(3);
  for (int c = 0; c < 3; ++c) moved[to[c]] = figure.recording[c];
  Query query = figure.query();
  const std::int32_t from[] = {1, 2, 0};  // the query's new channel q was channel from[q]
  for (int q = 0; q < 3; ++q) {
    query.channels[q] = figure.query().channels[from[q]];
    query.places[q] = to[from[q]];
  }
  std::vector<Match> after = find_in(moved, query).matches;
  for (Match& match : after) {
    for (Pair& pair : match.pairs) {
      pair.query_channel = from[pair.query_channel];
      pair.channel = static_cast<std::int32_t>(std::find(to, to + 3, pair.channel) - to);
    }
    std::sort(match.pairs.begin(), match.pairs.end(),
              [](const Pair& a, const Pair& b) { return identity(a) < identity(b); });
  }
  expect_same(after, before);
}

TEST(Find, MovesWithTheRecording) {
  const FigureCase figure = figure_54();
  const Query query = figure.query();
  std::vector<Match> want = find_in(figure.recording, query).matches;
  constexpr std::int64_t kShift = 777;
  for (Match& match : want) {
    match.first += kShift, match.last += kShift;
    for (Pair& pair : match.pairs) pair.offset += kShift, pair.begin += kShift;
  }
  Recording later = figure.recording;
  for (std::vector<float>& channel : later)
    channel.insert(channel.begin(), kShift, std::numeric_limits<float>::quiet_NaN());
  expect_same(find_in(later, query).matches, want);
}

TEST(Find, DoesNotDependOnAChannelsUnitAndZero) {
  const FigureCase figure = figure_54();
  const Query query = figure.query();
  Recording other = figure.recording;
  for (float& sample : other[0]) sample = 250 * sample - 40;
  for (float& sample : other[2]) sample = 0.003f * sample + 1;
  expect_same(find_in(other, query).matches, find_in(figure.recording, query).matches);
}

TEST(Find, ANegatedChannelIsFoundAsNegated) {
  FigureCase figure = figure_54();
  const OwnQuery own(figure.recording, figure.planted[0].first, figure.length);
  const std::vector<Match> before = find_in(figure.recording, own.query).matches;
  for (float& sample : figure.recording[1]) sample = -sample;
  std::vector<Match> after = find_in(figure.recording, own.query).matches;
  for (Match& match : after)
    for (Pair& pair : match.pairs)
      if (pair.channel == 1) pair.negated = !pair.negated;
  expect_same(after, before);

  FindOptions options;
  options.negated = false;
  for (const Match& match : find_in(figure.recording, own.query, options).matches)
    for (const Pair& pair : match.pairs) {
      EXPECT_FALSE(pair.negated);
      EXPECT_FALSE(pair.query_channel == 1 && pair.channel == 1 && pair.offset == 400);
    }
}

TEST(Find, WhatTouchesMissingSamplesIsNotFoundAndTheRestIs) {
  FigureCase figure = figure_54();
  const OwnQuery own(figure.recording, figure.planted[0].first, figure.length);
  const FigureCase::Planted& lagged = figure.planted[1];
  figure.recording[0][lagged.offsets[0] + 64] = std::numeric_limits<float>::quiet_NaN();
  bool found = false;
  for (const Match& match : find_in(figure.recording, own.query).matches)
    if (std::abs(match.first - lagged.first) < 64) {
      found = true;
      EXPECT_EQ(match.matched, 2);
      for (const Pair& pair : match.pairs) EXPECT_NE(pair.query_channel, 0);
    }
  EXPECT_TRUE(found);
}

/// Two channels of 40 samples in 2,000, which are at 500 and once more at 1,400.
class Twice : public testing::Test {
 protected:
  Twice() : recording(walks(2, 2000, 30)), own(recording, 500, kLength) {
    options.max_distance = 0.05;
    for (int c = 0; c < 2; ++c) put(recording[c], 1400, own.samples[c]);
  }
  static Match at_1400(const Found& found) {
    for (const Match& match : found.matches)
      if (std::abs(match.first - 1400) <= kLength / 2) return match;
    return {};
  }
  /// Puts channel 1 of the query, its middle six samples late: more than the band of 2, less than one of 8.
  void put_warped(std::int64_t first) {
    for (int i = 0; i < kLength; ++i) {
      const double from = std::max(0.0, i - 6 * std::sin(std::numbers::pi * i / (kLength - 1)));
      const int k = static_cast<int>(from);
      const auto share = static_cast<float>(from - k);
      const float next = share == 0 ? 0 : own.samples[1][k + 1];
      recording[1][first + i] = (1 - share) * own.samples[1][k] + share * next;
    }
  }
  static constexpr std::int64_t kLength = 40;
  Recording recording;
  OwnQuery own;
  FindOptions options;
};

TEST_F(Twice, IsFoundTwice) {
  const Found found = find_in(recording, own.query, options);
  ASSERT_THAT(found.matches, SizeIs(2));
  EXPECT_EQ(found.matches[0].first, 500);
  EXPECT_EQ(found.matches[1].first, 1400);
  EXPECT_EQ(found.matches[1].last, 1440);
  EXPECT_NEAR(found.matches[1].distance, 0, 1e-3);
}

TEST_F(Twice, PartsAreFoundWhereTheWholeIsNot) {
  const std::vector<float> other = random_walk(20, 99);
  put(recording[0], 1420, other);
  put(recording[1], 1420, other);
  ASSERT_THAT(find_in(recording, own.query, options).matches, SizeIs(1));
  options.segments = 2;
  const Found found = find_in(recording, own.query, options);
  ASSERT_THAT(found.matches, SizeIs(2));
  EXPECT_EQ(found.matches[0].coverage, 1);
  const Match& half = found.matches[1];
  EXPECT_EQ(half.coverage, 0.5);
  ASSERT_THAT(half.pairs, SizeIs(2));
  EXPECT_EQ(half.pairs[0].segment, 0);
  EXPECT_EQ(half.pairs[0].offset, 1400);
  EXPECT_EQ(half.pairs[0].coverage, 20);
  EXPECT_EQ(half.last, 1420);
}

TEST_F(Twice, ALaterPartBeginsInsideTheQuery) {
  const std::vector<float> other = random_walk(20, 99);
  for (int c = 0; c < 2; ++c) put(recording[c], 1400, other);
  options.segments = 2;
  const Found found = find_in(recording, own.query, options);
  ASSERT_THAT(found.matches, SizeIs(2));
  const Pair& pair = found.matches[1].pairs[0];
  EXPECT_EQ(pair.offset, 1400);
  EXPECT_EQ(pair.begin, 1420);
  EXPECT_EQ(pair.length, 20);
}

TEST_F(Twice, AnotherLengthIsFoundByItsScale) {
  const std::vector<float> slow[] = {stretch(own.samples[0], 52), stretch(own.samples[1], 52)};
  for (int c = 0; c < 2; ++c) put(recording[c], 1400, slow[c]);
  ASSERT_THAT(find_in(recording, own.query, options).matches, SizeIs(1));
  options.scales = {1, 1.3};
  const Match match = at_1400(find_in(recording, own.query, options));
  ASSERT_EQ(match.matched, 2);
  EXPECT_EQ(match.pairs[0].scale, 1.3);
  EXPECT_EQ(match.pairs[0].length, 52);
  EXPECT_EQ(match.last, 1452);
}

TEST_F(Twice, ExhaustingFindsAWarpedChannelBesideAnother) {
  put_warped(1400);
  options.max_distance = 0.4;
  options.min_channels = 1;
  EXPECT_EQ(at_1400(find_in(recording, own.query, options)).matched, 1);
  options.min_channels = 2;
  EXPECT_EQ(at_1400(find_in(recording, own.query, options)).matched, 0);
  options.exhaust = {0.1, 0.2};
  const Match match = at_1400(find_in(recording, own.query, options));
  ASSERT_EQ(match.matched, 2);
  EXPECT_FALSE(match.pairs[0].exhausted);
  EXPECT_TRUE(match.pairs[1].exhausted);
  EXPECT_EQ(match.pairs[1].channel, 1);
}

TEST_F(Twice, ExhaustingLooksNoFartherThanTheLag) {
  const std::vector<float> other = random_walk(kLength, 99);
  put(recording[1], 1400, other);
  put_warped(1450);
  options.max_distance = 0.4;
  options.min_channels = 1;
  options.exhaust = {0.2};
  for (const Match& match : find_in(recording, own.query, options).matches)
    for (const Pair& pair : match.pairs) EXPECT_FALSE(pair.exhausted) << pair.offset;
  options.max_lag = 1.5;
  EXPECT_EQ(at_1400(find_in(recording, own.query, options)).matched, 2);
}

TEST_F(Twice, DefaultThresholdSharesTheSignificanceAmongTheTrials) {
  Query query = own.query;
  query.channels.resize(1), query.places.resize(1);
  options.max_distance.reset();
  options.neighbours = 1;
  options.scales = {1, 1.2};
  options.significance = 0.3;
  const Found found = find_in(recording, query, options);
  // Two channels, 21 offsets from 0 to the lag, and four patterns: two scales, each of both signs.
  std::vector<Piece> want;
  const Signal signal(recording.begin(), recording.end());
  const Plan plan = make_plan(query, options, options.band, Normalization::z);
  for (std::int32_t channel = 0; channel < 2; ++channel) {
    const std::vector<double> profile = oracle::profile(plan.patterns[0], recording[channel], true);
    std::vector<float> distances;
    for (std::int64_t k = 0; k < 1024; ++k)
      distances.push_back(static_cast<float>(profile[k * (2000 - 39) / 1024]));
    const double threshold = significant_distance(distances, 0.3 / (2 * 21 * 4));
    const Task task{channel, 0, 4, options.candidates, 20, static_cast<float>(threshold)};
    for (const oracle::Choice& choice : oracle::best(signal, plan.patterns, task, true))
      want.push_back(piece_of({choice.offset, static_cast<float>(choice.distance), choice.pattern}, channel,
                              plan, query, options, 2));
  }
  EXPECT_EQ(found.candidates, std::ssize(want));
  EXPECT_GT(found.candidates, 2);
  expect_same(
      found.matches,
      oracle::assemble(want, query, {.max_lag = 20, .exclusion = 20, .min_channels = 1, .limit = 20}));
}

/// Two channels of 40 samples at 500 and at 1,400. Channel 0 is at one level for eight samples at both ends
/// and for eight more around them, so that it may begin up to eight samples early or late there.
class FlatEnds : public Twice {
 protected:
  FlatEnds() {
    for (const std::int64_t first : {500, 1400}) {
      std::vector<float>& channel = recording[0];
      for (std::int64_t i = 0; i < 16; ++i) {
        channel[first - 8 + i] = own.samples[0][8];
        channel[first + kLength - 8 + i] = own.samples[0][8];
      }
    }
    own = OwnQuery(recording, 500, kLength);
    own.view();
    options.band = 0.25;
  }
};

TEST_F(FlatEnds, LessLagComesBeforeAMillionthOfDistance) {
  for (const Normalization normalization : {Normalization::z, Normalization::none}) {
    const Found found = find_in(recording, own.query, options, normalization);
    ASSERT_THAT(found.matches, SizeIs(2));
    for (const Match& match : found.matches) {
      ASSERT_THAT(match.pairs, SizeIs(2));
      const std::int64_t first = match.first < 1000 ? 500 : 1400;
      EXPECT_EQ(match.first, first);
      EXPECT_EQ(match.last, first + kLength);
      for (const Pair& pair : match.pairs) {
        EXPECT_EQ(pair.offset, first) << "channel " << pair.query_channel;
        EXPECT_EQ(pair.begin, first);
      }
    }
  }
}

TEST_F(FlatEnds, MoreDistanceThanThatIsNotGivenForLessLag) {
  // Channel 0 comes five samples late, and what is before it is off the level by a thousandth.
  put(recording[0], 1405, std::vector<float>(recording[0].begin() + 1400, recording[0].begin() + 1448));
  for (std::int64_t i = 1392; i < 1405; ++i) recording[0][i] = own.samples[0][0] + 1e-3f;
  const Match match = at_1400(find_in(recording, own.query, options));
  ASSERT_THAT(match.pairs, SizeIs(2));
  EXPECT_EQ(match.pairs[1].offset, 1400);
  EXPECT_EQ(match.pairs[0].offset, 1405);
}

TEST_F(FlatEnds, NoPairMovesOntoAMissingSample) {
  options.max_distance = 0.3;
  recording[0][1400 + kLength + 2] = std::numeric_limits<float>::quiet_NaN();
  // Channel 1 is found five samples late: channel 0 could follow by five, but for what is missing after two.
  put(recording[1], 1405, own.samples[1]);
  const Match match = at_1400(find_in(recording, own.query, options));
  ASSERT_THAT(match.pairs, SizeIs(2));
  EXPECT_EQ(match.pairs[1].offset, 1405);
  EXPECT_EQ(match.pairs[0].offset, 1402);
}

/// Where a recording stands still all windows are equally far, and pairs could move anywhere.
TEST_F(Twice, MatchesWhereTheRecordingIsConstantStayApart) {
  for (std::vector<float>& channel : recording) std::fill(channel.begin() + 200, channel.begin() + 420, 3.F);
  options.significance = 1;
  options.max_distance.reset();
  options.limit = 60;
  for (const std::int32_t alternatives : {1, 2}) {
    options.alternatives = alternatives;
    std::vector<std::int64_t> begins;
    for (const Match& match : find_in(recording, own.query, options).matches) begins.push_back(match.first);
    std::ranges::sort(begins);
    if (alternatives > 1) begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    ASSERT_GT(std::ranges::count_if(begins, [](std::int64_t t) { return t >= 200 && t < 420; }), 3);
    for (std::size_t k = 1; k < begins.size() && alternatives == 1; ++k)
      EXPECT_GT(begins[k] - begins[k - 1], static_cast<std::int64_t>(options.exclusion * kLength))
          << begins[k];
  }
}

TEST_F(FlatEnds, DistancesStayThoseThatWereFound) {
  const Found found = find_in(recording, own.query, options);
  const Signal signal(recording.begin(), recording.end());
  for (const Match& match : found.matches)
    for (const Pair& pair : match.pairs)
      EXPECT_NEAR(pair.distance,
                  dtw_distance(own.query.channels[pair.query_channel],
                               signal[pair.channel].subspan(pair.begin, pair.length), 10, Normalization::z),
                  2e-6);
}

TEST_F(Twice, WeightsDecideBetweenChannels) {
  // Channel 0 of the query is nearer to channel 1 than to its own.
  Recording three = {recording[0], recording[0], walks(1, 2000, 77)[0]};
  for (std::size_t i = 0; i < 2000; ++i) {
    const float sign = i % 2 == 0 ? 1 : -1;
    three[0][i] += 0.03f * sign, three[1][i] += 0.01f * sign;
  }
  Query query = own.query;
  query.channels.resize(1), query.places.resize(1);
  EXPECT_EQ(find_in(three, query, options).matches[0].pairs[0].channel, 1);
  options.switched_weight = 10;
  EXPECT_EQ(find_in(three, query, options).matches[0].pairs[0].channel, 0);
  options.switched_weight = 1;
  options.weights.assign(9, 1);
  options.weights[0 * 3 + 1] = 10;
  EXPECT_EQ(find_in(three, query, options).matches[0].pairs[0].channel, 0);
}

TEST_F(Twice, AdjacencySaysWhereAChannelIsLookedFor) {
  const Recording swapped = {recording[1], recording[0]};
  EXPECT_THAT(find_in(swapped, own.query, options).matches, SizeIs(2));
  options.adjacency = {{}, {}};
  EXPECT_THAT(find_in(swapped, own.query, options).matches, IsEmpty());
  options.adjacency = {{1}, {0}};
  EXPECT_THAT(find_in(swapped, own.query, options).matches, SizeIs(2));
}

TEST_F(Twice, MatchesOfFewChannelsAreNoResults) {
  recording[1] = random_walk(2000, 88);
  options.min_channels = 2;
  const Found none = find_in(recording, own.query, options);
  EXPECT_THAT(none.matches, IsEmpty());
  EXPECT_THAT(none.remarks, Contains(HasSubstr("nowhere of 2 channels")));
  options.min_channels = 1;
  EXPECT_THAT(find_in(recording, own.query, options).matches, SizeIs(2));
}

TEST_F(Twice, ASensorInAnotherOrientationIsFoundInItsRotation) {
  Recording three = walks(3, 2000, 50);
  OwnQuery axes(three, 500, kLength);
  const std::array<double, 9> matrix = rotations(13)[5];
  for (int row = 0; row < 3; ++row)
    for (int i = 0; i < kLength; ++i) {
      double sum = 0;
      for (int column = 0; column < 3; ++column) sum += matrix[3 * row + column] * axes.samples[column][i];
      three[row][1400 + i] = static_cast<float>(sum);
    }
  options.min_channels = 3;
  ASSERT_THAT(find_in(three, axes.query, options).matches, SizeIs(1));
  options.rotations = 12;
  options.sensors = {{0, 1, 2}};
  const Found found = find_in(three, axes.query, options);
  ASSERT_THAT(found.matches, SizeIs(2));
  EXPECT_EQ(found.matches[0].pairs[0].rotation + found.matches[1].pairs[0].rotation, 5);
  for (const Match& match : found.matches)
    for (const Pair& pair : match.pairs) EXPECT_EQ(pair.rotation, match.pairs[0].rotation);
}

TEST_F(Twice, AConstantChannelOfTheQueryIsLeftOutWithARemark) {
  own.samples[1].assign(kLength, 3);
  own.view();
  const Found found = find_in(recording, own.query, options);
  EXPECT_THAT(found.remarks, Contains(HasSubstr("channel 2 of the query is constant")));
  ASSERT_THAT(found.matches, SizeIs(2));
  EXPECT_EQ(found.matches[0].matched, 1);
  EXPECT_EQ(found.matches[0].channels, 2);
}

TEST_F(Twice, HalfOfTheChannelsThatAreNotConstantSuffice) {
  own.samples.resize(5, std::vector<float>(kLength, 3));  // one of two is enough, not one of five
  recording = {recording[0], walks(1, 2000, 60)[0], recording[0], recording[0], recording[0]};
  own.view();
  EXPECT_THAT(find_in(recording, own.query, options).matches, SizeIs(2));
}

TEST_F(Twice, SaysWhichThresholdItChose) {
  EXPECT_THAT(find_in(recording, own.query, options).remarks, IsEmpty());
  EXPECT_THAT(find_in(recording, own.query).remarks, Contains(HasSubstr("no largest distance was given")));
  options.max_distance.reset();
  options.significance = 1;
  EXPECT_THAT(find_in(recording, own.query, options).remarks, Contains(HasSubstr("no threshold")));
}

TEST_F(Twice, SaysWhyNothingIsFound) {
  own.samples = walks(2, kLength, 1000);
  own.view();
  const Found found = find_in(recording, own.query, options);
  EXPECT_THAT(found.matches, IsEmpty());
  EXPECT_THAT(found.remarks, Contains(HasSubstr("raise the largest distance")));
}

TEST_F(Twice, LabelsGoWhereTheyFitBest) {
  OwnQuery other(recording, 900, kLength), worse = own;
  worse.view();
  for (std::size_t i = 0; i < kLength; ++i) worse.samples[0][i] += i % 2 == 0 ? 0.05f : -0.05f;
  worse.query.label = "a worse copy", own.query.label = "twice", other.query.label = "once";
  const std::vector<Query> queries = {worse.query, own.query, other.query};
  const Signal signal(recording.begin(), recording.end());
  Index index(signal, {.run = {.devices = {Device::cpu}}});
  const Found found = find_labels(index, queries, options);
  std::vector<std::tuple<std::int64_t, std::string, std::int32_t>> got;
  for (const Match& match : found.matches) got.emplace_back(match.first, match.label, match.query);
  using T = std::tuple<std::int64_t, std::string, std::int32_t>;
  EXPECT_THAT(got, testing::UnorderedElementsAre(T{500, "twice", 1}, T{1400, "twice", 1}, T{900, "once", 2}));
  EXPECT_EQ(found.pairs, 12);
}

/// Every other sample up, the rest down.
std::vector<float> roughened(std::vector<float> samples, float by) {
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] += i % 2 == 0 ? by : -by;
  return samples;
}

TEST_F(Twice, LabelsAreJudgedByTheDistanceOfAChannel) {
  OwnQuery one = own, two = own;
  one.samples.resize(1);
  one.samples[0] = roughened(one.samples[0], 0.03f);
  two.samples = {roughened(two.samples[0], 0.02f), roughened(two.samples[1], 0.01f)};
  one.view(), two.view();
  one.query.label = "one", two.query.label = "two";
  const Signal signal(recording.begin(), recording.end());
  Index index(signal, {.run = {.devices = {Device::cpu}}});
  options.neighbours = 0;
  const std::vector<Query> queries = {one.query, two.query};
  const double of_one = find(index, one.query, options).matches[0].distance;
  const double of_two = find(index, two.query, options).matches[0].distance;
  ASSERT_LT(of_one, of_two);
  ASSERT_LT(of_two / 2, of_one);
  for (const Match& match : find_labels(index, queries, options).matches) EXPECT_EQ(match.label, "two");
}

TEST_F(Twice, LabelsMayOverlapByLessThanHalf) {
  OwnQuery early(recording, 900, kLength), late(recording, 924, kLength);
  early.query.label = "early", late.query.label = "late";
  const Signal signal(recording.begin(), recording.end());
  Index index(signal, {.run = {.devices = {Device::cpu}}});
  const std::vector<Query> queries = {early.query, late.query};
  EXPECT_THAT(find_labels(index, queries, options).matches, SizeIs(2));
  late = OwnQuery(recording, 915, kLength);
  const std::vector<Query> closer = {early.query, late.query};
  EXPECT_THAT(find_labels(index, closer, options).matches, SizeIs(1));
}

TEST_F(Twice, BadInputIsNamed) {
  const auto message = [&](const std::function<void(Query&, FindOptions&)>& change) -> std::string {
    Query query = own.query;
    FindOptions changed = options;
    change(query, changed);
    try {
      find_in(recording, query, changed);
    } catch (const BadInput& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::vector<float> longer(2001, 0), not_finite(kLength, std::numeric_limits<float>::infinity());
  const std::vector<float> constant(kLength, 1);
  EXPECT_THAT(message([&](Query& q, FindOptions&) { q.channels.assign(2, longer); }),
              HasSubstr("2001 samples, the recording 2000"));
  EXPECT_THAT(message([&](Query& q, FindOptions&) { q.channels[1] = not_finite; }),
              HasSubstr("sample 1 of channel 2 of the query is inf"));
  EXPECT_THAT(message([&](Query& q, FindOptions&) { q.channels.assign(2, constant); }),
              HasSubstr("all channels of the query are constant"));
  EXPECT_THAT(message([](Query& q, FindOptions&) { q.channels[1] = q.channels[1].subspan(1); }),
              HasSubstr("channel 2 of the query has 39 samples and the first 40"));
  EXPECT_THAT(message([](Query& q, FindOptions&) { q.channels.clear(); }), HasSubstr("no channels"));
  EXPECT_THAT(message([&](Query& q, FindOptions&) {
                q.names = {"heel", "toe"};
                q.channels[1] = not_finite;
              }),
              HasSubstr("sample 1 of channel 2 ('toe') of the query is inf"));
  EXPECT_THAT(message([](Query& q, FindOptions&) { q.places[1] = 2; }),
              HasSubstr("channel 2 of the query belongs to channel 3 of the recording, which has 1 to 2"));
  EXPECT_THAT(message([](Query& q, FindOptions&) { q.places.pop_back(); }),
              HasSubstr("2 channels but 1 places"));
  const std::pair<std::function<void(FindOptions&)>, const char*> cases[] = {
      {[](auto& o) { o.limit = 0; }, "limit is 0"},
      {[](auto& o) { o.candidates = 0; }, "candidates is 0"},
      {[](auto& o) { o.band = -0.1; }, "band is -0.1"},
      {[](auto& o) { o.exclusion = std::nan(""); }, "exclusion is nan"},
      {[](auto& o) { o.max_lag = -1; }, "max_lag is -1"},
      {[](auto& o) { o.neighbours = -1; }, "neighbours is -1"},
      {[](auto& o) { o.significance = 0; }, "significance is 0"},
      {[](auto& o) { o.max_distance = -1; }, "max_distance is -1"},
      {[](auto& o) { o.alternatives = 0; }, "alternatives is 0"},
      {[](auto& o) { o.min_channels = 3; }, "min_channels is 3: it must be from 0 to 2"},
      {[](auto& o) { o.scales = {}; }, "no scales"},
      {[](auto& o) {
         o.scales = {1, 0};
       },
       "scale 2 is 0"},
      {[](auto& o) { o.segments = 11; }, "segments is 11: it must be from 1 to 10"},
      {[](auto& o) {
         o.exhaust = {0.2, 0.1};
       },
       "exhausting band 2 is 0.1"},
      {[](auto& o) { o.exhaust = {0.05}; }, "wider than the one before it, 0.05"},
      {[](auto& o) { o.adjacency = {{0}}; }, "neighbours of 1 channels, but the recording has 2"},
      {[](auto& o) {
         o.adjacency = {{0}, {2}};
       },
       "channel 2 names channel 3, but the recording's are 1 to 2"},
      {[](auto& o) { o.weights = {1}; }, "needs 4"},
      {[](auto& o) {
         o.weights = {1, 1, -1, 1};
       },
       "weight 3 is -1"},
      {[](auto& o) { o.rotations = 3; }, "no sensor is named"},
      {[](auto& o) {
         o.sensors = {{0, 1, 2}};
       },
       "axis is channel 3, but the query's are 1 to 2"},
      {[](auto& o) {
         o.sensors = {{0, 1, 1}};
       },
       "channel 2 of the query is named twice"},
  };
  for (const auto& [change, text] : cases)
    EXPECT_THAT(message([&](Query&, FindOptions& o) { change(o); }), HasSubstr(text));
}

}  // namespace
}  // namespace warploom::search
