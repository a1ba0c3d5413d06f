#include "warploom/search/euclidean.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "child.hpp"
#include "warploom/core/run.hpp"

namespace warploom::search {
namespace {

using NamedChannels = std::vector<std::vector<float>>;

NamedChannels walks(std::size_t channels, std::size_t samples, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> step;
  NamedChannels walks(channels, std::vector<float>(samples));
  for (auto& walk : walks) {
    float at = 0;
    for (float& sample : walk) sample = at += step(random);
  }
  return walks;
}

Signal views(const NamedChannels& channels) { return {channels.begin(), channels.end()}; }

Query query_of(const NamedChannels& channels, std::int64_t first, std::int64_t length) {
  Query query;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    query.channels.push_back(
        std::span(channels[i]).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(length)));
    query.places.push_back(static_cast<std::int32_t>(i));
  }
  return query;
}

/// By definition, in double precision.
double distance(std::span<const float> query, std::span<const float> window, bool normalise) {
  const auto prepared = [&](std::span<const float> samples) {
    std::vector<double> values(samples.begin(), samples.end());
    if (!normalise) return values;
    double mean = 0, squares = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    for (const double value : values) squares += (value - mean) * (value - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(values.size()));
    for (double& value : values)
      value =
          deviation <= kConstantDeviation * std::abs(mean) || deviation == 0 ? 0 : (value - mean) / deviation;
    return values;
  };
  const auto q = prepared(query), w = prepared(window);
  double sum = 0;
  for (std::size_t i = 0; i < q.size(); ++i) sum += (q[i] - w[i]) * (q[i] - w[i]);
  return std::sqrt(sum / static_cast<double>(q.size()));
}

class Euclidean : public testing::TestWithParam<Normalization> {};
INSTANTIATE_TEST_SUITE_P(Both, Euclidean, testing::Values(Normalization::none, Normalization::z));

TEST_P(Euclidean, IsTheSumOverChannelsByDefinition) {
  const bool normalise = GetParam() == Normalization::z;
  // More than one block of windows, and no multiple of what lies side by side.
  const NamedChannels recording = walks(3, 4321, 1), pattern = walks(2, 33, 2);
  Query query = query_of(pattern, 0, 33);
  query.places = {2, 0};
  const std::vector<float> profile = euclidean_profile(views(recording), query, GetParam());
  ASSERT_EQ(profile.size(), 4321u - 33 + 1);
  for (std::size_t t = 0; t < profile.size(); ++t) {
    double want = 0;
    for (std::size_t i = 0; i < 2; ++i)
      want +=
          distance(pattern[i], std::span(recording[static_cast<std::size_t>(query.places[i])]).subspan(t, 33),
                   normalise);
    ASSERT_NEAR(profile[t], want, 1e-4 * want) << t;
  }
}

TEST_P(Euclidean, IsExactWhereTheMeanIsAMillionDeviations) {
  NamedChannels recording = walks(1, 500, 7);
  for (std::size_t i = 500; i-- > 1;) recording[0][i] = 1e6F + 2 * (recording[0][i] - recording[0][i - 1]);
  recording[0][0] = 1e6F;
  const Query query = query_of(recording, 200, 33);
  const std::vector<float> profile = euclidean_profile(views(recording), query, GetParam());
  for (std::size_t t = 0; t < profile.size(); ++t) {
    const double want =
        distance(query.channels[0], std::span(recording[0]).subspan(t, 33), GetParam() == Normalization::z);
    ASSERT_NEAR(profile[t], want, 1e-4 * want + 1e-6) << t;
  }
}

TEST_P(Euclidean, WindowsThatTouchAMissingSampleHaveNoDistance) {
  NamedChannels recording = walks(2, 300, 3);
  const NamedChannels pattern = walks(2, 20, 4);
  recording[1][100] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> profile =
      euclidean_profile(views(recording), query_of(pattern, 0, 20), GetParam());
  for (std::size_t t = 0; t < profile.size(); ++t) EXPECT_EQ(std::isinf(profile[t]), t > 80 && t <= 100) << t;
}

