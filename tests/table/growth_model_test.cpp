// Growth in every order of its accesses to memory: chain_split.hpp, see model_checker.hpp.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "table/model_checker.hpp"
#include "table/model_programs.hpp"
#include "warploom/table/chain.hpp"
// After chain.hpp
#include "table/model_variant.hpp"

namespace warploom::table::model {
namespace {

std::uint32_t from_environment(const char* name, std::uint32_t here) {
  const char* wanted = std::getenv(name);
  return wanted != nullptr ? static_cast<std::uint32_t>(std::stoul(wanted)) : here;
}

class GrowthAdversaries : public testing::TestWithParam<std::string> {};

TEST_P(GrowthAdversaries, NeverGetAWrongAnswer) {
  const Program& program = growth_adversary(GetParam());
  const int preemptions = program.threads.size() > 2 ? 3 : 4;
  const Result result = check(program, kGrowing<1>, {.preemptions = preemptions});
  EXPECT_FALSE(result.violation) << *result.violation;
  EXPECT_TRUE(result.complete);
  EXPECT_GT(result.ends, 0u);
}

TEST_P(GrowthAdversaries, NeverGetAWrongAnswerFromPairsOfTwoWordsInTwoGrowths) {
  const Result result = check(growth_adversary(GetParam()), kGrowing<1, 2, true>, {.preemptions = 2});
  EXPECT_FALSE(result.violation) << *result.violation;
  EXPECT_TRUE(result.complete);
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const Program& program : growth_adversaries()) names.push_back(program.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Model, GrowthAdversaries, testing::ValuesIn(names()), [](const auto& instance) {
  std::string name = instance.param;
  for (char& letter : name)
    if (letter == ' ') letter = '_';
  return name;
});

// WARPLOOM_MODEL_PROGRAMS and WARPLOOM_MODEL_PREEMPTIONS in the environment make a long run of it.
TEST(GrowthModel, TwoThreadsOfThreeOperationsNeverGetAWrongAnswer) {
  const std::uint32_t count = from_environment("WARPLOOM_MODEL_PROGRAMS", 20);
  const Options options{.preemptions = static_cast<int>(from_environment("WARPLOOM_MODEL_PREEMPTIONS", 3))};
  std::uint64_t states = 0, incomplete = 0;
  for (std::uint32_t seed = 0; seed < count; ++seed) {
    const Program program = random_growth_program(2, 3, seed);
    const Result result = check(program,
                                seed % 3 == 0   ? kGrowing<1, 2>
                                : seed % 3 == 1 ? kGrowing<1>
                                                : kGrowing<1, 1, true>,
                                options);
    ASSERT_FALSE(result.violation) << *result.violation;
    states += result.states;
    incomplete += !result.complete;
  }
  std::cout << count << " programs, " << states << " states, " << incomplete << " programs not to the end\n";
  EXPECT_EQ(incomplete, 0u);
}

TEST(GrowthModel, OthersFinishWhereverThreadsAreStopped) {
  std::uint64_t suspensions = 0;
  for (const Program& program : growth_adversaries()) {
    const Result result =
        check(program, kGrowing<1>, {.preemptions = 2, .most_states = 5'000, .suspend = true});
    EXPECT_FALSE(result.violation) << *result.violation;
    suspensions += result.suspensions;
  }
  EXPECT_GT(suspensions, 10'000u);
}

}  // namespace
}  // namespace warploom::table::model
