// Growth in every order of its accesses to memory: chain_split.hpp, see model_checker.hpp.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "table/model_checker.hpp"
#include "table/model_programs.hpp"
#include "warploom/table/chain.hpp"
// After chain.hpp
#include "table/model_variant.hpp"

namespace warploom::table::model {
namespace {

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
