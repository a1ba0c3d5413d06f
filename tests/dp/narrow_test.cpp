// 16 bits a cell above a base for each tile: exact, or not used.

#include "every_device.hpp"

namespace warploom::dp {
namespace {

using testing::HasSubstr;

Options narrow(Options options) {
  options.storage = Storage::narrow;
  return options;
}

TEST_P(EngineOn, NarrowCellsOfBasePairsAreExact) {
  for (const std::int64_t leaves : {1, 4, 5, 63, 64, 65, 127, 128, 129, 350}) {
    const auto problem = random_base_pairs<std::int32_t>(leaves, 9);
    const auto solution = solve(problem, narrow(options()));
    EXPECT_EQ(first_difference(solution.table(), oracle_cells(problem)), "") << leaves << " leaves";
    EXPECT_EQ(solution.report().storage, "int16");
    EXPECT_EQ(solution.report().fallback, "");
  }
}

// Cells that 16 bits alone do not hold.
TEST_P(EngineOn, NarrowCellsLieAboveTheirTilesBase) {
  for (const Optimum optimum : {Optimum::minimum, Optimum::maximum})
    for (const std::int32_t sign : {1, -1}) {
      if (kOneOf > 1 && (optimum == Optimum::minimum || sign > 0)) continue;
      Problem<std::int32_t> problem;
      problem.optimum = optimum;
      Random random(3);
      for (int k = 0; k < 600; ++k)
        problem.leaves.push_back(sign * static_cast<std::int32_t>(55 + random.below(8)));
      problem.row_weight.assign(601, -sign * 5);
      problem.column_weight.assign(601, sign * 7);
      const auto solution = solve(problem, narrow(options()));
      EXPECT_GT(std::abs(solution.optimum()), 35'000);
      EXPECT_EQ(first_difference(solution.table(), oracle_cells(problem)), "");
      EXPECT_EQ(solution.report().storage, "int16");
    }
}

TEST_P(EngineOn, NarrowCellsAreThePlainOnesOfALargerProblem) {
  const auto problem = random_base_pairs<std::int32_t>(kOneOf > 1 ? 700 : 2'100, 1);
  Options plain = options();
  plain.storage = Storage::plain;
  const auto got = solve(problem, narrow(options())), want = solve(problem, plain);
  EXPECT_EQ(got.report().storage, "int16");
  EXPECT_EQ(want.report().storage, "int32");
  EXPECT_LT(got.report().bytes, want.report().bytes);
  EXPECT_EQ(first_difference(got.table(), want.table()), "");
}

// One leaf among many stands out, in the first, an inner and the last tile.
TEST_P(EngineOn, DifferencesThatDoNotFitFallBackToPlainCells) {
  for (const std::size_t where : {std::size_t{20}, std::size_t{100}, std::size_t{199}})
    for (const std::int32_t value : {40'000, -40'000, 2'000'000}) {
      SCOPED_TRACE("leaf " + std::to_string(where) + " is " + std::to_string(value));
      auto problem = random_base_pairs<std::int32_t>(200, 5);
      problem.leaves[where] = value;
      const auto solution = solve(problem, narrow(options()));
      EXPECT_EQ(first_difference(solution.table(), oracle_cells(problem)), "");
      EXPECT_EQ(solution.report().storage, "int32");
      EXPECT_THAT(solution.report().fallback, HasSubstr("16 bits"));
    }
}

// From differences that surely fit to such that surely do not.
TEST_P(EngineOn, NarrowCellsAreExactOnBothSidesOfTheLimit) {
  int narrow_ones = 0, plain_ones = 0;
  for (std::int32_t step = 20; step < 1'000; step = kOneOf == 1 ? step * 5 / 4 : 3 * step)
    for (const Optimum optimum : {Optimum::minimum, Optimum::maximum}) {
      SCOPED_TRACE("step " + std::to_string(step));
      Problem<std::int32_t> problem;
      problem.optimum = optimum;
      Random random(static_cast<std::uint32_t>(step));
      const auto terms = [&](std::size_t count) {
        std::vector<std::int32_t> values;
        while (values.size() < count)
          values.push_back(static_cast<std::int32_t>(random.below(2 * std::uint32_t(step))) - step);
        return values;
      };
      problem.leaves = terms(260);
      problem.row_weight = terms(261);
      problem.column_weight = terms(261);
      const auto solution = solve(problem, narrow(options()));
      EXPECT_EQ(first_difference(solution.table(), oracle_cells(problem)), "");
      ++(solution.report().storage == "int16" ? narrow_ones : plain_ones);
      EXPECT_EQ(solution.report().fallback.empty(), solution.report().storage == "int16");
    }
  EXPECT_GT(narrow_ones, 0);
  EXPECT_GT(plain_ones, 0);
}

TEST_P(EngineOn, NarrowStorageIsRefusedWhereItCanNotServe) {
  const auto refused = [&](const auto& problem, Options with) {
    return refusal([&] { solve(problem, narrow(with)); });
  };
  EXPECT_THAT(refused(random_problem<float>({}, 90, 1), options()), HasSubstr("int32"));
  auto problem = random_problem<std::int32_t>({.factors = true}, 90, 1);
  EXPECT_THAT(refused(problem, options()), HasSubstr("factors"));
  problem = random_problem<std::int32_t>({}, 90, 1);
  problem.leaves[7] = kUnreachable<std::int32_t>;
  EXPECT_THAT(refused(problem, options()), HasSubstr("no solution"));
  Options small = options();
  small.decomposition = Decomposition::bottom_up;
  small.block = 32;
  EXPECT_THAT(refused(random_problem<std::int32_t>({}, 90, 1), small), HasSubstr("32"));
}

// Cells of cell_weight that are not read may hold anything.
TEST_P(EngineOn, NarrowStorageLooksAtNoWeightThatIsNotRead) {
  auto problem = random_problem<std::int32_t>({.cells = true}, 90, 1);
  Triangle<std::int32_t>& weights = problem.cell_weight;
  for (std::int64_t i = 0; i + 1 < 90; ++i) weights(i, i) = weights(i, i + 1) = kUnreachable<std::int32_t>;
  const auto solution = solve(problem, narrow(options()));
  EXPECT_EQ(solution.report().storage, "int16");
  EXPECT_EQ(first_difference(solution.table(), oracle_cells(problem)), "");
}

TEST_P(EngineOn, StorageIsChosenByTheProblem) {
  const auto storage = [&](const Problem<std::int32_t>& problem) {
    return solve(problem, options()).report().storage;
  };
  EXPECT_EQ(storage(random_base_pairs<std::int32_t>(100, 1)), "int32");
  EXPECT_EQ(storage(random_base_pairs<std::int32_t>(2'100, 1)), "int16");
  if (kOneOf > 1) return;  // as large a problem again, in plain cells
  auto problem = random_base_pairs<std::int32_t>(2'100, 1);
  problem.leaves[3] = 200'000;
  EXPECT_EQ(storage(problem), "int32");
}

TEST_P(EngineOn, NarrowStorageNeedsHalfTheBytes) {
  const auto problem = random_base_pairs<std::int32_t>(5'000, 1);
  const auto narrow_bytes = static_cast<double>(bytes_needed(problem, Storage::narrow));
  const auto plain_bytes = static_cast<double>(bytes_needed(problem, Storage::plain));
  EXPECT_NEAR(narrow_bytes / plain_bytes, 0.5, 0.01);
  EXPECT_NEAR(plain_bytes / 4 / (5'000.0 * 5'000 / 2), 1, 0.05);
}

}  // namespace
}  // namespace warploom::dp
