// The list's kernels in the simulator, with the race detector, on tables with nodes: what the .sim files do
// for other kernels, whose buffers need no structure.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "oracle/linearizability.hpp"
#include "oracle/random.hpp"
#include "table/list_backend.hpp"
#include "warploom/core/demangle.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::table {
namespace {

using sim::Schedule;

template <class Key, class Value>
class SimulatedList {
 public:
  using Pairs = list::PairsOf<Key, Value>;

  explicit SimulatedList(const ListLayout& layout)
      : machine_(ptx::parse(read_file(WARPLOOM_KERNEL_PTX), "list_cuda.ptx")), layout_(layout) {
    placement_.tables = 2;
    placement_.buckets = layout.heads / 2;
    placement_.hash = Hash::dek;
    placement_.key_bytes = sizeof(Key);
    words_.resize(layout.words<Pairs>());
    address_ = machine_.upload(std::span(words_));
  }

  sim::Outcome push_nodes(Schedule schedule) {
    sim::Arguments arguments;
    arguments.add(address_).add(layout_).add(std::uint32_t{0});
    return launch("push_list_nodes", pairs_name(), arguments, schedule);
  }

  /// @param batch  its outcomes and values are filled in
  sim::Outcome execute(std::vector<oracle::MapOperation>& batch, Schedule schedule) {
    std::vector<Operation> operations;
    std::vector<Key> keys;
    std::vector<Value> operands, values(batch.size());
    for (const oracle::MapOperation& operation : batch) {
      operations.push_back(operation.operation);
      keys.push_back(static_cast<Key>(operation.key));
      operands.push_back(static_cast<Value>(operation.operand));
    }
    std::vector<Outcome> outcomes(batch.size());
    const sim::Address to_outcomes = machine_.upload(std::span(outcomes)),
                       to_values = machine_.upload(std::span(values));
    const sim::Address to_tally = machine_.upload(std::span(tally_));
    sim::Arguments arguments;
    arguments.add(address_).add(layout_).add(placement_).add(std::uint64_t{batch.size()});
    arguments.add(machine_.upload(std::span(operations))).add(Operation::find);
    arguments.add(machine_.upload(std::span(keys))).add(machine_.upload(std::span(operands)));
    arguments.add(to_outcomes).add(to_values).add(to_tally);
    const std::string types = type_name<Key>() + ", " + type_name<Value>();
    sim::Outcome outcome = launch("execute_list", types, arguments, schedule);
    machine_.download(to_outcomes, std::span(outcomes));
    machine_.download(to_values, std::span(values));
    machine_.download(to_tally, std::span(tally_));
    machine_.download(address_, std::span(words_));
    for (std::size_t i = 0; i < batch.size(); ++i) batch[i].outcome = outcomes[i], batch[i].value = values[i];
    return outcome;
  }

  std::map<std::uint64_t, std::uint64_t> pairs() const {
    std::map<std::uint64_t, std::uint64_t> result;
    for (list::NodeIndex head = 0; head < layout_.heads; ++head)
      for (list::NodeIndex node = next(head); node != list::kNoNode; node = next(node)) {
        const Word word = load_acquire(node, list::kKeyWord);
        EXPECT_TRUE(result.emplace(Pairs::key(word), Pairs::value(*this, node, word)).second);
      }
    return result;
  }

  std::uint32_t free_nodes() const {
    std::uint32_t count = 0;
    for (list::NodeIndex top = layout_.first_top(); top < layout_.first_node(); ++top)
      for (list::NodeIndex node = next(top); node != list::kNoNode; node = next(node)) ++count;
    return count;
  }

  /// inserted, erased, full, retries
  const std::vector<std::uint64_t>& tally() const { return tally_; }

  Word load_acquire(list::NodeIndex node, int word) const { return words_[layout_.place<Pairs>(node, word)]; }

 private:
  list::NodeIndex next(list::NodeIndex node) const {
    return list::Link{load_acquire(node, list::kLinkWord)}.next();
  }

