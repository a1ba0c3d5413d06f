// What a solution on a GPU keeps there, takes from it and says of it. The engine's tests compare cells.

#include <chrono>
#include <future>
#include <thread>

#include "every_device.hpp"
#include "warploom/core/run.hpp"

namespace warploom::dp {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Clock = std::chrono::steady_clock;

Options on_gpu(Decomposition decomposition = Decomposition::persistent, Storage storage = Storage::plain) {
  Options options;
  options.run.devices = {Device::cuda};
  options.decomposition = decomposition;
  options.storage = storage;
  return options;
}

constexpr Decomposition kBoth[] = {Decomposition::persistent, Decomposition::bottom_up};

template <Value T>
std::string memory_refusal(std::int64_t leaves, const Options& options) {
  Problem<T> problem;
  problem.leaves.assign(static_cast<std::size_t>(leaves), T(1));
  try {
    solve(problem, options);
  } catch (const OutOfMemory& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(CudaStore, RefusesMoreThanTheGpuHasInOneLine) {
  for (const Decomposition decomposition : kBoth)
    EXPECT_THAT(
        memory_refusal<std::int64_t>(2'000'000, on_gpu(decomposition)),
        AllOf(HasSubstr("n = 2000000 needs 16.0 TB of the GPU"), HasSubstr("are free"), HasSubstr("`type`"),
              HasSubstr("`device` cpu"), Not(HasSubstr("narrow")), Not(HasSubstr("\n"))));
}

TEST(CudaStore, RefusalOfInt32ProposesNarrowStorage) {
  EXPECT_THAT(memory_refusal<std::int32_t>(2'000'000, on_gpu()), HasSubstr("`storage` narrow"));
  EXPECT_THAT(memory_refusal<std::int32_t>(2'000'000, on_gpu(Decomposition::persistent, Storage::narrow)),
              AllOf(HasSubstr("are free"), Not(HasSubstr("`storage` narrow"))));
}

TEST(CudaStore, AnInterruptStopsALongSolution) {
  const auto problem =
      random_problem<std::int64_t>({.style = Style::two_sided}, 40'001, 1);  // seconds of an H200
  for (const Decomposition decomposition : kBoth) {
    std::atomic<bool> stop = false;
    const RunScope scope({.stop = &stop});
    auto requested = std::async(std::launch::async, [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      stop = true;
      return Clock::now();
    });
    EXPECT_THROW(solve(problem, on_gpu(decomposition)), Interrupted) << name(decomposition);
    const std::chrono::duration<double> late = Clock::now() - requested.get();
    stop = false;
    EXPECT_LT(late.count(), 0.5) << name(decomposition);
    const auto next = random_problem<std::int64_t>({}, 100, 2);
    EXPECT_EQ(solve(next, on_gpu()).optimum(), whole(oracle_cells(next)));
  }
}

template <Value T>
void table_and_value_agree(const Problem<T>& problem, Storage storage) {
  const auto solution = solve(problem, on_gpu(Decomposition::persistent, storage));
  const Triangle<T> table = solution.table();
  Random random(5);
  const std::int64_t points = problem.points();
  for (int k = 0; k < 300; ++k) {
    const std::int64_t j = 1 + random.below(static_cast<std::uint32_t>(points - 1));
    const std::int64_t i = random.below(static_cast<std::uint32_t>(j));
    EXPECT_EQ(solution.value(i, j), table(i, j)) << i << ", " << j;
  }
  for (std::int64_t i = 0; i + 1 < points; ++i) EXPECT_EQ(table(i, i + 1), problem.leaves[std::size_t(i)]);
  EXPECT_EQ(solution.optimum(), whole(table));
  EXPECT_EQ(solution.value(0, points - 1), whole(table));
}

constexpr std::int64_t kSeveralChunks = 6'000;  // points of which a table is copied in several chunks

TEST(CudaStore, TableAndValueAgreeForEveryType) {
  const Kind kind{.weights = true, .style = Style::two_sided};
  table_and_value_agree(random_problem<std::int32_t>(kind, kSeveralChunks, 1), Storage::plain);
  table_and_value_agree(random_problem<std::int64_t>(kind, kSeveralChunks, 2), Storage::plain);
  table_and_value_agree(random_problem<float>(kind, kSeveralChunks, 3), Storage::plain);
  table_and_value_agree(random_problem<double>(kind, kSeveralChunks, 4), Storage::plain);
}

TEST(CudaStore, TableAndValueAgreeInNarrowStorage) {
  table_and_value_agree(random_base_pairs<std::int32_t>(kSeveralChunks, 1), Storage::narrow);
}

TEST(CudaStore, NarrowTablesAreThoseOfPlainStorage) {
  const auto problem = random_base_pairs<std::int32_t>(kSeveralChunks, 2);
  const auto narrow = solve(problem, on_gpu(Decomposition::persistent, Storage::narrow));
  EXPECT_EQ(narrow.report().storage, "int16");
  EXPECT_EQ(first_difference(narrow.table(), solve(problem, on_gpu()).table()), "");
}

TEST(CudaStore, CellWeightsArriveInSeveralChunks) {
  const auto problem = random_problem<std::int64_t>({.cells = true, .style = Style::two_sided}, 2'600, 1);
  Options cpu;
  cpu.run.devices = {Device::cpu};
  EXPECT_EQ(first_difference(solve(problem, on_gpu()).table(), solve(problem, cpu).table()), "");
}

// Terms above 64 KB leave pageable memory in the background.
TEST(CudaStore, LongTermsArriveBeforeTheSolutionStarts) {
  constexpr std::int32_t kLeaves = 20'000;
  Problem<std::int32_t> problem;
  problem.leaves.assign(kLeaves, 1);  // whatever the splits, an interval's cell is its length
  for (const Decomposition decomposition : kBoth)
    for (int repeat = 0; repeat < 4; ++repeat)
      EXPECT_EQ(solve(problem, on_gpu(decomposition)).optimum(), kLeaves) << name(decomposition);
}

TEST(CudaStore, AThousandShortProblemsAreSolvedAsOneByOne) {
  std::vector<Problem<std::int32_t>> problems;
  for (std::uint32_t p = 0; p < 1'000; ++p)
    problems.push_back(random_base_pairs<std::int32_t>(150 + p * 37 % 101, p));
  const auto solutions = solve_batch<std::int32_t>(problems, on_gpu());
  EXPECT_EQ(solutions.front().report().launches, 1);
  for (std::size_t p = 0; p < problems.size(); ++p) {
    const auto alone = solve(problems[p], on_gpu());
    EXPECT_EQ(solutions[p].optimum(), alone.optimum()) << "problem " << p;
    if (p % 20 != 0) continue;
    EXPECT_EQ(first_difference(solutions[p].table(), alone.table()), "") << "problem " << p;
    EXPECT_EQ(solutions[p].trace(), alone.trace()) << "problem " << p;
  }
}

TEST(CudaStore, ReportsTimesAndMemory) {
  const auto problem = random_problem<float>({.cells = true, .style = Style::one_sided}, 1'000, 1);
  for (const Decomposition decomposition : kBoth) {
    const Report report = solve(problem, on_gpu(decomposition)).report();
    EXPECT_GT(report.seconds, 0);
    EXPECT_GT(report.transfer_seconds, 0);
    EXPECT_GE(report.bytes, bytes_needed(problem, Storage::plain));
  }
}

TEST(CudaStore, BottomUpLaunchesTwiceADiagonal) {
  const auto problem = random_problem<float>({}, 1'000, 1);
  Options options = on_gpu(Decomposition::bottom_up);
  options.block = 64;
  const Report report = solve(problem, options).report();
  EXPECT_EQ(report.launches, 16 + 14);  // of 16 diagonals of blocks two have no product
  EXPECT_EQ(report.calls, (Calls{.triangular = 120, .rectangular = 560}));
}

TEST(CudaStore, PhasesAddUpToTheSolution) {
  const auto problem = random_problem<float>({}, 4'000, 1);
  Options options = on_gpu(Decomposition::bottom_up);
  options.phases = true;
  for (const bool separate : {false, true}) {
    options.separate_calls = separate;
    options.block = separate ? 512 : 64;
    const Report report = solve(problem, options).report();
    EXPECT_GT(report.rectangular_seconds, 0);
    EXPECT_GT(report.triangular_seconds, 0);
    EXPECT_NEAR(report.rectangular_seconds + report.triangular_seconds, report.seconds,
                0.05 * report.seconds);
  }
}

TEST(CudaStore, FewerMultiprocessorsTakeLongerForTheSameCells) {
  const auto problem = random_problem<std::int32_t>({.style = Style::two_sided}, 6'000, 1);
  const auto all = solve(problem, on_gpu());
  Options options = on_gpu();
  options.multiprocessors = 4;
  const auto few = solve(problem, options);
  EXPECT_GT(few.report().seconds, 2 * all.report().seconds);
  EXPECT_EQ(first_difference(few.table(), all.table()), "");
}

}  // namespace
}  // namespace warploom::dp
