#include "warploom/reuse/place.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "oracle/placement.hpp"
#include "warploom/core/error.hpp"

namespace warploom::reuse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr PlacementMethod kMethods[] = {PlacementMethod::paper, PlacementMethod::greedy,
                                        PlacementMethod::optimal};

Placement place_by(PlacementMethod method, const PlacementProblem& problem) {
  return place(problem, {.method = method});
}

class EveryMethod : public testing::TestWithParam<PlacementMethod> {
 protected:
  Placement placed(const PlacementProblem& problem) const {
    Placement placement = place_by(GetParam(), problem);
    EXPECT_EQ(oracle::fault(problem, placement), "");
    EXPECT_EQ(placement.method, GetParam());
    return placement;
  }
};

INSTANTIATE_TEST_SUITE_P(Place, EveryMethod, testing::ValuesIn(kMethods),
                         [](const auto& each) { return std::string(name(each.param)); });

TEST_P(EveryMethod, PlacesNothing) {
  const Placement placement = placed({});
  EXPECT_EQ(placement.bytes, 0u);
  EXPECT_TRUE(placement.proved_optimal);
}

TEST_P(EveryMethod, PutsObjectsWithoutEdgesAtZero) {
  const Placement placement = placed({{{12, 4}, {40, 16}, {7, 1}}, {}});
  EXPECT_THAT(placement.offsets, ElementsAre(0, 0, 0));
  EXPECT_EQ(placement.bytes, 40u);
  EXPECT_TRUE(placement.proved_optimal);
}

// Figure 1 of the paper: sA and sC are never live together, sB is live with both.
TEST_P(EveryMethod, SharesFigureOnesBlocksAAndC) {
  const Placement placement = placed({{{1024, 4}, {512, 4}, {1024, 4}}, {{0, 1}, {1, 2}}});
  EXPECT_EQ(placement.bytes, 1536u);
  EXPECT_EQ(placement.offsets[0], placement.offsets[2]);
}

TEST_P(EveryMethod, PlacesEachComponentFromZero) {
  const Placement placement = placed({{{8, 4}, {8, 4}, {12, 4}, {4, 4}, {20, 4}}, {{0, 1}, {3, 2}}});
  EXPECT_EQ(placement.bytes, GetParam() == PlacementMethod::paper ? 28u : 20u);
  EXPECT_EQ(placement.offsets[4], 0u);
}

TEST_P(EveryMethod, AcceptsAnEdgeTwiceAndInEitherOrder) {
  EXPECT_EQ(placed({{{8, 4}, {4, 4}}, {{0, 1}, {1, 0}, {0, 1}}}).bytes, 12u);
}

TEST_P(EveryMethod, GivesTheSameAnswerTwice) {
  std::mt19937_64 random(9);
  const PlacementProblem problem = oracle::random_graph(random, 14, 40, oracle::Sizes::padded);
  EXPECT_EQ(placed(problem).offsets, placed(problem).offsets);
}

// Figure 4 (b): B1 and B2 are live together, inside the space of B3, which is dead by then.
TEST(Place, PutsTwoLiveBlocksInsideADeadThird) {
  const PlacementProblem problem{{{512, 16}, {512, 16}, {1024, 16}}, {{0, 1}}};
  EXPECT_EQ(place_by(PlacementMethod::optimal, problem).bytes, 1024u);
  EXPECT_EQ(place_by(PlacementMethod::greedy, problem).bytes, 1024u);
  EXPECT_EQ(place_by(PlacementMethod::paper, problem).bytes, 1536u);  // its configuration is (a)
}

// An invented example: the graph of the paper's Figure 3 is lost in the scan. As there, B4 shares with B1.
// B1 - B2, B1 - B3, B2 - B3, B2 - B4, B3 - B5, B4 - B5.
TEST(Place, RunsAlgorithmOneOnAnInventedFiveBlockExample) {
  const PlacementProblem problem{{{400, 4}, {300, 4}, {200, 4}, {100, 4}, {300, 4}},
                                 {{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 4}, {3, 4}}};
  const Placement paper = place_by(PlacementMethod::paper, problem);
  // Breadth-first B1 B2 B3 B4 B5: colours 0 1 2 0 1.
  EXPECT_THAT(paper.partitions, ElementsAre(ElementsAre(0, 3), ElementsAre(1, 4), ElementsAre(2)));
  EXPECT_THAT(paper.offsets, ElementsAre(0, 400, 700, 0, 400));
  EXPECT_EQ(paper.bytes, 900u);
  EXPECT_EQ(place_by(PlacementMethod::optimal, problem).bytes, 900u);  // B1, B2, B3 are a clique
}

