#include "oracle/linearizability.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "oracle/random.hpp"

namespace warploom::oracle {
namespace {

using table::Operation;
using table::Outcome;
using History = std::vector<MapOperation>;

struct Time {
  std::uint64_t called, returned;
};
MapOperation find(Time t) { return {Operation::find, 0, 0, Outcome::absent, 0, t.called, t.returned}; }
MapOperation find(Time t, std::uint64_t value) {
  return {Operation::find, 0, 0, Outcome::found, value, t.called, t.returned};
}
MapOperation insert(Time t, std::uint64_t value) {
  return {Operation::insert, 0, value, Outcome::inserted, 0, t.called, t.returned};
}
MapOperation insert(Time t, std::uint64_t value, std::uint64_t there) {
  return {Operation::insert, 0, value, Outcome::found, there, t.called, t.returned};
}
MapOperation erase(Time t, Outcome outcome = Outcome::erased) {
  return {Operation::erase, 0, 0, outcome, 0, t.called, t.returned};
}
MapOperation update(Operation operation, Time t, std::uint64_t operand, std::uint64_t before) {
  return {operation, 0, operand, Outcome::updated, before, t.called, t.returned};
}

bool linearizable(const History& history, KeyState initial = {}, int value_bits = 64) {
  return !violation(history, initial, value_bits);
}

TEST(Linearizability, AcceptsOperationsOneAfterTheOther) {
  EXPECT_TRUE(linearizable({find({0, 1}), insert({2, 3}, 5), insert({4, 5}, 6, 5), find({6, 7}, 5),
                            erase({8, 9}), erase({10, 11}, Outcome::absent), find({12, 13})}));
  EXPECT_TRUE(linearizable(
      {update(Operation::assign, {0, 1}, 7, 5), update(Operation::add, {2, 3}, 2, 7),
       update(Operation::min, {4, 5}, 4, 9), update(Operation::max, {6, 7}, 3, 4), find({8, 9}, 4)},
      5));
}

TEST(Linearizability, AcceptsAnyOrderOfConcurrentOperations) {
  EXPECT_TRUE(linearizable({insert({0, 10}, 5), find({1, 2})}));
  EXPECT_TRUE(linearizable({insert({0, 10}, 5), find({1, 2}, 5)}));
  EXPECT_TRUE(linearizable({insert({0, 10}, 5), insert({0, 10}, 6, 5), erase({0, 10}), find({0, 10}, 5)}));
  EXPECT_TRUE(linearizable({erase({5, 9}), insert({0, 6}, 5), insert({6, 12}, 6)}));
}

TEST(Linearizability, TakesEqualTicksForConcurrent) {
  EXPECT_TRUE(linearizable({insert({0, 3}, 5), find({3, 4})}));
  EXPECT_FALSE(linearizable({insert({0, 3}, 5), find({4, 5})}));
}

TEST(Linearizability, SeesALostInsertion) {
  EXPECT_FALSE(linearizable({insert({0, 1}, 5), find({2, 3})}));
  EXPECT_FALSE(linearizable({insert({0, 1}, 5), erase({2, 3}, Outcome::absent)}));
}

TEST(Linearizability, SeesAKeyInsertedTwice) {
  EXPECT_FALSE(linearizable({insert({0, 9}, 5), insert({0, 9}, 6)}));
  EXPECT_FALSE(linearizable({insert({0, 9}, 5), insert({0, 9}, 6), insert({0, 9}, 7), erase({0, 9})}));
}

TEST(Linearizability, SeesAStaleFind) {
  EXPECT_FALSE(linearizable({erase({0, 1}), find({2, 3}, 5)}, 5));
  EXPECT_FALSE(linearizable({update(Operation::assign, {0, 1}, 6, 5), find({2, 3}, 5)}, 5));
}

TEST(Linearizability, SeesFindsInAnOrderThatNoInsertionHas) {
  EXPECT_TRUE(linearizable({insert({0, 20}, 5), find({1, 2}), find({3, 4}, 5)}));
  EXPECT_FALSE(linearizable({insert({0, 20}, 5), find({1, 2}, 5), find({3, 4})}));
}

TEST(Linearizability, SeesAValueThatNobodyWrote) {
  EXPECT_FALSE(linearizable({insert({0, 9}, 5), find({0, 9}, 6)}));
  EXPECT_FALSE(linearizable({insert({0, 9}, 5, 6)}));
}

TEST(Linearizability, SeesAPairErasedTwice) {
  EXPECT_FALSE(linearizable({erase({0, 9}), erase({0, 9})}, 5));
  EXPECT_TRUE(linearizable({erase({0, 9}), erase({0, 9}, Outcome::absent)}, 5));
}

TEST(Linearizability, SeesALostUpdate) {
  for (const Operation operation : {Operation::add, Operation::assign, Operation::max})
    EXPECT_FALSE(linearizable({update(operation, {0, 9}, 7, 5), update(operation, {0, 9}, 8, 5)}, 5))
        << name(operation);
  EXPECT_FALSE(linearizable({update(Operation::min, {0, 9}, 3, 5), update(Operation::min, {0, 9}, 2, 5)}, 5));
  EXPECT_TRUE(linearizable({update(Operation::add, {0, 9}, 7, 5), update(Operation::add, {0, 9}, 8, 12)}, 5));
}

TEST(Linearizability, SeesAnUpdateOfAnErasedPair) {
  EXPECT_FALSE(linearizable({erase({0, 1}), update(Operation::add, {2, 3}, 1, 5)}, 5));
  EXPECT_TRUE(linearizable({erase({0, 2}), update(Operation::add, {2, 3}, 1, 5)}, 5));
}

TEST(Linearizability, AcceptsFullOnlyWhereTheKeyIsAbsent) {
  MapOperation full = insert({2, 3}, 6);
  full.outcome = Outcome::full;
  EXPECT_TRUE(linearizable({full}));
  EXPECT_FALSE(linearizable({full}, 5));
  EXPECT_FALSE(linearizable({full, find({4, 5}, 6)}));
}

TEST(Linearizability, AddsModuloTheSizeOfValues) {
  const History history{update(Operation::add, {0, 1}, 3, 0xFFFFFFFF), find({2, 3}, 2)};
  EXPECT_TRUE(linearizable(history, 0xFFFFFFFF, 32));
  EXPECT_FALSE(linearizable(history, 0xFFFFFFFF, 64));
}

TEST(Linearizability, ExplainsWithTheOperationsOfTheWindow) {
  const auto what = violation({insert({0, 1}, 5), find({2, 3}, 5), erase({4, 8}), find({5, 6}, 9)});
  ASSERT_TRUE(what);
  EXPECT_NE(what->find("find(0) -> found 9"), std::string::npos) << *what;
  EXPECT_NE(what->find("from 5"), std::string::npos) << *what;
  EXPECT_NE(what->find("erase(0) -> erased"), std::string::npos) << *what;
  EXPECT_EQ(what->find("insert"), std::string::npos) << *what;
}

TEST(Linearizability, ChecksEveryKeyByItself) {
  History history{insert({0, 1}, 5), insert({2, 3}, 6), find({4, 5}, 5), find({4, 5}, 6)};
  history[1].key = history[3].key = 7;
  const auto nothing = [](std::uint64_t) { return KeyState{}; };
  EXPECT_FALSE(map_violation(history, nothing));
  history[3].key = 0;
  EXPECT_TRUE(map_violation(history, nothing));
}

/// All orders, one after the other.
bool some_order_explains(const History& history, KeyState initial, std::optional<KeyState> final = {}) {
  std::vector<std::size_t> order(history.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    bool right = true;
    KeyState state = initial;
    for (std::size_t i = 0; i < order.size() && right; ++i) {
      const MapOperation& operation = history[order[i]];
      for (std::size_t j = i + 1; j < order.size(); ++j)
        right &= history[order[j]].returned >= operation.called;
      const Effect now = effect(operation.operation, operation.operand, state);
      right &= now.outcome == operation.outcome && now.value == operation.value;
      state = now.after;
    }
    if (right && (!final || state == *final)) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

/// Operations in an order that is right, with times around the moments of their effect; then some answers
/// changed.
History random_history(Random& random, KeyState& state, std::uint32_t spread) {
  History history;
  const std::uint32_t count = 1 + random.below(6);
  for (std::uint32_t i = 0; i < count; ++i) {
    MapOperation operation;
    operation.operation = static_cast<Operation>(random.below(table::kOperations));
    operation.operand = random.below(3);
    const Effect now = effect(operation.operation, operation.operand, state);
    operation.outcome = now.outcome;
    operation.value = now.value;
    state = now.after;
    operation.called = 100 + 10 * i - random.below(spread);
    operation.returned = 100 + 10 * i + random.below(spread);
    history.push_back(operation);
  }
  if (random.chance(60)) {
    MapOperation& wrong = history[random.below(count)];
    const MapOperation& other = history[random.below(count)];
    wrong.outcome = other.outcome;
    wrong.value = other.value;
  }
  return history;
}

TEST(Linearizability, AgreesWithTryingAllOrders) {
  Random random(1);
  int right = 0, wrong = 0;
  for (int i = 0; i < 4000; ++i) {
    const KeyState initial = random.chance(50) ? KeyState(random.below(3)) : std::nullopt;
    KeyState state = initial;
    const History history = random_history(random, state, 40);
    const bool expected = some_order_explains(history, initial);
    ASSERT_EQ(linearizable(history, initial), expected) << i;
    (expected ? right : wrong) += 1;
  }
  EXPECT_GT(right, 1000);
  EXPECT_GT(wrong, 1000);
}

TEST(Linearizability, OfABatchAgreesWithTryingAllOrders) {
  Random random(2);
  int right = 0, wrong = 0;
  for (int i = 0; i < 4000; ++i) {
    const KeyState initial = random.chance(50) ? KeyState(random.below(3)) : std::nullopt;
    KeyState state = initial;
    History history = random_history(random, state, 40);
    for (MapOperation& operation : history) operation.called = operation.returned = 0;
    if (random.chance(20)) state = random.chance(50) ? KeyState(random.below(3)) : std::nullopt;
    const bool expected = some_order_explains(history, initial, state);
    ASSERT_EQ(!batch_violation(history, initial, state), expected) << i;
    (expected ? right : wrong) += 1;
  }
  EXPECT_GT(right, 500);
  EXPECT_GT(wrong, 500);
}

TEST(Linearizability, ManyOperationsAtOnceTakeLittleTime) {
  // 64 threads, each inserting and erasing one key 50 times, all values alike: one big window.
  History history;
  for (std::uint64_t i = 0; i < 6400; ++i) {
    const Time time{i, i + 128};
    history.push_back(i % 2 == 0 ? insert(time, 5) : erase(time));
  }
  EXPECT_TRUE(linearizable(history));
  history.push_back(find({3000, 3128}, 6));
  EXPECT_FALSE(linearizable(history));
}

}  // namespace
}  // namespace warploom::oracle
