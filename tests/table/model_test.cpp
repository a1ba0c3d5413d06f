// The operations of chain.hpp in every order of their accesses to memory: model_checker.hpp.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "table/model_checker.hpp"
#include "table/model_programs.hpp"
#include "warploom/table/chain.hpp"
// After chain.hpp
#include "table/model_variant.hpp"

namespace warploom::table::model {
namespace {

template <bool kWide>
Variant lines_of(int slots) {
  return slots == 1 ? kVariant<1, kWide> : slots == 2 || kWide ? kVariant<2, kWide> : kVariant<3, kWide>;
}

/// How many random programs: WARPLOOM_MODEL_PROGRAMS in the environment, for a long run.
std::uint32_t programs(std::uint32_t here) {
  const char* wanted = std::getenv("WARPLOOM_MODEL_PROGRAMS");
  return wanted != nullptr ? static_cast<std::uint32_t>(std::stoul(wanted)) : here;
}

class Adversaries : public testing::TestWithParam<Adversary> {};

TEST_P(Adversaries, NeverGetAWrongAnswer) {
  const Result result = check(GetParam().program, lines_of<false>(GetParam().slots));
  EXPECT_FALSE(result.violation) << *result.violation;
  EXPECT_TRUE(result.complete);
  EXPECT_GT(result.ends, 0u);
}

TEST_P(Adversaries, NeverGetAWrongAnswerFromPairsOfTwoWordsWithThreePreemptions) {
  const Result result = check(GetParam().program, lines_of<true>(GetParam().slots), {.preemptions = 3});
  EXPECT_FALSE(result.violation) << *result.violation;
  EXPECT_TRUE(result.complete);
}

INSTANTIATE_TEST_SUITE_P(Model, Adversaries, testing::ValuesIn(adversaries()), [](const auto& instance) {
  std::string name = instance.param.program.name;
  for (char& letter : name)
    if (letter == ' ' || letter == ',') letter = '_';
  return name;
});

void check_random(int threads, int operations, std::uint32_t count, const Options& options) {
  std::uint64_t states = 0, fulls = 0, incomplete = 0;
  for (std::uint32_t seed = 0; seed < count; ++seed) {
    const Program program = random_program(threads, operations, seed);
    const Result result = check(program, lines_of<false>(1 + static_cast<int>(seed % 2)), options);
    ASSERT_FALSE(result.violation) << *result.violation;
    states += result.states;
    fulls += result.fulls;
    incomplete += !result.complete;
  }
  std::cout << count << " programs, " << states << " states, " << incomplete << " programs not to the end\n";
  EXPECT_GT(fulls, 0u) << "no program met a full table";
  EXPECT_EQ(incomplete, 0u);
}

TEST(Model, TwoThreadsOfThreeOperationsNeverGetAWrongAnswer) { check_random(2, 3, programs(40), {}); }

TEST(Model, ThreeThreadsOfTwoOperationsNeverGetAWrongAnswerWithTwoPreemptions) {
  check_random(3, 2, programs(12), {.preemptions = 2});
}

// A walk that reads a line's words in any order, as the lanes of a GPU do.

template <Order kOrder>
void check_walk_of_many_lanes() {
  for (const char* name : {"one key inserted, erased, inserted", "slot used again for another key",
                           "erasures of a slot used again", "key moves from home to another line",
                           "pending insertion of the key that is inserted"}) {
    const Adversary& one = adversary(name);
    const Result result =
        check(one.program, one.slots == 1 ? kTileVariant<1, kOrder> : kTileVariant<2, kOrder>);
    EXPECT_FALSE(result.violation) << *result.violation;
    EXPECT_TRUE(result.complete);
  }
}

TEST(Model, WalkOfManyLanesThatReadsHeadersFirstNeverGivesAWrongAnswer) {
  check_walk_of_many_lanes<Order::header_first>();
}
TEST(Model, WalkOfManyLanesThatReadsTailsFirstNeverGivesAWrongAnswer) {
  check_walk_of_many_lanes<Order::tail_first>();
}
TEST(Model, WalkOfManyLanesThatReadsSlotsFirstNeverGivesAWrongAnswer) {
  check_walk_of_many_lanes<Order::slots_first>();
}

const Program kTwoInsertions{
    "two insertions", {}, {{{Operation::insert, 1, 5}}, {{Operation::insert, 1, 6}}}};

TEST(Model, WalkOfManyLanesThatLooksOnceInsertsAKeyTwice) {
  EXPECT_TRUE(check(kTwoInsertions, kTileVariant<2, Order::slots_first, false>).violation);
  EXPECT_FALSE(check(kTwoInsertions, kTileVariant<2, Order::slots_first>).violation);
}

// What the checker itself says.

TEST(Model, VisitsEveryStateOnce) {
  // A find in an empty line is two reads.
  const Step find{Operation::find, 0};
  EXPECT_EQ(check({"", {}, {{find}}}, kVariant<1>).states, 2u);
  EXPECT_EQ(check({"", {}, {{find, find, find}}}, kVariant<1>).states, 6u);
  // Either assignment may be the last, but sums do not depend on the order.
  const Step insert{Operation::insert, 0, 1};
  const auto ends = [&](Operation operation) {
    return check({"", {insert}, {{{operation, 0, 2}}, {{operation, 0, 3}}}}, kVariant<1>).ends;
  };
  EXPECT_EQ(ends(Operation::assign), 2u);
  EXPECT_EQ(ends(Operation::add), 1u);
  EXPECT_EQ(ends(Operation::max), 1u);
}

TEST(Model, ExplainsAViolationByAnExecution) {
  const Result result = check(kTwoInsertions, kTileVariant<2, Order::slots_first, false>);
  ASSERT_TRUE(result.violation);
  EXPECT_NE(result.violation->find("-> insert 1 inserted"), std::string::npos) << *result.violation;
}

}  // namespace
}  // namespace warploom::table::model
