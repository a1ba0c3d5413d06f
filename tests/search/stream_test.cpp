#include "warploom/search/stream.hpp"

#include <gmock/gmock.h>
#include <malloc.h>

#include <cmath>

#include "../oracle/random.hpp"
#include "../oracle/search_brute_force.hpp"
#include "../oracle/search_matchings.hpp"
#include "signals.hpp"
#include "warploom/core/error.hpp"

namespace warploom::search {
namespace {

/// A recording of three channels, in which a query of three lies here and there: late, switched, negated,
/// slower, without a channel; with samples that are missing.
struct Planted {
  std::vector<std::vector<float>> recording, query_samples;
  Query query;
  FindOptions options;

  Planted(std::uint32_t seed, std::int64_t samples, std::int64_t length) {
    Random random(seed);
    const auto noise = [&] { return static_cast<float>(random.below(2001)) / 1000 - 1; };
    for (std::uint32_t c = 0; c < 3; ++c) {
      query_samples.push_back(random_walk(static_cast<std::size_t>(length), 100 * seed + c));
      recording.push_back(random_walk(static_cast<std::size_t>(samples), 100 * seed + 10 + c));
      for (float& sample : recording.back()) sample *= 0.2f;
    }
    for (std::int64_t at = random.below(20); at + 3 * length < samples;
         at += length + random.below(static_cast<std::uint32_t>(2 * length))) {
      const bool switched = random.chance(30);
      for (std::int32_t c = 0; c < 3; ++c) {
        if (random.chance(15)) continue;
        const std::int32_t to = switched && c < 2 ? 1 - c : c;
        const float sign = random.chance(20) ? -3.f : 3.f;
        const std::int64_t late =
            random.chance(50) ? random.below(static_cast<std::uint32_t>(length / 2)) : 0;
        const std::int64_t span = random.chance(30) ? length * 5 / 4 : length;
        for (std::int64_t k = 0; k < span; ++k)
          recording[to][at + late + k] +=
              sign * query_samples[c][k * (length - 1) / (span - 1)] + 0.3f * noise();
      }
    }
    for (int gap = 0; gap < 4; ++gap) {
      const std::uint32_t c = random.below(3), begin = random.below(static_cast<std::uint32_t>(samples - 10));
      for (std::uint32_t k = 0; k < 10; ++k) recording[c][begin + k] = NAN;
    }
    query.label = "walk";
    query.channels = {query_samples.begin(), query_samples.end()};
    query.places = {0, 1, 2};
    options.neighbours = 1;
    options.band = 0.1;
    options.scales = {1, 1.25};
    options.switched_weight = 1.5;
    options.max_distance = 0.45;
  }
  Planted(const Planted&) = delete;
  Planted& operator=(const Planted&) = delete;

