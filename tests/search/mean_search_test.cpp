#include "search/mean_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "search/cpu_dtw_batch.hpp"
#include "search/sizes.hpp"
#include "signals.hpp"
#include "warploom/core/run.hpp"

namespace warploom::search {
namespace {

constexpr float kMissingSample = std::numeric_limits<float>::quiet_NaN();

struct Asked {
  std::vector<std::vector<float>> recorded;
  std::vector<std::vector<std::vector<float>>> queries;  // [patterns][channels]
  std::int64_t radius = 3, limit = 10, exclusion = 20;

  std::vector<MeanPattern> patterns() const {
    std::vector<MeanPattern> all;
    for (const auto& query : queries) {
      MeanPattern& pattern = all.emplace_back();
      pattern.radius = radius;
      for (std::size_t c = 0; c < query.size(); ++c)
        pattern.channels.push_back({query[c], recorded[c], spread_of(recorded[c])});
    }
    return all;
  }
};

std::vector<Candidate> found_by(const Asked& asked) {
  const std::vector<MeanPattern> patterns = asked.patterns();
  return nearest_by_mean(patterns, asked.limit, asked.exclusion);
}

/// All windows, compared, in the order in which they are chosen.
std::vector<Candidate> every_window(const Asked& asked) {
  std::vector<Candidate> all;
  Index index({asked.recorded.begin(), asked.recorded.end()});
  for (std::size_t p = 0; p < asked.queries.size(); ++p) {
    const std::vector<std::vector<float>>& query = asked.queries[p];
    const std::int64_t length = std::ssize(query[0]), windows = index.samples() - length + 1;
    if (windows <= 0) continue;
    GeometricMean mean;
    for (std::size_t c = 0; c < query.size(); ++c) {
      const WindowMoments moments = window_moments(asked.recorded[c], length, 0, windows);
      const Sizes sizes(query[c], spread_of(asked.recorded[c]));
      mean.add(
          index.profile(Pattern{query[c], asked.radius}, static_cast<std::int32_t>(c), 0, windows),
          [&](std::size_t w) { return sizes.factor(moments.mean[w], moments.rest[w], moments.scale[w]); });
    }
    const std::vector<float> distances = std::move(mean).values();
    for (std::int64_t w = 0; w < windows; ++w)
      if (distances[w] <= std::numeric_limits<float>::max())
        all.push_back({w, distances[w], static_cast<std::int32_t>(p)});
  }
  std::ranges::sort(all, chosen_before);
  return all;
}

std::vector<Candidate> all_compared(const Asked& asked) {
  return choose(every_window(asked), asked.limit, std::min(asked.exclusion, kLargestZone));
}

std::string text_of(const std::vector<Candidate>& all) {
  std::string text;
  for (const Candidate& one : all)
    text += std::to_string(one.offset) + ' ' + std::to_string(one.pattern) + ' ' +
            std::to_string(one.distance) + '\n';
  return text;
}

/// @param samples  of the recording; @param lengths  of the queries, which are parts of it with noise
Asked walks(std::size_t channels, std::size_t samples, const std::vector<std::size_t>& lengths) {
  Asked asked;
  for (std::size_t c = 0; c < channels; ++c)
    asked.recorded.push_back(random_walk(samples, 7 + static_cast<std::uint32_t>(c)));
  for (const std::size_t length : lengths) {
    std::vector<std::vector<float>>& query = asked.queries.emplace_back();
    for (const std::vector<float>& channel : asked.recorded)
      query.push_back(like(channel, samples / 3, length, 0.5F));
  }
  return asked;
}

void expect_the_same(const Asked& asked) {
  const std::vector<Candidate> expected = all_compared(asked), found = found_by(asked);
  EXPECT_EQ(found, expected) << "found\n" << text_of(found) << "expected\n" << text_of(expected);
  EXPECT_FALSE(expected.empty());
}

TEST(NearestByMean, FindsWhatIsFoundAmongAllWindows) {
  expect_the_same(walks(1, 3000, {64}));
  expect_the_same(walks(3, 3000, {64}));
  expect_the_same(walks(9, 4000, {50}));
}

TEST(NearestByMean, OfAnyLengthAndBand) {
  for (const std::size_t length : {2, 3, 15, 17, 33}) {
    Asked asked = walks(2, 400, {length});
    for (const std::int64_t radius : {0, 1, 40}) {
      asked.radius = radius;
      expect_the_same(asked);
    }
  }
}

TEST(NearestByMean, PatternsOfSeveralLengthsCompete) {
  expect_the_same(walks(3, 2000, {40, 50, 64}));
  Asked asked = walks(2, 300, {40, 50, 64});
  for (std::vector<float>& channel : asked.recorded) channel.resize(50);  // shorter than one of them
  expect_the_same(asked);
}

TEST(NearestByMean, AsManyAsThereAreAndAsFarApart) {
  Asked asked = walks(2, 500, {32});
  asked.limit = 1000;
  expect_the_same(asked);
  asked.exclusion = 0;
  expect_the_same(asked);
  asked.exclusion = std::numeric_limits<std::int64_t>::max();
  expect_the_same(asked);
  EXPECT_EQ(found_by(asked).size(), 1U);
}

TEST(NearestByMean, PassesOverMissingSamplesConstantStretchesAndSpikes) {
  Asked asked = walks(3, 2500, {48});
  asked.recorded[0][700] = kMissingSample;
  asked.recorded[1][2499] = std::numeric_limits<float>::infinity();
  std::fill_n(asked.recorded[1].begin() + 1200, 300, 4.F);
  std::fill_n(asked.recorded[2].begin() + 1250, 100, 4.F);
  asked.recorded[2][2000] = 1e9F;
  asked.limit = 60;
  expect_the_same(asked);
}

TEST(NearestByMean, OfLargeLevelsAndOtherSizes) {
  Asked asked = walks(2, 2000, {48});
  for (float& x : asked.recorded[0]) x += 1e5F;
  for (float& x : asked.queries[0][0]) x += 1e5F + 30;
  for (float& x : asked.queries[0][1]) x *= 50;
  asked.limit = 40;
  expect_the_same(asked);
  asked.queries[0][1] = part(asked.recorded[1], 100, 48);  // the query itself
  asked.queries[0][0] = part(asked.recorded[0], 100, 48);
  expect_the_same(asked);
}

TEST(NearestByMean, TakesMomentsThatAreKeptAndThatBeginElsewhere) {
  const Asked asked = walks(2, 1500, {64});
  std::vector<MeanPattern> patterns = asked.patterns();
  std::vector<WindowMoments> kept;
  for (const std::vector<float>& channel : asked.recorded) {
    kept.push_back(window_moments(channel, 64, 0, 1500 - 63));
    pad(kept.back());
  }
  for (std::size_t c = 0; c < 2; ++c) patterns[0].channels[c].moments = &kept[c];
  EXPECT_EQ(nearest_by_mean(patterns, asked.limit, asked.exclusion), all_compared(asked));
  const std::vector<Candidate> all = nearest_by_mean(patterns, 1000, 0);
  // Of all windows but the first 100.
  for (std::size_t c = 0; c < 2; ++c) {
    patterns[0].channels[c].recorded = patterns[0].channels[c].recorded.subspan(100);
    patterns[0].channels[c].first = 100;
  }
  std::vector<Candidate> later;
  for (const Candidate& one : all)
    if (one.offset >= 100) later.push_back({one.offset - 100, one.distance, one.pattern});
  EXPECT_EQ(nearest_by_mean(patterns, std::ssize(later), 0), later);
}

/// @param windows  of which there are more
void expect_the_same_zones(const Asked& asked, std::int64_t step, std::int64_t windows, std::int64_t zone) {
  std::vector<Candidate> expected(((windows - 1) * step) / zone + 1,
                                  {0, std::numeric_limits<float>::infinity(), 0});
  for (const Candidate& one : every_window(asked)) {
    if (one.offset % step != 0 || one.offset / step >= windows) continue;
    Candidate& least = expected[one.offset / zone];
    if (one.distance < least.distance) least = one;
  }
  const std::vector<Candidate> found = least_by_mean(asked.patterns(), step, windows, zone);
  EXPECT_EQ(found, expected) << "found\n" << text_of(found) << "expected\n" << text_of(expected);
}

TEST(LeastByMean, IsTheNearestOfEachZone) {
  for (const std::int64_t step : {1, 2, 5}) {
    expect_the_same_zones(walks(3, 1200, {64}), step, 1000 / step, 33);
    expect_the_same_zones(walks(4, 1200, {50, 64}), step, 1100 / step, 40);
    expect_the_same_zones(walks(2, 300, {33}), step, 100 / step, 1);
  }
}

TEST(LeastByMean, WhereAllWindowsMissSamplesThereIsNone) {
  Asked asked = walks(2, 1200, {40});
  for (std::size_t k = 200; k < 500; k += 30) asked.recorded[1][k] = kMissingSample;
  expect_the_same_zones(asked, 3, 380, 21);
  EXPECT_EQ(least_by_mean(asked.patterns(), 3, 380, 21)[12].distance, std::numeric_limits<float>::infinity());
}

TEST(NearestByMean, DoesNotDependOnThreads) {
  const Asked asked = walks(4, 3000, {64, 80});
  const std::vector<Candidate> expected = all_compared(asked);
  for (const unsigned threads : {1U, 2U, 5U}) {
    warploom::Run run;
    run.threads = threads;
    const RunScope scope(run);
    EXPECT_EQ(found_by(asked), expected) << threads;
  }
}

}  // namespace
}  // namespace warploom::search
