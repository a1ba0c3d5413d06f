// Every cell of every kind of problem, in every way that there is to compute it, against the oracle.

#include "every_device.hpp"

namespace warploom::dp {
namespace {

/// Solves and compares every cell.
template <Value T>
void expect_cells(const Problem<T>& problem, const Options& options, const Triangle<T>& want) {
  const Solution<T> solution = solve(problem, options);
  ASSERT_EQ(solution.points(), problem.points());
  EXPECT_EQ(first_difference(solution.table(), want), "") << text(options);
  EXPECT_TRUE(same_bits(solution.optimum(), whole(want))) << text(options);
}

std::vector<Kind> kinds_for(Storage storage) {
  std::vector<Kind> kinds = every_kind();
  if (storage == Storage::narrow)
    std::erase_if(kinds, [](const Kind& k) { return k.factors || k.style == Style::unreachable; });
  return kinds;
}

/// Every size, its kinds of problems and the ways to solve them in turn: on a GPU each problem in every way.
template <Value T>
void every_size(Device device, Storage storage) {
  const std::vector<Kind> kinds = kinds_for(storage);
  const std::vector<Options> ways = every_way(device, storage);
  const std::size_t problems = device.is_gpu() ? 1 : 2, ways_each = device.is_gpu() ? ways.size() : 2;
  std::size_t turn = 0, way = 0;
  for (std::int64_t points = 2; points <= 131; points += std::int64_t{kOneOf})
    for (std::size_t p = 0; p < problems; ++p) {
      // Coprime to their number, so that all have their turn at small and at large sizes.
      const Kind& kind = kinds[turn++ * 37 % kinds.size()];
      const auto problem = random_problem<T>(kind, points, static_cast<std::uint32_t>(turn));
      SCOPED_TRACE(std::to_string(points) + " points: " + text(kind));
      const Triangle<T> want = oracle_cells(problem);
      for (std::size_t w = 0; w < ways_each; ++w) expect_cells(problem, ways[way++ % ways.size()], want);
      if (testing::Test::HasFailure()) return;
    }
}

TEST_P(EngineOn, EverySizeOfInt32) { every_size<std::int32_t>(GetParam(), Storage::plain); }
TEST_P(EngineOn, EverySizeOfInt64) { every_size<std::int64_t>(GetParam(), Storage::plain); }
TEST_P(EngineOn, EverySizeOfFloat) { every_size<float>(GetParam(), Storage::plain); }
TEST_P(EngineOn, EverySizeOfDouble) { every_size<double>(GetParam(), Storage::plain); }
TEST_P(EngineOn, EverySizeOfNarrowInt32) { every_size<std::int32_t>(GetParam(), Storage::narrow); }

/// Every way at sizes around those of blocks and tiles.
template <Value T>
void every_way_at_edges(Device device, Storage storage) {
  const std::vector<Kind> kinds = kinds_for(storage);
  std::uint32_t turn = 0;
  for (const std::int64_t points : {2, 3, 16, 17, 18, 33, 64, 65, 66, 127, 128, 129, 193, 256, 257, 300}) {
    const Kind& kind = kinds[turn++ * 41 % kinds.size()];
    const auto problem = random_problem<T>(kind, points, turn);
    SCOPED_TRACE(std::to_string(points) + " points: " + text(kind));
    const Triangle<T> want = oracle_cells(problem);
    const std::vector<Options> ways = every_way(device, storage);
    for (std::size_t w = turn % kOneOf; w < ways.size(); w += kOneOf) expect_cells(problem, ways[w], want);
    if (testing::Test::HasFailure()) return;
  }
}

TEST_P(EngineOn, EveryWayOfInt32) { every_way_at_edges<std::int32_t>(GetParam(), Storage::plain); }
TEST_P(EngineOn, EveryWayOfInt64) { every_way_at_edges<std::int64_t>(GetParam(), Storage::plain); }
TEST_P(EngineOn, EveryWayOfFloat) { every_way_at_edges<float>(GetParam(), Storage::plain); }
TEST_P(EngineOn, EveryWayOfDouble) { every_way_at_edges<double>(GetParam(), Storage::plain); }
TEST_P(EngineOn, EveryWayOfNarrowInt32) { every_way_at_edges<std::int32_t>(GetParam(), Storage::narrow); }

/// Every kind, at a size of some blocks of the default.
template <Value T>
void every_kind_of_problem(Device device) {
  Options options;
  options.run.devices = {device};
  const std::vector<Kind> kinds = every_kind();
  for (std::size_t k = 0; k < kinds.size(); k += kOneOf) {
    SCOPED_TRACE(text(kinds[k]));
    const auto problem = random_problem<T>(kinds[k], 150, 7);
    expect_cells(problem, options, oracle_cells(problem));
  }
}

TEST_P(EngineOn, EveryKindOfInt32) { every_kind_of_problem<std::int32_t>(GetParam()); }
TEST_P(EngineOn, EveryKindOfInt64) { every_kind_of_problem<std::int64_t>(GetParam()); }
TEST_P(EngineOn, EveryKindOfFloat) { every_kind_of_problem<float>(GetParam()); }
TEST_P(EngineOn, EveryKindOfDouble) { every_kind_of_problem<double>(GetParam()); }

TEST_P(EngineOn, LargerProblems) {
  const Kind chain{.factors = true, .style = Style::one_sided},
      all{true, true, true, true, Optimum::maximum, Style::two_sided},
      holes{.cells = true, .pairing = true, .style = Style::unreachable};
  const auto check = [&]<class T>(const Kind& kind, std::int64_t points, T) {
    SCOPED_TRACE(text(kind));
    const auto problem = random_problem<T>(kind, kOneOf > 1 ? points / 2 : points, 11);
    expect_cells(problem, options(), oracle_cells(problem));
  };
  check(chain, 511, std::int32_t());
  check(holes, 503, std::int64_t());
  check(chain, 513, float());
  check(all, 577, float());
  check(all, 500, double());
}

TEST_P(EngineOn, SeparateCallsGiveTheSameCells) {
  const auto problem =
      random_problem<float>({.weights = true, .factors = true, .style = Style::two_sided}, 300, 3);
  const Triangle<float> want = oracle_cells(problem);
  for (Options way : every_way(GetParam(), Storage::plain)) {
    if (way.decomposition == Decomposition::persistent) continue;
    way.separate_calls = true;
    expect_cells(problem, way, want);
  }
}

TEST_P(EngineOn, MeasuringPhasesChangesNoCell) {
  const auto problem = random_problem<std::int32_t>({.cells = true, .pairing = true}, 300, 3);
  const Triangle<std::int32_t> want = oracle_cells(problem);
  for (Options way : every_way(GetParam(), Storage::plain)) {
    if (way.decomposition == Decomposition::persistent || way.block > 128) continue;
    way.phases = true;
    expect_cells(problem, way, want);
  }
}

TEST_P(EngineOn, OneLeafIsItsValue) {
  Problem<float> problem;
  problem.leaves = {2.5F};
  problem.row_weight = problem.column_weight = problem.factors = {1, 1};
  for (const Options& way : every_way(GetParam(), Storage::plain)) {
    const Solution<float> solution = solve(problem, way);
    EXPECT_EQ(solution.optimum(), 2.5F) << text(way);
    EXPECT_TRUE(solution.trace().empty());
  }
}

TEST_P(EngineOn, ALeafWithoutSolutionLeavesNone) {
  for (const Optimum optimum : {Optimum::minimum, Optimum::maximum}) {
    Problem<std::int32_t> problem;
    problem.optimum = optimum;
    problem.leaves = std::vector<std::int32_t>(70, 1);
    problem.leaves[33] = unreachable<std::int32_t>(optimum);
    const auto solution = solve(problem, options());
    EXPECT_EQ(solution.optimum(), unreachable<std::int32_t>(optimum));
    EXPECT_EQ(solution.value(0, 33), 33);
    EXPECT_EQ(solution.value(34, 70), 36);
    EXPECT_TRUE(solution.trace().empty());
  }
}

/// min or max over all trees, which are enumerated one by one.
template <Value T>
void all_trees(Device device) {
  Options options;
  options.run.devices = {device};
  std::uint32_t seed = 0;
  for (const Kind& kind : every_kind()) {
    const auto problem = random_problem<T>(kind, 3 + seed % 9, seed);
    ++seed;
    const std::vector<T> sums = oracle::every_sum(problem);
    T want = unreachable<T>(kind.optimum);
    if (!sums.empty())
      want = kind.optimum == Optimum::minimum ? std::ranges::min(sums) : std::ranges::max(sums);
    EXPECT_EQ(solve(problem, options).optimum(), want) << text(kind) << ", " << problem.points() << " points";
  }
}

TEST_P(EngineOn, TheOptimumIsThatOfAllTreesOfInt32) { all_trees<std::int32_t>(GetParam()); }
TEST_P(EngineOn, TheOptimumIsThatOfAllTreesOfInt64) { all_trees<std::int64_t>(GetParam()); }
TEST_P(EngineOn, TheOptimumIsThatOfAllTreesOfFloat) { all_trees<float>(GetParam()); }
TEST_P(EngineOn, TheOptimumIsThatOfAllTreesOfDouble) { all_trees<double>(GetParam()); }

TEST_P(EngineOn, ValuesAreThoseOfTheTable) {
  const auto problem = random_problem<double>({.weights = true, .style = Style::two_sided}, 140, 5);
  const auto solution = solve(problem, options());
  const Triangle<double> table = solution.table();
  for (const auto& [i, j] : {std::pair{0, 1}, {0, 139}, {138, 139}, {63, 64}, {64, 65}, {5, 100}, {64, 128}})
    EXPECT_EQ(solution.value(i, j), table(i, j)) << i << ", " << j;
  EXPECT_EQ(solution.optimum(), table(0, 139));
}

TEST_P(EngineOn, AValueOutsideTheTriangleIsRefused) {
  const auto solution = solve(random_problem<float>({}, 20, 1), options());
  for (const auto& [i, j] : {std::pair{-1, 3}, {0, 20}, {4, 4}, {5, 4}, {20, 21}})
    EXPECT_THAT(refusal([&] { static_cast<void>(solution.value(i, j)); }),
                testing::AllOf(testing::HasSubstr(std::to_string(i) + ", " + std::to_string(j)),
                               testing::HasSubstr("20")));
}

TEST_P(EngineOn, ACopyOutlivesTheSolution) {
  const auto problem = random_problem<std::int64_t>({.cells = true, .pairing = true}, 90, 5);
  std::vector<Solution<std::int64_t>> kept;
  std::vector<Split> trace;
  {
    const Problem<std::int64_t> gone = random_problem<std::int64_t>({.cells = true, .pairing = true}, 90, 5);
    const auto solution = solve(gone, options());
    trace = solution.trace();
    kept.push_back(solution);
  }
  EXPECT_EQ(first_difference(kept[0].table(), oracle_cells(problem)), "");
  EXPECT_EQ(kept[0].trace(), trace);
}

TEST_P(EngineOn, ReportsWhatWasDone) {
  const auto problem = random_problem<float>({.cells = true}, 300, 1);
  for (Options way : every_way(GetParam(), Storage::plain)) {
    way.phases = way.decomposition != Decomposition::persistent;
    const Report report = solve(problem, way).report();
    SCOPED_TRACE(text(way));
    EXPECT_EQ(report.device, way.run.devices.front());
    EXPECT_EQ(report.decomposition, way.decomposition);
    EXPECT_EQ(report.block, way.block);
    EXPECT_EQ(report.storage, "float32");
    EXPECT_EQ(report.fallback, "");
    EXPECT_EQ(report.pairs, 300.0 * 299 * 298 / 6);
    EXPECT_GT(report.seconds, 0);
    EXPECT_GE(report.bytes, bytes_needed(problem, Storage::plain));
    EXPECT_LE(report.bytes, bytes_needed(problem, Storage::plain) + (std::uint64_t{65} << 20));
    if (on_gpu()) {
      EXPECT_GT(report.launches, 0);
      EXPECT_GT(report.transfer_seconds, 0);
    } else {
      EXPECT_EQ(report.launches, 0);
      EXPECT_EQ(report.transfer_seconds, 0);
    }
    if (way.phases) {
      EXPECT_GT(report.triangular_seconds, 0);
      EXPECT_EQ(report.rectangular_seconds > 0, 300 > 2 * way.block);
      EXPECT_LE(report.rectangular_seconds + report.triangular_seconds, report.seconds * 1.01);
    }
  }
}

TEST_P(EngineOn, ReportsWhatWasChosen) {
  const Report report = solve(random_problem<std::int64_t>({}, 100, 1), options()).report();
  EXPECT_EQ(report.decomposition, on_gpu() ? Decomposition::persistent : Decomposition::bottom_up);
  EXPECT_TRUE(report.block == 32 || report.block == 64) << report.block;
  EXPECT_EQ(report.storage, "int64");
}

TEST_P(EngineOn, TheReportCountsCallsAsTable1) {
  const auto problem = random_problem<std::int32_t>({}, 8 * 16, 1);
  Options with = options();
  with.block = 16;
  const auto calls = [&](Decomposition decomposition) {
    with.decomposition = decomposition;
    return solve(problem, with).report().calls;
  };
  EXPECT_EQ(calls(Decomposition::bottom_up), (Calls{28, 56}));
  EXPECT_EQ(calls(Decomposition::divide_and_conquer), (Calls{28, 28}));
  EXPECT_EQ(calls(Decomposition::printed), (Calls{36, 28}));
}

}  // namespace
}  // namespace warploom::dp
