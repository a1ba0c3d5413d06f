// Many problems in one call.

#include "every_device.hpp"

namespace warploom::dp {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <Value T>
void batch_equals_single_solves(const Options& options) {
  const std::vector<Kind> kinds = every_kind();
  std::vector<Problem<T>> problems;
  for (std::uint32_t p = 0; p < 60; ++p)
    problems.push_back(random_problem<T>(kinds[p * 37 % kinds.size()], 2 + p * 53 % 180, p));
  const auto solutions = solve_batch<T>(problems, options);
  ASSERT_EQ(solutions.size(), problems.size());
  for (std::size_t p = 0; p < problems.size(); ++p) {
    const auto table = oracle::fill<T>(problems[p]);
    const Triangle<T> want = oracle_cells(problems[p], table);
    EXPECT_EQ(first_difference(solutions[p].table(), want), "") << "problem " << p;
    EXPECT_TRUE(same_bits(solutions[p].optimum(), whole(want))) << "problem " << p;
    EXPECT_EQ(solutions[p].trace(), table.trace()) << "problem " << p;
  }
}

TEST_P(EngineOn, ABatchOfInt32IsSolvedAsItsProblemsAre) {
  batch_equals_single_solves<std::int32_t>(options());
}
TEST_P(EngineOn, ABatchOfInt64IsSolvedAsItsProblemsAre) {
  batch_equals_single_solves<std::int64_t>(options());
}
TEST_P(EngineOn, ABatchOfFloatIsSolvedAsItsProblemsAre) { batch_equals_single_solves<float>(options()); }
TEST_P(EngineOn, ABatchOfDoubleIsSolvedAsItsProblemsAre) { batch_equals_single_solves<double>(options()); }

TEST_P(EngineOn, ABatchOfNarrowCellsIsSolvedAsItsProblemsAre) {
  std::vector<Problem<std::int32_t>> problems;
  for (std::int64_t leaves : {70, 1, 200, 64, 129, 3})
    problems.push_back(random_base_pairs<std::int32_t>(leaves, std::uint32_t(leaves)));
  Options with = options();
  with.storage = Storage::narrow;
  for (const bool falls_back : {false, true}) {
    if (falls_back) problems[2].leaves[5] = 100'000;
    const auto solutions = solve_batch<std::int32_t>(problems, with);
    for (std::size_t p = 0; p < problems.size(); ++p) {
      EXPECT_EQ(first_difference(solutions[p].table(), oracle_cells(problems[p])), "") << "problem " << p;
      EXPECT_EQ(solutions[p].report().storage, falls_back ? "int32" : "int16");
    }
  }
}

TEST_P(EngineOn, ABatchMayHaveManyProblemsOfAFewLeaves) {
  std::vector<Problem<float>> problems;
  for (std::uint32_t p = 0; p < 3'000; ++p)
    problems.push_back(random_problem<float>({.factors = true, .style = Style::one_sided}, 2 + p % 6, p));
  const auto solutions = solve_batch<float>(problems, options());
  for (std::size_t p = 0; p < problems.size(); ++p)
    EXPECT_EQ(solutions[p].optimum(), whole(oracle_cells(problems[p]))) << "problem " << p;
}

TEST_P(EngineOn, AnEmptyBatchHasNoSolutions) {
  EXPECT_TRUE(solve_batch<double>(std::span<const Problem<double>>(), options()).empty());
}

TEST_P(EngineOn, ReportsOfABatchAreOfTheirProblems) {
  std::vector<Problem<float>> problems;
  for (const std::int64_t points : {11, 101}) problems.push_back(random_problem<float>({}, points, 1));
  const auto solutions = solve_batch<float>(problems, options());
  EXPECT_EQ(solutions[0].points(), 11);
  EXPECT_EQ(solutions[0].report().pairs, 165);
  EXPECT_EQ(solutions[1].points(), 101);
  EXPECT_EQ(solutions[1].report().pairs, 166'650);
  EXPECT_EQ(solutions[0].report().seconds, solutions[1].report().seconds);
}

TEST_P(EngineOn, ABadProblemOfABatchIsNamed) {
  std::vector<Problem<std::int32_t>> problems;
  for (std::uint32_t p = 0; p < 5; ++p) problems.push_back(random_base_pairs<std::int32_t>(30, p));
  problems[3].pairing->codes[17] = 4;
  EXPECT_THAT(refusal([&] { solve_batch<std::int32_t>(problems, options()); }),
              AllOf(HasSubstr("problem 3"), HasSubstr("codes[17]")));
  problems[3].pairing->codes[17] = 3;
  problems[4].leaves.assign(30, kLargest<std::int32_t>);
  EXPECT_THAT(refusal([&] { solve_batch<std::int32_t>(problems, options()); }),
              AllOf(HasSubstr("problem 4"), HasSubstr("int64")));
}

}  // namespace
}  // namespace warploom::dp
