#include "warploom/dp/search_tree.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "child.hpp"
#include "oracle/random.hpp"

namespace warploom::dp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Counts = std::vector<std::int64_t>;
using Reals = std::vector<double>;

template <class Frequencies>
SearchTree tree_of(const Frequencies& p, const Frequencies& q, ValueType type = ValueType::best) {
  return search_tree(std::span(p), std::span(q),
                     {.solve = {.run = {.devices = {Device::cpu}}}, .type = type});
}

/// The least cost over all trees with keys first .. last below `depth` nodes, by the definition of the cost.
template <class Frequency>
Frequency least_of_all_trees(const std::vector<Frequency>& p, const std::vector<Frequency>& q,
                             std::size_t first, std::size_t last, Frequency depth) {
  if (first > last) return (depth + 1) * q[first - 1];
  Frequency least = std::numeric_limits<Frequency>::max();
  for (std::size_t root = first; root <= last; ++root)
    least = std::min(least, (depth + 1) * p[root - 1] + least_of_all_trees(p, q, first, root - 1, depth + 1) +
                                least_of_all_trees(p, q, root + 1, last, depth + 1));
  return least;
}

/// Searches for every key, and for something in every gap, and adds up what the searches visit.
template <class Frequency>
Frequency cost_of_searches(const SearchTree& tree, const std::vector<Frequency>& p,
                           const std::vector<Frequency>& q) {
  Frequency cost = 0;
  const auto n = static_cast<std::int64_t>(p.size());
  for (std::int64_t target = 0; target <= 2 * n; ++target) {  // key k at 2 k - 1, gap k at 2 k
    std::int64_t visited = 1, key = tree.root;
    while (key != 0 && 2 * key - 1 != target && visited <= n + 1) {
      const SearchTreeNode& node = tree.nodes.at(static_cast<std::size_t>(key - 1));
      EXPECT_EQ(node.depth, visited - 1);
      key = target < 2 * key - 1 ? node.left : node.right;
      ++visited;
    }
    EXPECT_EQ(key == 0, target % 2 == 0) << "target " << target;
    const auto index = static_cast<std::size_t>(target / 2);
    cost += static_cast<Frequency>(visited) * (target % 2 == 0 ? q[index] : p[index]);
  }
  return cost;
}

TEST(SearchTree, TextbookExample) {
  // Cormen et al., Introduction to Algorithms, 3rd ed., section 15.5: cost 2.75, figure 15.9 (b).
  const SearchTree tree =
      tree_of(Reals{0.15, 0.10, 0.05, 0.10, 0.20}, Reals{0.05, 0.10, 0.05, 0.05, 0.05, 0.10});
  EXPECT_NEAR(std::get<double>(tree.cost), 2.75, 3 * 5 * 0x1p-53 * 2.75);
  EXPECT_NEAR(std::get<double>(tree.total), 1, 1e-15);
  EXPECT_EQ(tree.root, 2);
  EXPECT_THAT(tree.nodes,
              ElementsAre(SearchTreeNode{0, 0, 1}, SearchTreeNode{1, 5, 0}, SearchTreeNode{0, 0, 3},
                          SearchTreeNode{3, 0, 2}, SearchTreeNode{4, 0, 1}));
  EXPECT_THAT(tree.level_keys, ElementsAre(1, 2, 1, 1));
  EXPECT_EQ(tree.type, ValueType::float64);
}

TEST(SearchTree, TextbookExampleInCounts) {
  const SearchTree tree = tree_of(Counts{15, 10, 5, 10, 20}, Counts{5, 10, 5, 5, 5, 10});
  EXPECT_EQ(text(tree.cost), "275");
  EXPECT_EQ(text(tree.total), "100");
  EXPECT_EQ(tree.root, 2);
  EXPECT_EQ(tree.type, ValueType::int32);
}

TEST(SearchTree, TextbookExercise) {
  // The same book's exercise 15.5-2: cost 3.12, root key 5.
  const SearchTree tree = tree_of(Counts{4, 6, 8, 2, 10, 12, 14}, Counts{6, 6, 6, 6, 5, 5, 5, 5});
  EXPECT_EQ(text(tree.cost), "312");
  EXPECT_EQ(tree.root, 5);
}

TEST(SearchTree, OfCountsCostsTheLeastOfAllTrees) {
  Random random(3);
  for (int repeat = 0; repeat < 300; ++repeat) {
    const std::size_t keys = 1 + random.below(repeat < 290 ? 7 : 10);
    const std::uint32_t largest = repeat % 2 == 0 ? 3 : 1000;  // many ties, and few
    Counts p(keys), q(keys + 1);
    for (std::int64_t& count : p) count = random.below(largest);
    for (std::int64_t& count : q) count = random.below(largest);
    const auto least = least_of_all_trees<std::int64_t>(p, q, 1, keys, 0);
    for (const ValueType type : {ValueType::best, ValueType::int64, ValueType::float32, ValueType::float64}) {
      const SearchTree tree = tree_of(p, q, type);
      EXPECT_EQ(text(tree.cost), std::to_string(least));
      EXPECT_EQ(cost_of_searches(tree, p, q), least);
      EXPECT_EQ(std::accumulate(tree.level_keys.begin(), tree.level_keys.end(), std::size_t{0}), keys);
    }
  }
}

