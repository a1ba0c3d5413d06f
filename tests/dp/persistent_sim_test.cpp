// The persistent kernel in the simulator: thread blocks that wait for each other, with the race detector.
// What the .sim files beside other kernels do for them: here the arguments are arrays of structures that hold
// pointers.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "dp/kernels.hpp"
#include "dp/problems.hpp"
#include "dp/simulated_problem.hpp"
#include "oracle/polyadic.hpp"
#include "warploom/core/file.hpp"

namespace warploom::dp {
namespace {

using sim::Schedule;

/// Kernels without factors of 32-bit types: Product's threads, and room for its shared memory.
constexpr std::uint32_t kThreads = 128, kSharedBytes = 48 * 1024;

template <class T, Arithmetic kArithmetic>
class SimulatedBatch {
 public:
  SimulatedBatch(const std::vector<Problem<T>>& problems, int edge)
      : machine_(ptx::parse(read_file(WARPLOOM_KERNEL_PTX), "persistent.ptx")) {
    std::vector<std::int64_t> first_flag;
    std::vector<DeviceCells<T, kArithmetic>> cells;
    std::vector<Terms<T>> terms;
    std::int64_t flags = 0, widest = 0;
    for (const Problem<T>& problem : problems) {
      problems_.emplace_back(machine_, problem);
      cells.push_back(problems_.back().cells());
      terms.push_back(problems_.back().terms());
      const std::int64_t along = (problem.points() + edge - 1) / edge;
      first_flag.push_back(flags);
      flags += tile_place(0, along);
      widest = std::max(widest, along);
    }
    std::vector<BlockTask> tasks;
    for (std::int32_t diagonal = 0; diagonal < widest; ++diagonal)
      for (std::size_t p = 0; p < problems.size(); ++p)
        for (std::int32_t row = 0; (row + diagonal) * edge < problems[p].points(); ++row)
          tasks.push_back({static_cast<std::int32_t>(p), row, row + diagonal});
    flags_.resize(static_cast<std::size_t>(flags));
    launch_.cells = upload(cells);
    launch_.terms = upload(terms);
    launch_.first_flag = upload(first_flag);
    launch_.flags = upload(flags_);
    launch_.tasks = upload(tasks);
    launch_.task_count = static_cast<std::int64_t>(tasks.size());
    launch_.next_task = upload(std::vector<unsigned long long>(1));
    launch_.edge = edge;
  }

  /// One problem that several shards solve, here all in one launch.
  SimulatedBatch(const Problem<T>& problem, int edge, int shards) : SimulatedBatch({problem}, edge) {
    std::vector<DeviceCells<T, kArithmetic>> cells;
    std::vector<unsigned*> flags;
    for (int shard = 0; shard < shards; ++shard) {
      if (shard > 0) problems_.emplace_back(machine_, problem);
      cells.push_back(problems_.back().cells());
      flags.push_back(upload(flags_));
    }
    launch_.cells = upload(cells);
    launch_.shard_flags = upload(flags);
    launch_.shards = shards;
  }

  void limit_multiprocessors(int count) { launch_.multiprocessors = count; }
  void stop() { launch_.stop = upload(std::vector<int>{1}); }

  sim::Outcome run(unsigned blocks, Schedule schedule) {
    const std::string kernel = "persistent<" + std::string(std::is_same_v<T, float> ? "float" : "int") +
                               ", (warploom::dp::Arithmetic)" +
                               std::to_string(static_cast<int>(kArithmetic)) + ", false, " +
                               std::to_string(launch_.edge) + ">";
    sim::LaunchOptions options;
    options.grid = {blocks};
    options.block = {kThreads};
    options.dynamic_shared = kSharedBytes;
    options.schedule = schedule;
    options.races = true;
    sim::Outcome outcome =
        machine_.launch(kernel_symbol(machine_, kernel), sim::Arguments().add(launch_), options);
    machine_.download(SimulatedProblem<T, kArithmetic>::address(launch_.flags), std::span(flags_));
    return outcome;
  }

  const std::vector<unsigned>& flags() const { return flags_; }
  Triangle<T> cells(std::size_t p) const { return problems_[p].solved(machine_); }

 private:
  template <class Element>
  Element* upload(const std::vector<Element>& values) {
    return SimulatedProblem<T, kArithmetic>::upload(machine_, values);
  }