  template <class T>
  static std::string type_name() {
    return sizeof(T) == 4 ? "unsigned int" : "unsigned long";
  }
  static std::string pairs_name() {
    if (sizeof(Key) == 4 && sizeof(Value) == 4) return "warploom::table::list::NarrowPairs";
    return "warploom::table::list::WidePairs<" + type_name<Value>() + "> ";
  }

  sim::Outcome launch(const std::string& kernel, const std::string& types, const sim::Arguments& arguments,
                      Schedule schedule) {
    sim::LaunchOptions options;
    options.grid = {4};
    options.block = {64};
    options.schedule = schedule;
    options.races = true;
    for (const ptx::Function& function : machine_.module().functions)
      if (function.entry && function_name(function.name).ends_with(kernel + "<" + types + ">"))
        return machine_.launch(function.name, arguments, options);
    throw BadInput("there is no " + kernel + "<" + types + ">");
  }

  sim::Machine machine_;
  ListLayout layout_;
  Placement placement_;
  std::vector<Word> words_;
  std::vector<std::uint64_t> tally_ = std::vector<std::uint64_t>(4);
  sim::Address address_ = 0;
};

void expect_clean(const sim::Outcome& outcome) {
  EXPECT_TRUE(outcome.completed);
  for (const sim::Finding& finding : outcome.findings) ADD_FAILURE() << finding.text();
}

template <class Key, class Value>
void expect_linearizable(Schedule schedule, std::uint32_t nodes, std::uint32_t kinds) {
  SimulatedList<Key, Value> table({.heads = 4, .free_lists = 4, .nodes = nodes});
  expect_clean(table.push_nodes(schedule));
  Random random(nodes);
  std::map<std::uint64_t, std::uint64_t> before;
  for (int round = 0; round < 4; ++round) {
    std::vector<oracle::MapOperation> batch;
    for (int i = 0; i < 180; ++i) {
      oracle::MapOperation operation;
      operation.operation = static_cast<Operation>(random.below(kinds));
      operation.key = static_cast<Key>(0) - Key{random.below(20)};
      operation.operand = random.below(8);
      batch.push_back(operation);
    }
    expect_clean(table.execute(batch, schedule));
    const std::map<std::uint64_t, std::uint64_t> after = table.pairs();
    const auto state = [](const auto& pairs, std::uint64_t key) {
      const auto at = pairs.find(key);
      return at == pairs.end() ? oracle::KeyState{} : oracle::KeyState{at->second};
    };
    std::uint64_t fulls = 0;
    for (const oracle::MapOperation& operation : batch) fulls += operation.outcome == Outcome::full;
    for (const auto& operations : oracle::by_key(batch)) {
      const std::uint64_t key = operations.front().key;
      const auto wrong =
          oracle::batch_violation(operations, state(before, key), state(after, key), 8 * sizeof(Value));
      ASSERT_FALSE(wrong.has_value()) << *wrong;
    }
    ASSERT_EQ(after.size() + table.free_nodes(), nodes);
    before = after;
    EXPECT_EQ(table.tally()[0] - table.tally()[1], after.size());
    EXPECT_EQ(fulls > 0, nodes < 20);
    EXPECT_GE(table.tally()[2], fulls);
  }
}

class ListKernels : public testing::TestWithParam<Schedule> {};

TEST_P(ListKernels, AreLinearizableAndWithoutRaces) {
  expect_linearizable<std::uint32_t, std::uint32_t>(GetParam(), 250, kOperations);
  expect_linearizable<std::uint64_t, std::uint32_t>(GetParam(), 250, kOperations);
}

TEST_P(ListKernels, NoticeNodesThatAreUsedAgain) {
  expect_linearizable<std::uint32_t, std::uint32_t>(GetParam(), 9, 3);
  expect_linearizable<std::uint64_t, std::uint64_t>(GetParam(), 9, 3);
}

INSTANTIATE_TEST_SUITE_P(Schedules, ListKernels,
                         testing::Values(Schedule::in_order, Schedule::random, Schedule::adversarial),
                         [](const auto& schedule) {
                           return schedule.param == Schedule::in_order
                                      ? std::string("in_order")
                                      : std::string(sim::name(schedule.param));
                         });

}  // namespace
}  // namespace warploom::table