  std::int64_t samples() const { return std::ssize(recording[0]); }
  Signal part(std::int64_t first, std::int64_t count) const {
    Signal signal;
    for (const std::vector<float>& channel : recording)
      signal.push_back(std::span(channel).subspan(first, count));
    return signal;
  }
};

/// What comes out if the samples are pushed `count` at a time.
std::vector<Match> streamed(const Planted& planted, std::int64_t count) {
  Stream stream(3, planted.query, planted.options);
  std::vector<Match> all;
  for (std::int64_t at = 0; at < planted.samples(); at += count)
    for (const Match& match : stream.push(planted.part(at, std::min(count, planted.samples() - at))))
      all.push_back(match);
  for (const Match& match : stream.finish()) all.push_back(match);
  return all;
}

/// What stream.hpp says, looking at the whole recording for each place.
std::vector<Match> defined(const Planted& planted) {
  const Query& query = planted.query;
  const FindOptions& options = planted.options;
  const std::int64_t m = query.length(), samples = planted.samples();
  const auto share = [m](double part) { return static_cast<std::int64_t>(part * static_cast<double>(m)); };
  const std::int64_t zone = share(options.exclusion);

  std::vector<Piece> pieces;
  for (std::int32_t q = 0; q < 3; ++q)
    for (std::int32_t c = 0; c < 3; ++c) {
      if (std::abs(q - c) > options.neighbours) continue;
      std::vector<Pair> nearest;
      for (std::int64_t t = 0; t < samples; ++t)
        nearest.push_back({q, c, t, t, m, INFINITY, q == c ? 1 : options.switched_weight});
      for (const double scale : options.scales)
        for (const bool negated : {false, true}) {
          const std::int64_t length = std::llround(scale * static_cast<double>(m));
          Pattern pattern;
          for (std::int64_t k = 0; k < length; ++k) {
            const double at = static_cast<double>(k * (m - 1)) / static_cast<double>(length - 1);
            const auto left = std::min<std::int64_t>(static_cast<std::int64_t>(at), m - 2);
            const double right = at - static_cast<double>(left);
            const double value = (1 - right) * query.channels[q][left] + right * query.channels[q][left + 1];
            pattern.samples.push_back(static_cast<float>(negated ? -value : value));
          }
          pattern.radius = static_cast<std::int64_t>(options.band * static_cast<double>(length));
          const std::vector<double> distances = oracle::profile(pattern, planted.recording[c], true);
          for (std::size_t t = 0; t < distances.size(); ++t)
            if (distances[t] < nearest[t].distance) {
              nearest[t].distance = distances[t];
              nearest[t].scale = scale;
              nearest[t].length = length;
              nearest[t].negated = negated;
            }
        }
      for (Pair& pair : nearest) {
        bool least = pair.distance <= *options.max_distance;
        for (std::int64_t t = std::max<std::int64_t>(0, pair.offset - zone);
             t <= std::min(samples - 1, pair.offset + zone); ++t)
          least &=
              t < pair.offset ? nearest[t].distance > pair.distance : nearest[t].distance >= pair.distance;
        pair.coverage = m;
        pair.switched = q != c;
        if (least) pieces.push_back({pair});
      }
    }

  AssembleOptions every;
  every.max_lag = share(options.max_lag);
  every.min_channels = 2;
  every.limit = std::ssize(pieces) + 1;
  std::vector<Match> all = oracle::assemble(pieces, query, every), out;
  for (const Match& match : all)
    if (std::ranges::none_of(all, [&](const Match& other) {
          return other.first != match.first && std::abs(other.first - match.first) <= zone &&
                 ranked_before(other, match);
        }))
      out.push_back(match);
  std::ranges::sort(out, {}, &Match::first);
  return out;
}

/// @param tolerance  of distances, relative
void expect_same(const std::vector<Match>& matches, const std::vector<Match>& wanted, double tolerance) {
  ASSERT_EQ(matches.size(), wanted.size());
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const Match &match = matches[k], &want = wanted[k];
    SCOPED_TRACE("match " + std::to_string(k) + " at " + std::to_string(want.first));
    EXPECT_EQ(match.first, want.first);
    EXPECT_EQ(match.last, want.last);
    EXPECT_EQ(match.matched, want.matched);
    EXPECT_EQ(match.label, want.label);
    EXPECT_DOUBLE_EQ(match.coverage, want.coverage);
    EXPECT_NEAR(match.distance, want.distance, tolerance * want.distance);
    ASSERT_EQ(match.pairs.size(), want.pairs.size());
    for (std::size_t p = 0; p < want.pairs.size(); ++p) {
      EXPECT_EQ(match.pairs[p].query_channel, want.pairs[p].query_channel);
      EXPECT_EQ(match.pairs[p].channel, want.pairs[p].channel);
      EXPECT_EQ(match.pairs[p].offset, want.pairs[p].offset);
      EXPECT_EQ(match.pairs[p].length, want.pairs[p].length);
      EXPECT_EQ(match.pairs[p].negated, want.pairs[p].negated);
      EXPECT_NEAR(match.pairs[p].distance, want.pairs[p].distance, tolerance * want.pairs[p].distance);
    }
  }
}

class StreamOfPlantedQueries : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, StreamOfPlantedQueries, testing::Range(1u, 5u));

TEST_P(StreamOfPlantedQueries, FindsWhatIsDefined) {
  const Planted planted(GetParam(), 1500, 40);
  const std::vector<Match> wanted = defined(planted);
  ASSERT_GE(wanted.size(), 5u);
  expect_same(streamed(planted, 100), wanted, 1e-4);
}

