#include "warploom/search/distance.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "oracle/search_brute_force.hpp"
#include "search/signals.hpp"
#include "warploom/core/error.hpp"

namespace warploom::search {
namespace {

TEST(Distance, IsTheRootOfTheMeanSquareAlongTheBestPath) {
  // 0 0 1 2 against 0 1 2 2: the path (0,0) (1,0) (2,1) (3,2) (3,3) costs nothing.
  const std::vector<float> q = {0, 0, 1, 2}, w = {0, 1, 2, 2};
  EXPECT_EQ(dtw_distance(q, w, 1, Normalization::none), 0);
  // Without warping: 0 + 1 + 1 + 0 over 4 samples.
  EXPECT_DOUBLE_EQ(dtw_distance(q, w, 0, Normalization::none), std::sqrt(2.0 / 4));
  EXPECT_DOUBLE_EQ(euclidean_distance(q, w, Normalization::none), std::sqrt(2.0 / 4));
}

TEST(Distance, KeepsToTheBand) {
  // The step comes two samples late: a band of one sample leaves one cell of cost 1.
  const std::vector<float> q = {0, 1, 1, 1, 1}, w = {0, 0, 0, 1, 1};
  EXPECT_EQ(dtw_distance(q, w, 2, Normalization::none), 0);
  EXPECT_DOUBLE_EQ(dtw_distance(q, w, 1, Normalization::none), std::sqrt(1.0 / 5));
  EXPECT_DOUBLE_EQ(dtw_distance(q, w, 0, Normalization::none), std::sqrt(2.0 / 5));
}

TEST(Distance, OfNormalisedSequencesKnowsNeitherOffsetNorScale) {
  const std::vector<float> q = {1, 5, 2, 8, 3}, w = {102, 110, 104, 116, 106};
  EXPECT_NEAR(dtw_distance(q, w, 0, Normalization::z), 0, 1e-7);
  EXPECT_GT(dtw_distance(q, w, 0, Normalization::none), 100);
}

TEST(Distance, OfAConstantWindowIsOneForAnyBand) {
  const std::vector<float> q = random_walk(50, 1), constant(50, 7);
  for (const std::int64_t radius : {0, 1, 7, 49})
    EXPECT_NEAR(dtw_distance(q, constant, radius, Normalization::z), 1, 1e-12) << radius;
  EXPECT_EQ(dtw_distance(constant, constant, 3, Normalization::z), 0);
}

TEST(Distance, OfAWindowWhoseDeviationIsASmallPartOfItsMeanIsThatOfAConstantOne) {
  std::vector<float> q = random_walk(40, 2), w(40);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = 1e7F + static_cast<float>(i % 2);  // deviation 0.5
  EXPECT_NEAR(dtw_distance(q, w, 4, Normalization::z), 1, 1e-12);
}

TEST(Distance, IsThatOfTheWholeMatrixInDoublePrecision) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const std::vector<float> q = random_walk(30 + seed, seed), w = random_walk(30 + seed, 100 + seed);
    for (const std::int64_t radius : {0, 1, 5, 100})
      for (const bool normalize : {false, true})
        EXPECT_NEAR(dtw_distance(q, w, radius, normalize ? Normalization::z : Normalization::none),
                    oracle::dtw(q, w, radius, normalize), 1e-12);
  }
}

TEST(Distance, RefusesSequencesThatCannotBeCompared) {
  const std::vector<float> two = {1, 2}, three = {1, 2, 3};
  EXPECT_THROW(dtw_distance(two, three, 1, Normalization::z), BadInput);
  EXPECT_THROW(dtw_distance({}, {}, 1, Normalization::z), BadInput);
  EXPECT_THROW(dtw_distance(two, two, -1, Normalization::z), BadInput);
}

TEST(BandRadius, IsTheFractionRoundedDownAndLessThanTheLength) {
  EXPECT_EQ(band_radius(.05, 128), 6);
  EXPECT_EQ(band_radius(.1, 1024), 102);
  EXPECT_EQ(band_radius(0, 10), 0);
  EXPECT_EQ(band_radius(1, 10), 9);
  EXPECT_EQ(band_radius(std::numeric_limits<double>::infinity(), 10), 9);
}

TEST(BandRadius, RefusesWhatIsNoFraction) {
  EXPECT_THROW(band_radius(-.1, 10), BadInput);
  EXPECT_THROW(band_radius(std::nan(""), 10), BadInput);
}

TEST(BandCells, AreThoseWithinTheRadius) {
  for (const std::int64_t m : {1, 2, 7, 12})
    for (std::int64_t r = 0; r < m; ++r) {
      std::int64_t cells = 0;
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < m; ++j) cells += std::abs(i - j) <= r;
      EXPECT_EQ(band_cells(m, r), cells);
    }
}

}  // namespace
}  // namespace warploom::search
