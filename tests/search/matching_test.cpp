#include "warploom/search/matching.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "oracle/random.hpp"
#include "oracle/search_matchings.hpp"
#include "warploom/core/error.hpp"

namespace warploom::search {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Few different worths, so that many matchings are equally good.
Worth worth(Random& random, bool few) {
  const std::uint32_t coverages = few ? 2 : 5, distances = few ? 3 : 1000;
  return {1 + random.below(coverages), random.below(distances) / 8.0};
}

std::vector<Edge> graph(Random& random, std::uint32_t most_edges) {
  const std::uint32_t left = 1 + random.below(5), right = 1 + random.below(5),
                      percent = 20 + random.below(81);
  const bool few = random.chance(50);
  std::vector<Edge> edges;
  for (std::uint32_t i = 0; i < left; ++i)
    for (std::uint32_t j = 0; j < right; ++j)
      if (random.chance(percent))
        edges.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), worth(random, few)});
  for (std::size_t e = edges.size(); e > 1; --e)
    std::swap(edges[e - 1], edges[random.below(static_cast<std::uint32_t>(e))]);
  if (edges.size() > most_edges) edges.resize(most_edges);
  return edges;
}

std::vector<Worth> worths(std::span<const Edge> edges, const std::vector<Matching>& matchings) {
  std::vector<Worth> out;
  for (const Matching& matching : matchings) out.push_back(oracle::worth(edges, matching));
  return out;
}

TEST(Matching, AllMaximalOnesAreThoseOfTheSubsets) {
  Random random(1);
  for (int k = 0; k < 10'000; ++k) {
    const std::vector<Edge> edges = graph(random, k % 10 == 0 ? 14 : 9);
    ASSERT_EQ(maximal_matchings(edges), oracle::maximal_matchings(edges)) << "graph " << k;
  }
}

TEST(Matching, BestIsTheBestOfAll) {
  Random random(2);
  for (int k = 0; k < 10'000; ++k) {
    const std::vector<Edge> edges = graph(random, 20);
    const std::vector<Matching> all = maximal_matchings(edges);
    const Matching best = best_matching(edges);
    ASSERT_TRUE(std::find(all.begin(), all.end(), best) != all.end()) << "graph " << k;
    const Worth found = oracle::worth(edges, best);
    for (const Worth& other : worths(edges, all)) ASSERT_FALSE(better(other, found)) << "graph " << k;
  }
}

TEST(Matching, ThatWithPricesIsTheSame) {
  // Prices are found with pairs of numbers; without them a pair is one number, where coverages are few.
  Random random(3);
  for (int k = 0; k < 3000; ++k) {
    std::vector<Edge> edges = graph(random, 20);
    if (k % 3 == 0)
      for (Edge& edge : edges) edge.worth.distance *= 1e-310;
    if (k % 4 == 0)
      for (Edge& edge : edges) edge.worth.coverage *= 100;
    std::vector<Worth> prices;
    ASSERT_EQ(best_matching(edges), best_matching(edges, &prices)) << "graph " << k;
  }
}

TEST(Matching, BestOnesAreTheFirstOfAllSorted) {
  Random random(3);
  for (int k = 0; k < 3'000; ++k) {
    const std::vector<Edge> edges = graph(random, k % 10 == 0 ? 16 : 9);
    const std::vector<Matching> all = maximal_matchings(edges);
    std::vector<Worth> want = worths(edges, all);
    std::sort(want.begin(), want.end(), [](const Worth& a, const Worth& b) { return better(a, b); });
    const std::int64_t count = k % 2 == 0 ? 5 : std::ssize(all) + 1;
    want.resize(std::min<std::size_t>(count, want.size()));
    const std::vector<Matching> found = best_matchings(edges, count);
    ASSERT_EQ(worths(edges, found), want) << "graph " << k;
    const std::set<Matching> different(found.begin(), found.end()), maximal(all.begin(), all.end());
    ASSERT_EQ(different.size(), found.size()) << "graph " << k;
    ASSERT_TRUE(std::includes(maximal.begin(), maximal.end(), different.begin(), different.end()))
        << "graph " << k;
  }
}