TEST_P(StreamOfPlantedQueries, DoesNotDependOnTheCuts) {
  const Planted planted(GetParam(), 3000, 40);
  const std::vector<Match> wanted = streamed(planted, planted.samples());
  expect_same(streamed(planted, 1), wanted, 0);
  Stream stream(3, planted.query, planted.options);
  Random random(GetParam());
  std::vector<Match> matches;
  for (std::int64_t at = 0; at < planted.samples();) {
    const std::int64_t count =
        std::min<std::int64_t>(random.below(random.chance(50) ? 4 : 700), planted.samples() - at);
    for (const Match& match : stream.push(planted.part(at, count))) matches.push_back(match);
    at += count;
  }
  for (const Match& match : stream.finish()) matches.push_back(match);
  expect_same(matches, wanted, 0);
}

TEST_P(StreamOfPlantedQueries, PartsDoNotDependOnTheCutsEither) {
  Planted planted(GetParam(), 2000, 40);
  planted.options.segments = 3;
  planted.options.alternatives = 2;
  const std::vector<Match> wanted = streamed(planted, planted.samples());
  ASSERT_TRUE(std::ranges::any_of(wanted, [](const Match& match) { return match.pairs[0].segment >= 0; }));
  expect_same(streamed(planted, 7), wanted, 0);
}

TEST_P(StreamOfPlantedQueries, ReportsEachMatchWithinTheDelay) {
  const Planted planted(GetParam(), 3000, 40);
  Stream stream(3, planted.query, planted.options);
  std::int64_t reported = 0;
  for (std::int64_t at = 0; at < planted.samples(); ++at)
    for (const Match& match : stream.push(planted.part(at, 1))) {
      EXPECT_LE(at + 1, match.first + stream.delay());
      ++reported;
    }
  EXPECT_GT(reported, 10);
  for (const Match& match : stream.finish()) EXPECT_GT(match.first + stream.delay(), planted.samples());
}

TEST(Stream, DelaysByThreeQueriesWithTheDefaults) {
  Planted planted(1, 1000, 200);
  planted.options.scales = {1};
  EXPECT_EQ(Stream(3, planted.query, planted.options).delay(), 3 * 200 - 1);
}

TEST(Stream, ReportsMatchesByTheirBeginAndFartherApartThanTheZone) {
  const std::vector<Match> matches = streamed(Planted(1, 6000, 40), 50);
  for (std::size_t k = 1; k < matches.size(); ++k) EXPECT_GT(matches[k].first, matches[k - 1].first + 20);
}

TEST(Stream, FindsAQueryThatEndsWithTheLastSample) {
  const Planted planted(1, 1000, 40);
  Stream stream(3, planted.query, planted.options);
  EXPECT_TRUE(stream.push(planted.query.channels).empty());
  const std::vector<Match> matches = stream.finish();
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_EQ(matches[0].first, 0);
  EXPECT_EQ(matches[0].matched, 3);
}

TEST(Stream, FindsNothingWhereSamplesAreMissing) {
  Planted planted(1, 1000, 40);
  for (std::vector<float>& channel : planted.query_samples) channel.reserve(40);
  std::vector<std::vector<float>> gaps = planted.query_samples;
  for (std::vector<float>& channel : gaps) channel[17] = NAN;
  Stream stream(3, planted.query, planted.options);
  stream.push({gaps.begin(), gaps.end()});
  EXPECT_TRUE(stream.finish().empty());
}

TEST(Stream, TakesTheFirstOfEqualDistances) {
  Planted planted(1, 1000, 40);
  // Everywhere at distance 1 from a channel that is constant: a candidate at offset 0 and no other.
  planted.recording[0].assign(1000, 5);
  for (const std::int64_t at : {7, 300})
    std::ranges::copy(planted.query_samples[1], planted.recording[1].begin() + at);
  planted.query.channels.resize(2);
  planted.query.places.resize(2);
  planted.options.max_distance = 1.001;
  planted.options.neighbours = 0;
  planted.options.min_channels = 2;
  const std::vector<Match> matches = streamed(planted, 100);
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_EQ(matches[0].pairs[0].offset, 0);
  EXPECT_EQ(matches[0].pairs[1].offset, 7);
}

