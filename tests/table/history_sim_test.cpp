// Histories of the threads of a kernel in the simulator, with the race detector: what gpu_history_test.cpp
// does on a GPU.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "oracle/linearizability.hpp"
#include "table/recorded_history.hpp"
#include "warploom/core/demangle.hpp"
#include "warploom/core/file.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::table {
namespace {

using sim::Schedule;

template <class Key, class Value>
void check(const Workload& workload, Schedule schedule) {
  using Slots = std::conditional_t<sizeof(Key) == 4 && sizeof(Value) == 4, NarrowSlots, WideSlots>;
  sim::Machine machine(ptx::parse(read_file(WARPLOOM_KERNEL_PTX), "history_kernel.ptx"));
  Placement placement;
  placement.buckets = workload.chains;
  placement.key_bytes = sizeof(Key);
  std::vector<Word> lines(std::size_t{workload.chains + workload.pool} * kLineWords);
  const std::vector<PoolImage> pool{pool_image(workload.chains, workload.chains + workload.pool)};
  const std::vector<HistoryStep> steps = steps_of(workload);
  std::vector<HistoryAnswer> answers(steps.size());
  const auto threads = static_cast<std::uint32_t>(workload.threads.size());
  const sim::Address to_lines = machine.upload(std::span(lines)),
                     to_answers = machine.upload(std::span(answers));
  sim::Arguments arguments;
  arguments.add(to_lines).add(machine.upload(std::span(pool))).add(placement);
  arguments.add(machine.upload(std::span(steps))).add(to_answers);
  arguments.add(threads).add(static_cast<std::uint32_t>(workload.threads.front().size()));
  sim::LaunchOptions options;
  options.block = {threads};  // one block: each has a clock of its own here
  options.schedule = schedule;
  options.races = true;
  const std::string type = sizeof(Key) == 4 ? "unsigned int" : "unsigned long";
  for (const ptx::Function& function : machine.module().functions) {
    if (!function.entry ||
        !function_name(function.name).ends_with("record_history<" + type + ", " + type + ">"))
      continue;
    const sim::Outcome outcome = machine.launch(function.name, arguments, options);
    ASSERT_TRUE(outcome.completed);
    for (const sim::Finding& finding : outcome.findings) ADD_FAILURE() << finding.text();
  }
  machine.download(to_lines, std::span(lines));
  machine.download(to_answers, std::span(answers));
  std::vector<oracle::MapOperation> history = history_of(workload, answers, 1);
  std::string wrong;
  const PairMap after = pairs_of<Slots>(lines, placement, wrong);
  EXPECT_EQ(wrong, "");
  EXPECT_EQ(balance(history), static_cast<std::int64_t>(after.size()));
  const auto what = oracle::map_violation(
      history, [](std::uint64_t) { return oracle::KeyState{}; }, 8 * sizeof(Value));
  EXPECT_FALSE(what) << *what;
  // A batch's check, which knows less of times and more of the end.
  for (const auto& part : oracle::by_key(history)) {
    const auto of_key =
        oracle::batch_violation(part, {}, state_of(after, part.front().key), 8 * sizeof(Value));
    EXPECT_FALSE(of_key) << *of_key;
  }
}

class SimulatedHistories : public testing::TestWithParam<std::size_t> {};

TEST_P(SimulatedHistories, OfAKernelAreLinearizable) {
  const Workload workload = adversarial_workloads(96, 4, 12).at(GetParam());
  for (const Schedule schedule : {Schedule::in_order, Schedule::random}) {
    check<std::uint32_t, std::uint32_t>(workload, schedule);
    check<std::uint64_t, std::uint64_t>(workload, schedule);
  }
}

INSTANTIATE_TEST_SUITE_P(Workloads, SimulatedHistories, testing::Range(std::size_t{0}, std::size_t{5}));

}  // namespace
}  // namespace warploom::table