TEST(SearchTree, OfProbabilitiesCostsTheLeastWithinItsTolerance) {
  Random random(4);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const std::size_t keys = 1 + random.below(8);
    Reals p(keys), q(keys + 1);
    for (double& probability : p) probability = random.below(1 << 20) / 1e6;
    for (double& probability : q) probability = random.below(1 << 20) / 1e6;
    const double least = least_of_all_trees<double>(p, q, 1, keys, 0);
    const auto n = static_cast<double>(keys);
    for (const auto& [type, unit] : {std::pair(ValueType::float64, 0x1p-53), {ValueType::float32, 0x1p-24}}) {
      const SearchTree tree = tree_of(p, q, type);
      const double searches = cost_of_searches(tree, p, q);
      EXPECT_NEAR(std::get<double>(tree.cost), searches, 6 * n * 0x1p-53 * searches);
      // The header's tolerance, and the rounding of the two sums here.
      EXPECT_LE(searches, least * (1 + n * (10 * unit + n * 0x1p-62) + 6 * n * 0x1p-53));
      EXPECT_GE(searches, least * (1 - 6 * n * 0x1p-53));
    }
  }
}

TEST(SearchTree, OfManyKeysIsWhatItsSearchesCost) {
  Random random(5);
  Counts p(300), q(301);
  for (std::int64_t& count : p) count = random.below(100);
  for (std::int64_t& count : q) count = random.below(100);
  const SearchTree tree = tree_of(p, q);
  EXPECT_EQ(std::to_string(cost_of_searches(tree, p, q)), text(tree.cost));
  EXPECT_EQ(tree_of(p, q, ValueType::int64).nodes, tree.nodes);
}

TEST(SearchTree, OfOneKey) {
  const SearchTree tree = tree_of(Counts{3}, Counts{1, 2});
  EXPECT_EQ(text(tree.cost), "9");
  EXPECT_EQ(tree.root, 1);
  EXPECT_THAT(tree.nodes, ElementsAre(SearchTreeNode{0, 0, 0}));
}

TEST(SearchTree, TakesTheLeastKeyOfEqualRoots) {
  const SearchTree tree = tree_of(Counts{0, 0, 0}, Counts{0, 0, 0, 0});
  EXPECT_EQ(text(tree.cost), "0");
  EXPECT_THAT(tree.nodes,
              ElementsAre(SearchTreeNode{0, 2, 0}, SearchTreeNode{0, 3, 1}, SearchTreeNode{0, 0, 2}));
}

TEST(SearchTree, TakesTheTypeThatHoldsItsCosts) {
  const Counts gaps{0, 0};
  // A tree of one key has two levels, so that no cost exceeds twice the total.
  EXPECT_EQ(tree_of(Counts{268'435'455}, gaps).type, ValueType::int32);
  EXPECT_EQ(tree_of(Counts{268'435'456}, gaps).type, ValueType::int64);
  EXPECT_EQ(text(tree_of(Counts{268'435'456}, gaps).cost), "268435456");
}

TEST(SearchTree, RefusesCostsBeyondTheType) {
  const Counts gaps{0, 0};
  EXPECT_EQ(message_of([&] { tree_of(Counts{268'435'456}, gaps, ValueType::int32); }),
            "costs of this tree may reach 536870912; int32 is for up to 536870911; use int64");
  EXPECT_THAT(message_of([&] { tree_of(Counts{1LL << 62}, gaps); }),
              HasSubstr("may reach more than 2^63; int64 is for up to 2305843009213693951; use float64"));
  EXPECT_EQ(text(tree_of(Counts{1LL << 62}, gaps, ValueType::float64).cost), "4.611686018427388e+18");
  EXPECT_THAT(message_of([] {
                tree_of(Reals{1e308}, Reals{0, 0});
              }),
              HasSubstr("beyond float64's range; divide the frequencies by a constant"));
  EXPECT_THAT(message_of([] {
                tree_of(Reals{2e38}, Reals{0, 0}, ValueType::float32);
              }),
              HasSubstr("beyond float32's range; use float64"));
}

TEST(SearchTree, RefusesWhatAreNoFrequencies) {
  EXPECT_EQ(message_of([] { tree_of(Reals{}, Reals{1}); }), "the search tree has no key: p is empty");
  EXPECT_EQ(message_of([] {
              tree_of(Reals{1, 2}, Reals{1, 2});
            }),
            "q has 2 values; 2 keys have 3 gaps between and around them");
  EXPECT_EQ(message_of([] {
              tree_of(Reals{1, std::nan("")}, Reals{1, 2, 3});
            }),
            "p[2] is nan; a frequency is finite and not negative");
  EXPECT_EQ(message_of([] {
              tree_of(Reals{1, 2}, Reals{1, -0.5, 3});
            }),
            "q[1] is -0.5; a frequency is finite and not negative");
  EXPECT_THAT(message_of([] { tree_of(Reals{HUGE_VAL}, Reals{1, 2}); }), HasSubstr("p[1] is inf"));
  EXPECT_THAT(message_of([] { tree_of(Counts{1}, Counts{1, -2}); }), HasSubstr("q[1] is -2"));
  EXPECT_EQ(message_of([] {
              tree_of(Reals{1}, Reals{1, 2}, ValueType::int32);
            }),
            "int32 is for frequencies that are integers; use float64");
}

TEST(ValueType, NamesAreRead) {
  for (const ValueType type :
       {ValueType::best, ValueType::int32, ValueType::int64, ValueType::float32, ValueType::float64})
    EXPECT_EQ(parse_value_type(name(type)), type);
  EXPECT_EQ(name(ValueType::best), "auto");
  EXPECT_EQ(message_of([] { parse_value_type("double"); }),
            "value type 'double' is unknown; it is auto, int32, int64, float32 or float64");
}

}  // namespace
}  // namespace warploom::dp
