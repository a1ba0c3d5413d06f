// The oracle itself: facts from elsewhere.

#include <gtest/gtest.h>

#include <algorithm>

#include "oracle/polyadic.hpp"
#include "problems.hpp"

namespace warploom::dp {
namespace {

TEST(PolyadicOracle, FindsThePublishedOrderOfAMatrixChain) {
  // Cormen, Leiserson, Rivest, Stein, Introduction to Algorithms, section 15.2: ((A1 (A2 A3)) ((A4 A5) A6)).
  Problem<std::int32_t> problem;
  problem.leaves.assign(6, 0);
  problem.factors = {30, 35, 15, 5, 10, 20, 25};
  const auto table = oracle::fill<std::int32_t>(problem);
  EXPECT_EQ(table.cells[0][6], 15'125);
  EXPECT_EQ(table.cells[1][5], 7'125);
  EXPECT_EQ(table.trace(), (std::vector<Split>{{0, 3, 6}, {0, 1, 3}, {1, 2, 3}, {3, 5, 6}, {3, 4, 5}}));
}

TEST(PolyadicOracle, EnumeratesCatalanManyTrees) {
  Problem<std::int64_t> problem;
  for (const std::size_t trees : {1u, 1u, 2u, 5u, 14u, 42u, 132u, 429u, 1430u}) {
    problem.leaves.push_back(1);
    EXPECT_EQ(oracle::every_sum(problem).size(), trees);
  }
}

// Trees with pairs that close around at least nothing: t(n) = t(n-2) + sum t(k) t(n-k), t(0) = t(1) = 1.
TEST(PolyadicOracle, EnumeratesTheTreesWithPairs) {
  Problem<std::int64_t> problem;
  problem.pairing = Pairing<std::int64_t>{.codes = {}, .letters = 1, .scores = {1}};
  for (const std::size_t trees : {1u, 2u, 5u, 16u, 57u, 219u}) {
    problem.leaves.push_back(0);
    problem.pairing->codes.push_back(0);
    EXPECT_EQ(oracle::every_sum(problem).size(), trees) << problem.leaves.size();
  }
}

// In floating point too: rounding is monotonous, so that the best sum is made of best sums.
template <Value T>
void best_of_all() {
  std::uint32_t seed = 0;
  for (const Kind& kind : every_kind()) {
    const auto problem = random_problem<T>(kind, 2 + seed % 8, seed);
    ++seed;
    const auto sums = oracle::every_sum(problem);
    const auto table = oracle::fill<T>(problem);
    const auto best = table.cells[0].back();
    ASSERT_EQ(best.has_value(), !sums.empty()) << text(kind);
    if (!best) continue;
    EXPECT_EQ(*best, kind.optimum == Optimum::minimum ? std::ranges::min(sums) : std::ranges::max(sums))
        << text(kind);
    EXPECT_EQ(oracle::evaluate<T>(problem, table.trace()), best) << text(kind);
  }
}

TEST(PolyadicOracle, IsTheBestOfAllTrees) {
  best_of_all<std::int32_t>();
  best_of_all<std::int64_t>();
  best_of_all<float>();
  best_of_all<double>();
}

TEST(PolyadicOracle, EvaluatesOnlyTrees) {
  Problem<float> problem;
  problem.leaves = {1, 2, 4, 8};
  const auto sum = [&](std::vector<Split> splits) { return oracle::evaluate<float>(problem, splits); };
  EXPECT_EQ(sum({{0, 2, 4}, {0, 1, 2}, {2, 3, 4}}), 15);
  EXPECT_EQ(sum({{0, 2, 4}, {2, 3, 4}, {0, 1, 2}}), std::nullopt);
  EXPECT_EQ(sum({{0, 2, 4}, {0, 1, 2}}), std::nullopt);
  EXPECT_EQ(sum({{0, 2, 4}, {0, 1, 2}, {2, 3, 4}, {2, 3, 4}}), std::nullopt);
  EXPECT_EQ(sum({{0, 4, 4}}), std::nullopt);
  EXPECT_EQ(sum({{0, 0, 4}, {1, 2, 3}}), std::nullopt) << "there is no pairing";
}

}  // namespace
}  // namespace warploom::dp