TEST(Stream, TheZoneHoldsBothItsEnds) {
  const std::vector<float> walk = random_walk(40, 3);
  std::vector<float> constant(200, 5);
  constant[50] = NAN;  // no distances at offsets 11 to 50
  for (const auto& [exclusion, wanted] : {std::pair{40, std::vector<std::int64_t>{0, 51}}, {41, {0}}}) {
    FindOptions options;
    options.max_distance = 1.001;
    options.exclusion = (exclusion + 0.5) / 40;
    Stream stream(1, {"", {walk}, {0}}, options);
    std::vector<std::int64_t> begins;
    for (const Match& match : stream.push({constant})) begins.push_back(match.first);
    for (const Match& match : stream.finish()) begins.push_back(match.first);
    EXPECT_EQ(begins, wanted) << "exclusion " << exclusion;
  }
}

TEST(Stream, FindsThePartOfAQueryThatBeganBeforeTheFirstSample) {
  const Planted planted(1, 1000, 40);
  FindOptions options = planted.options;
  options.scales = {1};
  options.segments = 2;
  options.max_distance = 0.05;
  Signal second_half;
  for (const std::span<const float>& channel : planted.query.channels)
    second_half.push_back(channel.subspan(20));
  Stream stream(3, planted.query, options);
  stream.push(second_half);
  const std::vector<Match> matches = stream.finish();
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_EQ(matches[0].first, -20);
  ASSERT_EQ(matches[0].pairs.size(), 3u);
  for (const Pair& pair : matches[0].pairs) {
    EXPECT_EQ(pair.begin, 0);
    EXPECT_EQ(pair.segment, 1);
    EXPECT_LT(pair.distance, 1e-3);
  }
}

TEST(Stream, FindsNothingInFewerSamplesThanTheQueryHas) {
  const Planted planted(1, 1000, 40);
  Stream stream(3, planted.query, planted.options);
  stream.push(planted.part(0, 20));
  EXPECT_TRUE(stream.finish().empty());
}

/// Of the whole program; a sanitizer may say 0. [bytes]
std::size_t allocated() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(Stream, HoldsNoMoreMemoryAfterAMillionSamples) {
  const std::vector<float> samples = random_walk(10'000, 3);
  Query query{"peak", {std::span(samples).subspan(500, 16)}, {0}};
  FindOptions options;
  options.max_distance = 0.5;
  options.negated = false;
  Stream stream(1, query, options);
  std::int64_t matches = 0;
  const auto push = [&](int times) {
    for (int k = 0; k < times; ++k) matches += std::ssize(stream.push({samples}));
  };
  push(5);
  const std::size_t before = allocated();
  push(100);
  EXPECT_GT(matches, 10'000);
  EXPECT_LT(allocated(), before + 100'000) << "a million samples take 4,000,000";
}

TEST(Stream, RefusesSamplesAfterItsEnd) {
  const Planted planted(1, 1000, 40);
  Stream stream(3, planted.query, planted.options);
  stream.finish();
  EXPECT_THROW(stream.push(planted.part(0, 20)), BadInput);
  EXPECT_THROW(stream.finish(), BadInput);
}

TEST(Stream, RefusesChannelsThatDoNotFit) {
  const Planted planted(1, 1000, 40);
  Stream stream(3, planted.query, planted.options);
  EXPECT_THROW(stream.push({planted.recording[0], planted.recording[1]}), BadInput);
  EXPECT_THROW(stream.push({planted.recording[0], planted.recording[1], planted.query_samples[0]}), BadInput);
  EXPECT_THROW(Stream(2, planted.query, planted.options), BadInput)
      << "the query's third channel is not there";
}

TEST(Stream, RefusesOptionsThatNeedTheWholeRecording) {
  Planted planted(1, 1000, 40);
  planted.options.exhaust = {0.2};
  EXPECT_THROW(Stream(3, planted.query, planted.options), BadInput);
  planted.options.exhaust = {};
  planted.options.max_distance.reset();
  EXPECT_THROW(Stream(3, planted.query, planted.options), BadInput);
}

}  // namespace
}  // namespace warploom::search
