// A sketch finds the places that are most like a query, and nothing where samples are missing.

#include "search/sketch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "search/signals.hpp"
#include "warploom/search/index.hpp"

namespace warploom::search {
namespace {

constexpr std::int64_t kSamples = 30'000, kLength = 96;

/// Walks far from 0, into which each channel's samples [5000, 5096), times 2, are copied at `places`. These
/// are where the sketch has windows: walks leap there.
std::vector<std::vector<float>> planted(const std::vector<std::int64_t>& places) {
  std::vector<std::vector<float>> channels;
  for (std::uint32_t c = 0; c < 3; ++c) {
    auto& samples = channels.emplace_back(random_walk(kSamples, c));
    for (const std::int64_t at : places)
      for (std::int64_t t = 0; t < kLength; ++t) samples[at + t] = 2 * samples[5000 + t];
    for (float& x : samples) x += 1000;
  }
  return channels;
}

std::vector<std::int64_t> sketched(const std::vector<std::vector<float>>& channels, std::int64_t first,
                                   std::int64_t last, std::int64_t count) {
  JointPattern pattern{.radius = 5, .warping = Warping::together};
  for (std::size_t c = 0; c < channels.size(); ++c) {
    pattern.samples.emplace_back(channels[c].begin() + 5000, channels[c].begin() + 5000 + kLength);
    pattern.channels.push_back(static_cast<std::int32_t>(c));
  }
  const Signal signal(channels.begin(), channels.end());
  const CpuQuery query(signal, pattern, Normalization::z);
  return nearest_by_sketch(query, {first, last, 0, 0}, count, kLength);
}

bool has(const std::vector<std::int64_t>& offsets, std::int64_t place) {
  return std::any_of(offsets.begin(), offsets.end(),
                     [&](std::int64_t offset) { return std::abs(offset - place) <= 2; });
}

TEST(Sketch, FindsPlacesThatAreMostAlike) {
  const std::vector<std::int64_t> places = {300, 9'999, 17'001, 29'904};
  const auto offsets = sketched(planted(places), 0, kSamples - kLength + 1, 5);
  ASSERT_EQ(offsets.size(), 5U);
  for (const std::int64_t place : places) EXPECT_TRUE(has(offsets, place)) << place;
  EXPECT_TRUE(has(offsets, 5000));
}

TEST(Sketch, PlacesLieApartAndInTheRange) {
  auto offsets = sketched(planted({300}), 2000, 20'000, 40);
  ASSERT_EQ(offsets.size(), 40U);
  std::sort(offsets.begin(), offsets.end());
  EXPECT_GE(offsets.front(), 2000);
  EXPECT_LT(offsets.back(), 20'000);
  for (std::size_t k = 1; k < offsets.size(); ++k) EXPECT_GT(offsets[k] - offsets[k - 1], kLength);
}

TEST(Sketch, PassesOverMissingAndConstantSamples) {
  auto channels = planted({300, 9'999, 17'001});
  channels[1][9'999 + 50] = std::numeric_limits<float>::quiet_NaN();
  channels[2][17'001 + 20] = std::numeric_limits<float>::infinity();
  std::fill_n(channels[0].begin() + 25'000, 2000, 7.F);
  const auto offsets = sketched(channels, 0, kSamples - kLength + 1, 2);
  ASSERT_EQ(offsets.size(), 2U);
  EXPECT_TRUE(has(offsets, 300));
  EXPECT_TRUE(has(offsets, 5000));
}

TEST(Sketch, OfShortRangesAndQueriesThereIsNone) {
  EXPECT_TRUE(sketched(planted({300}), 0, 300, 2).empty());
  const auto channels = planted({});
  const Signal signal(channels.begin(), channels.end());
  JointPattern pattern{.samples = {like(channels[0], 700, 31, .1F), like(channels[1], 700, 31, .1F)},
                       .radius = 2,
                       .warping = Warping::together};
  pattern.channels = {0, 1};
  const CpuQuery query(signal, pattern, Normalization::z);
  EXPECT_TRUE(nearest_by_sketch(query, {0, kSamples - 30, 0, 0}, 2, 31).empty());
}

}  // namespace
}  // namespace warploom::search