TEST(Place, ColoursBreadthFirstNotByIndex) {
  // The path 0 - 2 - 1 - 3, reached in the order 0, 2, 1, 3: by index, 1 and 0 would fix 2 and 3 otherwise.
  const PlacementProblem problem{{{4, 4}, {4, 4}, {4, 4}, {4, 4}}, {{0, 2}, {2, 1}, {1, 3}}};
  EXPECT_THAT(place_by(PlacementMethod::paper, problem).partitions,
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
}

TEST(Place, AlignsAPartitionAsItsMostAlignedBlock) {
  const PlacementProblem problem{{{4, 4}, {4, 4}, {6, 16}}, {{0, 1}, {0, 2}}};
  EXPECT_THAT(place_by(PlacementMethod::paper, problem).offsets, ElementsAre(0, 16, 16));
}

TEST(Place, OptimalExceedsTheCliqueBoundWhereItMust) {
  const PlacementProblem problem{{{8, 4}, {8, 4}, {8, 4}, {8, 4}, {8, 4}},
                                 {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}}};
  const Placement placement = place(problem);
  EXPECT_EQ(placement.bytes, 24u);  // a 5-cycle needs three colours, its cliques hold two
  EXPECT_EQ(placement.lower_bound, 24u);
  EXPECT_TRUE(placement.proved_optimal);
}

TEST(Place, OptimalOrdersACliqueToWasteLeastOnAlignment) {
  // 16 | 4 + 4 | 8: the bytes that the 8-aligned object needs no padding for.
  const PlacementProblem problem{{{4, 1}, {8, 8}, {4, 1}, {16, 16}},
                                 {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}};
  EXPECT_EQ(place(problem).bytes, 32u);
}

TEST(Place, OptimalFallsBackToGreedyAboveItsObjectLimit) {
  const PlacementProblem problem{{{4, 4}, {4, 4}, {4, 4}}, {{0, 1}}};
  EXPECT_EQ(place(problem, {.exact_up_to = 2}).method, PlacementMethod::greedy);
  EXPECT_EQ(place(problem, {.exact_up_to = 3}).method, PlacementMethod::optimal);
}

TEST(Place, OptimalTakesSixtyFourObjectsAndNoMore) {
  PlacementProblem problem;
  for (std::uint32_t i = 0; i < 64; ++i) problem.objects.push_back({8, 8});
  for (std::uint32_t i = 0; i < 64; ++i) problem.edges.emplace_back(i, (i + 1) % 64);
  EXPECT_EQ(place(problem, {.exact_up_to = 1000}).method, PlacementMethod::optimal);
  problem.objects.push_back({8, 8});
  EXPECT_EQ(place(problem, {.exact_up_to = 1000}).method, PlacementMethod::greedy);
}

TEST(Place, OptimalKeepsTheBestFoundWhenTheTimeIsOver) {
  std::mt19937_64 random(4);
  const PlacementProblem problem = oracle::random_graph(random, 40, 60, oracle::Sizes::bytes);
  const Placement placement = place(problem, {.time_limit = std::chrono::milliseconds(0)});
  EXPECT_EQ(oracle::fault(problem, placement), "");
  EXPECT_TRUE(placement.timed_out);
  EXPECT_FALSE(placement.proved_optimal);
  EXPECT_LT(placement.lower_bound, placement.bytes);
  EXPECT_LE(placement.bytes, place_by(PlacementMethod::greedy, problem).bytes);
}

TEST(Place, GreedyPlacesTenThousandObjects) {
  std::mt19937_64 random(5);
  PlacementProblem problem;
  for (int i = 0; i < 10'000; ++i) problem.objects.push_back({4 * (1 + random() % 256), 16});
  for (std::uint32_t i = 0; i < 10'000; ++i)
    for (std::uint32_t j = i + 1; j < std::min(i + 10, 10'000u); ++j) problem.edges.emplace_back(i, j);
  const Placement placement = place(problem);
  EXPECT_EQ(placement.method, PlacementMethod::greedy);
  EXPECT_EQ(oracle::fault(problem, placement), "");
}

struct BadProblem {
  const char* name;
  PlacementProblem problem;
  const char* message;
};
class RefusedProblem : public testing::TestWithParam<BadProblem> {};

TEST_P(RefusedProblem, IsBadInputForEveryMethod) {
  for (const PlacementMethod method : kMethods)
    EXPECT_THAT([&] { place_by(method, GetParam().problem); },
                ThrowsMessage<BadInput>(HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Place, RefusedProblem,
    testing::Values(BadProblem{"ZeroSize", {{{4, 4}, {0, 4}}, {}}, "object 1 has 0 bytes"},
                    BadProblem{"AlignmentZero", {{{4, 0}}, {}}, "object 0 has alignment 0"},
                    BadProblem{"AlignmentThree", {{{4, 3}}, {}}, "object 0 has alignment 3"},
                    BadProblem{"EdgeOutOfRange", {{{4, 4}, {4, 4}}, {{0, 2}}}, "only 2 objects"},
                    BadProblem{"SelfEdge", {{{4, 4}, {4, 4}}, {{0, 1}, {1, 1}}}, "edge 1 joins object 1"},
                    BadProblem{"SizeOverflow", {{{~0ull, 1}, {1, 1}}, {{0, 1}}}, "more than 2^64 - 1"},
                    BadProblem{"AlignmentOverflow", {{{~0ull - 1, 4}}, {}}, "more than 2^64 - 1"}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace warploom::reuse
