// Histories of a GPU's threads, checked key by key: of operations in a kernel, by the clock that all
// multiprocessors share, and of batches, whose operations are all concurrent.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "core/cuda/owners.hpp"
#include "oracle/linearizability.hpp"
#include "table/recorded_history.hpp"

namespace warploom::table {
namespace {

using oracle::MapOperation;

template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t count) : count_(count), memory_(make_device<T>(count)) {
    cuda_check(cudaMemset(get(), 0, count * sizeof(T)), "cudaMemset");
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    cuda_check(cudaMemcpy(get(), values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  T* get() const { return memory_.get(); }
  std::vector<T> fetch() const {
    std::vector<T> values(count_);
    cuda_check(cudaMemcpy(values.data(), get(), count_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }

 private:
  std::size_t count_;
  DeviceArray<T> memory_;
};

/// Lines and pool of a table that is empty.
template <class Key, class Value>
struct Table {
  using Slots = std::conditional_t<sizeof(Key) == 4 && sizeof(Value) == 4, NarrowSlots, WideSlots>;

  Table(std::uint32_t chains, std::uint32_t pool_lines)
      : lines(std::size_t{chains + pool_lines} * kLineWords),
        pool(std::vector<PoolImage>{pool_image(chains, chains + pool_lines)}) {
    placement.buckets = chains;
    placement.key_bytes = sizeof(Key);
  }
  DeviceMemory memory() const { return {lines.get(), reinterpret_cast<LinePool*>(pool.get()), placement}; }
  PairMap pairs() const {
    std::string wrong;
    const PairMap pairs = pairs_of<Slots>(lines.fetch(), placement, wrong);
    EXPECT_EQ(wrong, "");
    return pairs;
  }

  Buffer<Word> lines;
  Buffer<PoolImage> pool;
  Placement placement;
};

/// The tick of the clock, which is as far as a reading may be behind the time. Once more for what two
/// multiprocessors' readings may differ by.
std::uint64_t clock_doubt() {
  const Buffer<std::uint64_t> steps(2);
  launch_measure_clock(steps.get(), nullptr);
  return 2 * steps.fetch().at(1);
}

void print_concurrency(const Workload& workload, std::vector<MapOperation> history, std::uint64_t doubt) {
  std::sort(history.begin(), history.end(), [](const auto& a, const auto& b) { return a.called < b.called; });
  std::multiset<std::uint64_t> returns;
  std::size_t most = 0, sum = 0;
  for (const MapOperation& operation : history) {
    returns.erase(returns.begin(), returns.lower_bound(operation.called));
    returns.insert(operation.returned);
    most = std::max(most, returns.size());
    sum += returns.size();
  }
  std::cout << workload.name << ": " << history.size() << " operations, clock in doubt by " << doubt
            << " ns, " << sum / history.size() << " under way on average, " << most << " at most\n";
}

template <class Key, class Value>
void check_kernel(const Workload& workload, int rounds) {
  const std::uint64_t doubt = clock_doubt();
  const Table<Key, Value> table(workload.chains, workload.pool);
  const Buffer<HistoryStep> steps(steps_of(workload));
  const auto threads = static_cast<std::uint32_t>(workload.threads.size());
  const auto each = static_cast<std::uint32_t>(workload.threads.front().size());
  PairMap before;
  for (int round = 0; round < rounds; ++round) {
    const Buffer<HistoryAnswer> answers(std::size_t{threads} * each);
    launch_record_history<Key, Value>(table.memory(), steps.get(), answers.get(), threads, each, nullptr);
    std::vector<MapOperation> history = history_of(workload, answers.fetch(), doubt);
    if (round == 0) print_concurrency(workload, history, doubt);
    const PairMap after = table.pairs();
    EXPECT_EQ(balance(history),
              static_cast<std::int64_t>(after.size()) - static_cast<std::int64_t>(before.size()));
    // What was left is what a find of each key after all the others gives.
    const std::uint64_t end =
        std::max_element(history.begin(), history.end(), [](const auto& a, const auto& b) {
          return a.returned < b.returned;
        })->returned;
    for (std::uint64_t key = 0; key < workload.keys; ++key) {
      const oracle::KeyState left = state_of(after, key);
      history.push_back({Operation::find, key, 0, left ? Outcome::found : Outcome::absent, left.value_or(0),
                         end + 1, end + 1});
    }
    const auto what = oracle::map_violation(
        history, [&](std::uint64_t key) { return state_of(before, key); }, 8 * sizeof(Value));
    ASSERT_FALSE(what) << *what;
    before = after;
  }
}

/// The workload's operations as one batch, with `alongside` the half of them in a kernel of its own at the
/// same time.
template <class Key, class Value>
void check_batch(const Workload& workload, int rounds, bool alongside) {
  const Table<Key, Value> table(workload.chains, workload.pool);
  const std::vector<HistoryStep> steps = steps_of(workload);
  const auto each = static_cast<std::uint32_t>(workload.threads.front().size());
  const auto in_kernel = alongside ? static_cast<std::uint32_t>(workload.threads.size() / 2) : 0u;
  const std::size_t first = std::size_t{in_kernel} * each;
  std::vector<Operation> operations;
  std::vector<Key> keys;
  std::vector<Value> operands;
  for (const HistoryStep& step : std::span(steps).subspan(first)) {
    operations.push_back(step.operation);
    keys.push_back(static_cast<Key>(step.key));
    operands.push_back(static_cast<Value>(step.operand));
  }
  const Buffer<HistoryStep> to_steps(steps);
  const Buffer<Operation> to_operations(operations);
  const Buffer<Key> to_keys(keys);
  const Buffer<Value> to_operands(operands);
  const CudaStream batch_stream = make_stream(), kernel_stream = make_stream();
  PairMap before;
  for (int round = 0; round < rounds; ++round) {
    const Buffer<HistoryAnswer> answers(std::max<std::size_t>(first, 1));
    const Buffer<Outcome> outcomes(keys.size());
    const Buffer<Value> values(keys.size());
    const Buffer<Counters> counters(1);
    if (alongside)
      launch_record_history<Key, Value>(table.memory(), to_steps.get(), answers.get(), in_kernel, each,
                                        kernel_stream.get());
    launch_batch<Key, Value>(table.memory(),
                             {.count = keys.size(),
                              .operations = to_operations.get(),
                              .keys = to_keys.get(),
                              .operands = to_operands.get(),
                              .outcomes = outcomes.get(),
                              .values = values.get(),
                              .counters = counters.get()},
                             0, batch_stream.get());
    cuda_check(cudaDeviceSynchronize(), "batch and kernel");
    std::vector<HistoryAnswer> all = answers.fetch();
    all.resize(first);
    const std::vector<Outcome> batch_outcomes = outcomes.fetch();
    const std::vector<Value> batch_values = values.fetch();
    for (std::size_t i = 0; i < keys.size(); ++i)
      all.push_back({.value = batch_values[i], .outcome = batch_outcomes[i]});
    const std::vector<MapOperation> history = history_of(workload, all, 0);
    const PairMap after = table.pairs();
    EXPECT_EQ(balance(history),
              static_cast<std::int64_t>(after.size()) - static_cast<std::int64_t>(before.size()));
    for (const std::vector<MapOperation>& part : oracle::by_key(history)) {
      const std::uint64_t key = part.front().key;
      const auto what =
          oracle::batch_violation(part, state_of(before, key), state_of(after, key), 8 * sizeof(Value));
      ASSERT_FALSE(what) << "key " << key << ": " << *what;
    }
    before = after;
  }
}

class GpuHistories : public testing::TestWithParam<std::size_t> {
 protected:
  /// Threads enough for all multiprocessors in a kernel; a crowd of 12 is what the check of histories bears.
  /// Of Zipf's keys, the last workload's, the first is the key of every seventh thread.
  const Workload crowds = adversarial_workloads(GetParam() == 4 ? 96 : 6144, 12, 12).at(GetParam());
  const Workload multitude = adversarial_workloads(8192, 16, 2048).at(GetParam());
};

TEST_P(GpuHistories, OfAKernelAreLinearizable) {
  check_kernel<std::uint32_t, std::uint32_t>(crowds, 3);
  check_kernel<std::uint64_t, std::uint64_t>(crowds, 3);
}

TEST_P(GpuHistories, OfABatchAreLinearizable) {
  check_batch<std::uint32_t, std::uint32_t>(multitude, 8, false);
  check_batch<std::uint64_t, std::uint64_t>(multitude, 8, false);
}

TEST_P(GpuHistories, OfABatchBesideAKernelAreLinearizable) {
  check_batch<std::uint32_t, std::uint32_t>(multitude, 8, true);
  check_batch<std::uint64_t, std::uint64_t>(multitude, 8, true);
}

INSTANTIATE_TEST_SUITE_P(Workloads, GpuHistories, testing::Range(std::size_t{0}, std::size_t{5}));

}  // namespace
}  // namespace warploom::table