  sim::Machine machine_;
  std::vector<SimulatedProblem<T, kArithmetic>> problems_;
  std::vector<unsigned> flags_;
  PersistentLaunch<T, kArithmetic> launch_;
};

template <class T>
std::vector<Problem<T>> problems(const Kind& kind, const std::vector<std::int64_t>& sizes) {
  std::vector<Problem<T>> result;
  for (const std::int64_t points : sizes)
    result.push_back(random_problem<T>(kind, points, static_cast<std::uint32_t>(points)));
  return result;
}

void expect_clean(const sim::Outcome& outcome) {
  EXPECT_TRUE(outcome.completed);
  for (const sim::Finding& finding : outcome.findings) ADD_FAILURE() << finding.text();
}

template <class T>
void expect_cells(const Triangle<T>& cells, const oracle::Table<T>& want) {
  for (std::int64_t i = 0; i < cells.points(); ++i)
    for (std::int64_t j = i + 1; j < cells.points(); ++j)
      ASSERT_EQ(cells(i, j), want.cells[i][j].value_or(kUnreachable<T>))
          << "cell (" << i << ", " << j << ") of " << cells.points() << " points";
}

template <Arithmetic kArithmetic, class T>
void expect_right(const std::vector<Problem<T>>& given, int edge, unsigned blocks, int multiprocessors,
                  Schedule schedule) {
  SimulatedBatch<T, kArithmetic> batch(given, edge);
  batch.limit_multiprocessors(multiprocessors);
  expect_clean(batch.run(blocks, schedule));
  for (std::size_t p = 0; p < given.size(); ++p) expect_cells(batch.cells(p), oracle::fill<T>(given[p]));
}

/// Every shard has all cells afterwards.
template <Arithmetic kArithmetic, class T>
void expect_shared(const Problem<T>& problem, int edge, int shards, unsigned blocks, Schedule schedule) {
  SimulatedBatch<T, kArithmetic> batch(problem, edge, shards);
  expect_clean(batch.run(blocks, schedule));
  const oracle::Table<T> want = oracle::fill<T>(problem);
  for (int shard = 0; shard < shards; ++shard) {
    SCOPED_TRACE(testing::Message() << "shard " << shard << " of " << shards);
    expect_cells(batch.cells(static_cast<std::size_t>(shard)), want);
  }
}

class PersistentKernel : public testing::TestWithParam<Schedule> {};

TEST_P(PersistentKernel, SolvesBatchInBlocksOf32) {
  const Kind kind{.weights = true, .pairing = true, .style = Style::two_sided};
  expect_right<Arithmetic::plain>(problems<std::int32_t>(kind, {2, 33, 130, 97}), 32, 5, 0, GetParam());
}

TEST_P(PersistentKernel, SolvesBatchInBlocksOf64) {
  const Kind kind{.weights = true, .style = Style::one_sided};
  expect_right<Arithmetic::non_negative>(problems<float>(kind, {65, 193}), 64, 3, 0, GetParam());
}

TEST_P(PersistentKernel, SolvesNarrowCells) {
  const Kind kind{.pairing = true, .style = Style::ties};
  expect_right<Arithmetic::narrow>(problems<std::int32_t>(kind, {193}), 64, 3, 0, GetParam());
}

// Of the simulator's four multiprocessors, to which its blocks go in turns.
TEST_P(PersistentKernel, LeavesMultiprocessorsAboveTheLimit) {
  const Kind kind{.style = Style::two_sided};
  expect_right<Arithmetic::plain>(problems<std::int32_t>(kind, {129}), 32, 8, 1, GetParam());
}

TEST_P(PersistentKernel, ComputesNothingOnceItIsStopped) {
  SimulatedBatch<std::int32_t, Arithmetic::plain> batch(problems<std::int32_t>({}, {129}), 32);
  batch.stop();
  expect_clean(batch.run(4, GetParam()));
  EXPECT_EQ(batch.flags(), std::vector<unsigned>(15, 0U));
}

TEST_P(PersistentKernel, ShardsStoreToEachOther) {
  const Kind kind{.weights = true, .pairing = true, .style = Style::two_sided};
  for (const int shards : {2, 3})
    expect_shared<Arithmetic::plain>(random_problem<std::int32_t>(kind, 150, 5), 32, shards, 5, GetParam());
}

TEST_P(PersistentKernel, ShardsStoreNarrowCellsWithTheirBases) {
  const Kind kind{.pairing = true, .style = Style::ties};
  expect_shared<Arithmetic::narrow>(random_problem<std::int32_t>(kind, 193, 6), 64, 2, 3, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Schedules, PersistentKernel,
                         testing::Values(Schedule::in_order, Schedule::random, Schedule::adversarial),
                         [](const auto& schedule) {
                           std::string text(sim::name(schedule.param));
                           std::erase(text, '-');
                           return text;
                         });

}  // namespace
}  // namespace warploom::dp
