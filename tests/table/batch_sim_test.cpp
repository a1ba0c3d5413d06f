// Batches (batch.cu) in the simulator, with the race detector: several slices, each longer than a warp reads
// at a time, against a map.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "table/hash_table_on.hpp"
#include "table/recorded_history.hpp"
#include "table/share.hpp"
#include "warploom/core/demangle.hpp"
#include "warploom/core/file.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::table {
namespace {

/// Counters of batch.hpp, which only nvcc can read
struct CountersImage {
  unsigned long long inserted = 0, erased = 0, full = 0, retries = 0;
};

template <class Key, class Value>
class SimulatedTable {
 public:
  using Slots = std::conditional_t<sizeof(Key) == 4 && sizeof(Value) == 4, NarrowSlots, WideSlots>;
  static constexpr std::uint32_t kChains = 40, kPool = 120, kWarps = 4;  // in two blocks

  explicit SimulatedTable(sim::Schedule schedule)
      : machine_(ptx::parse(read_file(WARPLOOM_KERNEL_PTX), "batch.ptx")), schedule_(schedule) {
    placement_.buckets = kChains;
    placement_.key_bytes = sizeof(Key);
    const std::vector<Word> lines((kChains + kPool) * kLineWords);
    lines_ = machine_.upload(std::span(lines));
    const std::vector<PoolImage> pool{pool_image(kChains, kChains + kPool)};
    pool_ = machine_.upload(std::span(pool));
    const std::vector<CountersImage> counters(1);
    counters_ = machine_.upload(std::span(counters));
  }

  /// @param skipped  operations before the batch in their array, which make it misaligned
  void run(Batch<Key, Value>& batch, std::size_t skipped, Share share = {}) {
    std::vector<Operation> operations(skipped);
    operations.insert(operations.end(), batch.operations.begin(), batch.operations.end());
    const sim::Address outcomes = machine_.upload(std::span(batch.outcomes)),
                       values = machine_.upload(std::span(batch.values));
    sim::Arguments arguments;
    arguments.add(lines_).add(pool_).add(placement_).add(std::uint64_t{batch.size()});
    arguments.add(machine_.upload(std::span(operations)) + skipped).add(Operation::find);
    arguments.add(machine_.upload(std::span(batch.keys))).add(machine_.upload(std::span(batch.operands)));
    arguments.add(outcomes).add(values).add(counters_);
    arguments.add(static_cast<std::uint32_t>((batch.size() + 32 * kWarps - 1) / (32 * kWarps) * 32))
        .add(share);
    launch(arguments);
    machine_.download(outcomes, std::span(batch.outcomes));
    machine_.download(values, std::span(batch.values));
  }

  PairMap pairs() {
    std::vector<Word> lines((kChains + kPool) * kLineWords);
    machine_.download(lines_, std::span(lines));
    std::string wrong;
    PairMap all = pairs_of<Slots>(lines, placement_, wrong);
    EXPECT_EQ(wrong, "");
    for (auto& [key, value] : all) value = static_cast<Value>(value);  // sums of 32 bits run over
    return all;
  }
  CountersImage counters() {
    std::vector<CountersImage> counters(1);
    machine_.download(counters_, std::span(counters));
    return counters[0];
  }

 private:
  void launch(const sim::Arguments& arguments) {
    sim::LaunchOptions options;
    options.grid = {2};
    options.block = {16 * kWarps};
    options.dynamic_shared = kWarps / 2 * 8192;
    options.schedule = schedule_;
    options.races = true;
    const std::string types = std::string(sizeof(Key) == 4 ? "unsigned int" : "unsigned long") + ", " +
                              (sizeof(Value) == 4 ? "unsigned int" : "unsigned long");
    for (const ptx::Function& function : machine_.module().functions) {
      if (!function.entry || !function_name(function.name).ends_with("execute<" + types + ", false>"))
        continue;
      const sim::Outcome outcome = machine_.launch(function.name, arguments, options);
      for (const sim::Finding& finding : outcome.findings) ADD_FAILURE() << finding.text();
      ASSERT_TRUE(outcome.completed);
      return;
    }
    FAIL() << "no execute<" << types << ", false>";
  }

