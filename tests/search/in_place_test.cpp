#include "warploom/search/in_place.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "search/index_checks.hpp"
#include "search/signals.hpp"
#include "warploom/core/error.hpp"
#include "warploom/search/find.hpp"

namespace warploom::search {
namespace {

struct Planted {
  std::vector<std::vector<float>> recorded, pattern;
  Query query;
};

/// Walks in which a pattern stands at 300, at 900 slower by a quarter, and at 1500 in exchanged channels.
Planted planted() {
  Planted all;
  for (std::uint32_t c = 0; c < 3; ++c) {
    all.recorded.push_back(random_walk(2000, 31 + c));
    all.pattern.push_back(random_walk(80, 61 + c));
  }
  for (std::size_t c = 0; c < 3; ++c) {
    const auto put = [&](const std::vector<float>& what, std::size_t channel, std::ptrdiff_t at) {
      std::copy(what.begin(), what.end(), all.recorded[channel].begin() + at);
    };
    put(all.pattern[c], c, 300);
    put(stretch(all.pattern[c], 100), c, 900);
    put(all.pattern[c], (c + 1) % 3, 1500);
  }
  return all;
}
Query query_of(const Planted& all) {
  return {.label = "walk", .channels = {all.pattern.begin(), all.pattern.end()}, .places = {0, 1, 2}};
}

TEST(FindInPlace, FindsThePatternAndItsScalesAndNotExchangedChannels) {
  const Planted all = planted();
  Index index({all.recorded.begin(), all.recorded.end()}, on_cpu());
  for (const Warping warping : {Warping::together, Warping::each}) {
    auto matches = find_in_place(index, query_of(all),
                                 {.limit = 5, .scales = {1, 1.25}, .warping = warping, .max_distance = .2});
    ASSERT_EQ(matches.size(), 2U);
    // Both are at 0, but for rounding.
    if (matches[0].first > matches[1].first) std::swap(matches[0], matches[1]);
    EXPECT_EQ(matches[0].first, 300);
    EXPECT_EQ(matches[0].last, 380);
    EXPECT_NEAR(matches[0].distance, 0, 1e-5);
    EXPECT_EQ(matches[0].coverage, 1);
    EXPECT_EQ(matches[0].label, "walk");
    EXPECT_EQ(matches[1].first, 900);
    EXPECT_EQ(matches[1].last, 1000);
    EXPECT_DOUBLE_EQ(matches[1].pairs[2].scale, 1.25);
  }
}

TEST(FindInPlace, SharesTheDistanceOutAmongChannels) {
  const Planted all = planted();
  const Signal signal(all.recorded.begin(), all.recorded.end());
  Index index(signal, on_cpu());
  const Query query = query_of(all);
  for (const Warping warping : {Warping::together, Warping::each})
    for (const Match& match : find_in_place(index, query, {.limit = 6, .warping = warping})) {
      double squares = 0;
      Signal window;
      for (const Pair& pair : match.pairs) {
        squares += pair.distance * pair.distance;
        window.push_back(signal[static_cast<std::size_t>(pair.channel)].subspan(
            static_cast<std::size_t>(pair.offset), 80));
        if (warping == Warping::each) {
          EXPECT_DOUBLE_EQ(pair.distance,
                           dtw_distance(query.channels[static_cast<std::size_t>(pair.query_channel)],
                                        window.back(), 4, Normalization::z));
        }
      }
      const double expected = joint_distance(query.channels, window, 4, Normalization::z, warping);
      EXPECT_NEAR(std::sqrt(squares / 3), expected, 1e-12);
      EXPECT_NEAR(match.distance, expected, 1e-4 * expected + 1e-6);
    }
}

TEST(FindInPlace, LeavesConstantChannelsOut) {
  Planted all = planted();
  std::fill(all.pattern[1].begin(), all.pattern[1].end(), 7.F);
  Index index({all.recorded.begin(), all.recorded.end()}, on_cpu());
  const auto matches = find_in_place(index, query_of(all), {.limit = 1});
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(matches[0].first, 300);
  EXPECT_EQ(matches[0].matched, 2);
  EXPECT_EQ(matches[0].channels, 3);
  ASSERT_EQ(matches[0].pairs.size(), 2U);
  EXPECT_EQ(matches[0].pairs[1].query_channel, 2);
  for (auto& channel : all.pattern) std::fill(channel.begin(), channel.end(), 7.F);
  EXPECT_THROW(find_in_place(index, query_of(all)), BadInput);
}

TEST(FindInPlace, RefusesWhatItCannotSearch) {
  const Planted all = planted();
  Index index({all.recorded.begin(), all.recorded.end()}, on_cpu());
  const Query query = query_of(all);
  for (const InPlaceOptions& options :
       {InPlaceOptions{.limit = 0}, InPlaceOptions{.band = -1}, InPlaceOptions{.exclusion = kNaN},
        InPlaceOptions{.scales = {}}, InPlaceOptions{.scales = {0}},
        InPlaceOptions{.warping = static_cast<Warping>(5)}, InPlaceOptions{.max_distance = -1.}})
    EXPECT_THROW(find_in_place(index, query, options), BadInput);
  Query wrong = query;
  wrong.places = {0, 1, 3};
  EXPECT_THROW(find_in_place(index, wrong), BadInput);
  Index small({query.channels[0].first(79), query.channels[1].first(79), query.channels[2].first(79)},
              on_cpu());
  EXPECT_THROW(find_in_place(small, query), BadInput);
}

}  // namespace
}  // namespace warploom::search