TEST(Matching, CoverageComesBeforeDistance) {
  // Left 0 would rather have right 0, but then left 1 stays alone.
  const std::vector<Edge> edges = {{0, 0, {1, 0}}, {0, 1, {1, 100}}, {1, 0, {1, 100}}};
  EXPECT_THAT(best_matching(edges), ElementsAre(1, 2));
  EXPECT_THAT(best_matchings(edges, 5), ElementsAre(ElementsAre(1, 2), ElementsAre(0)));
}

TEST(Matching, ALongEdgeIsBetterThanTwoShortOnes) {
  const std::vector<Edge> edges = {{0, 0, {3, 0}}, {0, 1, {1, 0}}, {1, 0, {1, 0}}};
  EXPECT_THAT(best_matching(edges), ElementsAre(0));
}

TEST(Matching, DistancesThatAreNoSumsOfPowersOfTwoDoNotStopIt) {
  Random random(4);
  std::vector<Edge> edges;
  for (std::int32_t i = 0; i < 40; ++i)
    for (std::int32_t j = 0; j < 40; ++j) edges.push_back({i, j, {1, 0.1 * (1 + random.below(3))}});
  const Matching best = best_matching(edges);
  EXPECT_EQ(best.size(), 40u);
  EXPECT_NEAR(oracle::worth(edges, best).distance, 40 * 0.1, 1e-9);
}

TEST(Matching, ManyEdgesApartHaveOneMaximalMatching) {
  std::vector<Edge> edges;  // 2^60 matchings that are not maximal
  for (std::int32_t i = 0; i < 60; ++i) edges.push_back({i, i, {1, 1}});
  EXPECT_EQ(best_matchings(edges, 3).size(), 1u);
  EXPECT_EQ(maximal_matchings(edges).size(), 1u);
}

Worth sum(const Payments& paid) {
  Worth all;
  for (const std::vector<Worth>* side : {&paid.left, &paid.right})
    for (const Worth& worth : *side) all += worth;
  return all;
}

TEST(Payments, AreWorthNoLessThanTheBestMatchingWhateverThePrices) {
  Random random(5);
  for (int k = 0; k < 3'000; ++k) {
    const std::vector<Edge> edges = graph(random, 20);
    std::vector<Worth> prices;
    for (std::uint32_t right = random.below(6); right > 0; --right) prices.push_back({random.below(4), 0});
    const Worth best = oracle::worth(edges, best_matching(edges)), paid = sum(pay(edges, prices));
    ASSERT_FALSE(better(best, paid)) << "graph " << k << ": " << best.coverage << ' ' << best.distance
                                     << " is more than " << paid.coverage << ' ' << paid.distance;
  }
}

TEST(Payments, AtTheBestMatchingsOwnPricesAreWorthWhatItIs) {
  Random random(6);
  for (int k = 0; k < 3'000; ++k) {
    const std::vector<Edge> edges = graph(random, 20);
    std::vector<Worth> prices;
    const Worth best = oracle::worth(edges, best_matching(edges, &prices));
    ASSERT_EQ(sum(pay(edges, prices)), best) << "graph " << k;  // sums of eighths are exact
  }
}

TEST(Payments, OfEachEdgeCoverIt) {
  Random random(7);
  for (int k = 0; k < 1'000; ++k) {
    const std::vector<Edge> edges = graph(random, 20);
    const std::vector<Worth> prices(3, Worth{1, 0.5});
    const Payments paid = pay(edges, prices);
    for (const Edge& edge : edges)
      ASSERT_FALSE(better(edge.worth, paid.left[edge.left] + paid.right[edge.right])) << "graph " << k;
  }
}

TEST(Matching, OfNoEdgesIsEmpty) {
  EXPECT_THAT(best_matching({}), IsEmpty());
  EXPECT_THAT(best_matchings({}, 3), ElementsAre(IsEmpty()));
  EXPECT_THAT(maximal_matchings({}), ElementsAre(IsEmpty()));
  EXPECT_THAT(best_matchings({}, 0), IsEmpty());
}

TEST(Matching, MoreThanTheCapIsRefused) {
  std::vector<Edge> edges;
  for (std::int32_t i = 0; i < 4; ++i)
    for (std::int32_t j = 0; j < 4; ++j) edges.push_back({i, j, {1, 0}});
  EXPECT_EQ(maximal_matchings(edges, 24).size(), 24u);  // 4!
  try {
    maximal_matchings(edges, 23);
    FAIL();
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), HasSubstr("more than 23 maximal matchings"));
  }
}

}  // namespace
}  // namespace warploom::search