TEST_P(Euclidean, DoesNotDependOnThreads) {
  const NamedChannels recording = walks(2, 20000, 5);
  const Query query = query_of(recording, 777, 50);
  const RunScope one_thread({.threads = 1});
  const std::vector<float> one = euclidean_profile(views(recording), query, GetParam());
  const RunScope three_threads({.threads = 3});
  EXPECT_EQ(euclidean_profile(views(recording), query, GetParam()), one);
}

TEST_P(Euclidean, FindsTheQueryItselfFirstAndKeepsResultsApart) {
  const NamedChannels recording = walks(3, 3000, 6);
  const Query query = query_of(recording, 1234, 100);
  const std::vector<Match> matches = find_euclidean(views(recording), query, GetParam(), 10, 50);
  ASSERT_EQ(matches.size(), 10u);
  EXPECT_EQ(matches[0].first, 1234);
  EXPECT_EQ(matches[0].last, 1334);
  EXPECT_NEAR(matches[0].distance, 0, 1e-5);
  EXPECT_EQ(matches[0].matched, 3);
  EXPECT_EQ(matches[0].coverage, 1);
  // Greedy choice by definition over the whole profile.
  const std::vector<float> profile = euclidean_profile(views(recording), query, GetParam());
  std::vector<std::size_t> order(profile.size()), chosen;
  for (std::size_t t = 0; t < order.size(); ++t) order[t] = t;
  std::ranges::stable_sort(order, {}, [&](std::size_t t) { return profile[t]; });
  for (const std::size_t t : order)
    if (std::ranges::all_of(chosen,
                            [t](std::size_t other) { return (t > other ? t - other : other - t) > 50; }))
      chosen.push_back(t);
  for (std::size_t k = 0; k < matches.size(); ++k) {
    EXPECT_EQ(matches[k].first, static_cast<std::int64_t>(chosen[k])) << k;
    double sum = 0;
    for (const Pair& pair : matches[k].pairs) {
      EXPECT_EQ(pair.channel, pair.query_channel);
      EXPECT_EQ(pair.offset, matches[k].first);
      EXPECT_EQ(pair.length, 100);
      EXPECT_FALSE(pair.switched);
      sum += pair.distance;
    }
    EXPECT_DOUBLE_EQ(matches[k].distance, sum);
    EXPECT_NEAR(sum, profile[chosen[k]], 1e-4 * sum + 1e-5);
  }
}

TEST(EuclideanZ, ConstantWindowsAreAtDistanceOne) {
  NamedChannels recording = walks(1, 200, 7);
  std::fill_n(recording[0].begin() + 50, 60, 1000.0f);
  const NamedChannels pattern = walks(1, 20, 8);
  const std::vector<float> profile =
      euclidean_profile(views(recording), query_of(pattern, 0, 20), Normalization::z);
  EXPECT_NEAR(profile[60], 1, 1e-6);
}

TEST(EuclideanErrors, SayWhatIsWrong) {
  const NamedChannels recording = walks(2, 100, 9);
  const auto message = [&](const Query& query) {
    return message_of([&] { euclidean_profile(views(recording), query, Normalization::z); });
  };
  EXPECT_EQ(message(query_of(walks(2, 101, 1), 0, 101)),
            "the query has 101 samples, the recording 100: give a shorter query");
  EXPECT_EQ(message({}), "the query is empty");
  Query query = query_of(recording, 0, 10);
  query.places[1] = 2;
  EXPECT_EQ(message(query), "a query channel belongs to channel 2 (from 0), and the recording has 2");
  query.places.pop_back();
  EXPECT_EQ(message(query), "the query has 2 channels and places for 1");
  EXPECT_EQ(message_of([&] {
              find_euclidean(views(recording), query_of(recording, 0, 10), Normalization::z, 0, 5);
            }),
            "0 results wanted; at least 1");
}

}  // namespace
}  // namespace warploom::search