  sim::Machine machine_;
  sim::Schedule schedule_;
  Placement placement_;
  sim::Address lines_ = 0, pool_ = 0, counters_ = 0;
};

constexpr sim::Schedule kSchedules[] = {sim::Schedule::in_order, sim::Schedule::random};

TEST(SimulatedBatches, DoWhatAMapDoes) {
  for_all_types([]<class Key, class Value>() {
    for (const sim::Schedule schedule : kSchedules) {
      SimulatedTable<Key, Value> table(schedule);
      PlainMap<Key, Value> model;
      std::mt19937_64 random(3);
      const std::vector<Key> keys = different_keys<Key>(700, 9);
      for (std::size_t round = 0; round < 3; ++round) {
        Batch<Key, Value> batch = random_batch<Key, Value>(keys, round == 2 ? 20 : 690, random),
                          expected = batch;
        run_model(model, expected);
        table.run(batch, round);
        EXPECT_EQ(batch.outcomes, expected.outcomes) << "round " << round;
        EXPECT_EQ(batch.values, expected.values) << "round " << round;
      }
      EXPECT_EQ(table.pairs(), PairMap(model.begin(), model.end()));
      const CountersImage counted = table.counters();
      EXPECT_EQ(counted.inserted - counted.erased, model.size());
    }
  });
}

TEST(SimulatedBatches, OfTablesThatShareKeysDoTheirOwn) {
  using Key = std::uint32_t;
  using Value = std::uint64_t;
  std::vector<SimulatedTable<Key, Value>> tables;
  for (int k = 0; k < 3; ++k) tables.emplace_back(sim::Schedule::random);
  PlainMap<Key, Value> model;
  std::mt19937_64 random(4);
  const std::vector<Key> keys = different_keys<Key>(700, 10);
  for (int round = 0; round < 3; ++round) {
    Batch<Key, Value> batch = random_batch<Key, Value>(keys, 650, random), expected = batch;
    run_model(model, expected);
    for (std::uint32_t k = 0; k < 3; ++k) tables[k].run(batch, 0, {k, 3, false});
    EXPECT_EQ(batch.outcomes, expected.outcomes);
    EXPECT_EQ(batch.values, expected.values);
  }
  PairMap all;
  for (std::uint32_t k = 0; k < 3; ++k)
    for (const auto& [key, value] : tables[k].pairs()) {
      EXPECT_EQ(share_of(key, 3), k);
      all.emplace(key, value);
    }
  EXPECT_EQ(all, PairMap(model.begin(), model.end()));
}

TEST(SimulatedBatches, RepeatWhatWasFullAndNothingElse) {
  SimulatedTable<std::uint32_t, std::uint32_t> table(sim::Schedule::in_order);
  Batch<std::uint32_t, std::uint32_t> batch(100);
  std::ranges::fill(batch.operations, Operation::insert);
  for (std::uint32_t i = 0; i < batch.size(); ++i) {
    batch.keys[i] = i;
    batch.outcomes[i] = i % 7 == 0 ? Outcome::full : Outcome::absent;
  }
  table.run(batch, 0, {0, 1, true});
  for (std::uint32_t i = 0; i < batch.size(); ++i)
    EXPECT_EQ(batch.outcomes[i], i % 7 == 0 ? Outcome::inserted : Outcome::absent) << i;
  EXPECT_EQ(table.pairs().size(), 15u);
}

TEST(SimulatedBatches, OperationsOnOneKeyMeet) {
  for (const sim::Schedule schedule : kSchedules) {
    SimulatedTable<std::uint32_t, std::uint64_t> table(schedule);
    Batch<std::uint32_t, std::uint64_t> batch(200);
    std::ranges::fill(batch.operations, Operation::add);
    std::ranges::fill(batch.keys, 77U);
    std::ranges::fill(batch.operands, 1U);
    batch.operations[3] = static_cast<Operation>(200);
    table.run(batch, 0);
    EXPECT_EQ(table.pairs(), (PairMap{{77, 199}}));
    EXPECT_EQ(batch.outcomes[3], Outcome::invalid);
    EXPECT_EQ(std::ranges::count(batch.outcomes, Outcome::inserted), 1);
    EXPECT_EQ(std::ranges::count(batch.outcomes, Outcome::updated), 198);
    EXPECT_EQ(table.counters().inserted, 1u);
  }
}

}  // namespace
}  // namespace warploom::table
