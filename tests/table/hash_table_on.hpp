#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "warploom/table/hash_table.hpp"

namespace warploom::table {

/// Tests that run on the devices and structures that their executable says.
class HashTableOn : public testing::TestWithParam<std::tuple<std::vector<Device>, Structure>> {
 protected:
  Options options(std::uint64_t capacity) const {
    Options result;
    const auto& [devices, structure] = GetParam();
    result.run.devices = devices;
    result.structure = structure;
    result.capacity = capacity;
    return result;
  }
};

inline std::string parameter_name(const testing::TestParamInfo<HashTableOn::ParamType>& info) {
  const auto& [devices, structure] = info.param;
  const std::string text = structure == Structure::lines ? "lines_" : "list_";
  const std::string device = devices.front().is_gpu() ? "cuda" : "cpu";
  return text + device + (devices.size() > 1 ? "_" + std::to_string(devices.size()) + "_shares" : "");
}

/// Calls test.operator()<Key, Value>() with all four combinations.
template <class Test>
void for_all_types(const Test& test) {
  test.template operator()<std::uint32_t, std::uint32_t>();
  test.template operator()<std::uint32_t, std::uint64_t>();
  test.template operator()<std::uint64_t, std::uint32_t>();
  test.template operator()<std::uint64_t, std::uint64_t>();
}

template <class Key, class Value>
struct Batch {
  std::vector<Operation> operations;
  std::vector<Key> keys;
  std::vector<Value> operands;
  std::vector<Outcome> outcomes;
  std::vector<Value> values;

  explicit Batch(std::size_t count)
      : operations(count), keys(count), operands(count), outcomes(count), values(count) {}
  std::size_t size() const { return keys.size(); }
};

template <class Key, class Value>
using PlainMap = std::unordered_map<Key, Value>;

/// `count` different keys, with those among them that a table may have used for purposes of its own.
template <class Key>
std::vector<Key> different_keys(std::size_t count, std::uint64_t seed) {
  constexpr Key kLast = std::numeric_limits<Key>::max();
  std::vector<Key> keys{0,         1,          kLast, kLast - 1, kLast / 2, kLast / 2 + 1,
                        kLast ^ 1, kLast << 1, 2,     kLast << 2};
  std::unordered_set<Key> seen;
  std::erase_if(keys, [&](Key key) { return !seen.insert(key).second; });
  std::mt19937_64 random(seed);
  while (keys.size() < count) {
    const auto key = static_cast<Key>(random());
    if (seen.insert(key).second) keys.push_back(key);
  }
  keys.resize(count);
  return keys;
}

/// Any operations on a part of these keys, each key once: so the order in which they take effect has no
/// effect.
template <class Key, class Value>
Batch<Key, Value> random_batch(const std::vector<Key>& keys, std::size_t count, std::mt19937_64& random) {
  std::vector<Key> shuffled = keys;
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  Batch<Key, Value> batch(count);
  for (std::size_t i = 0; i < count; ++i) {
    batch.operations[i] = static_cast<Operation>(random() % kOperations);
    batch.keys[i] = shuffled[i];
    // Extreme values as often as others
    batch.operands[i] =
        random() % 2 == 0 ? static_cast<Value>(random()) : static_cast<Value>(random() % 4 - 2);
  }
  return batch;
}

/// What a map does: the outcome and value of each operation, one after the other.
template <class Key, class Value>
void run_model(PlainMap<Key, Value>& model, Batch<Key, Value>& batch) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto at = model.find(batch.keys[i]);
    const bool there = at != model.end();
    const Value before = there ? at->second : Value{0}, operand = batch.operands[i];
    batch.values[i] = before;
    switch (batch.operations[i]) {
      case Operation::find:
        batch.outcomes[i] = there ? Outcome::found : Outcome::absent;
        continue;
      case Operation::erase:
        batch.outcomes[i] = there ? Outcome::erased : Outcome::absent;
        batch.values[i] = 0;
        if (there) model.erase(at);
        continue;
      default:
        break;
    }
    if (!there) {
      model[batch.keys[i]] = operand;
      batch.outcomes[i] = Outcome::inserted;
      continue;
    }
    batch.outcomes[i] = batch.operations[i] == Operation::insert ? Outcome::found : Outcome::updated;
    switch (batch.operations[i]) {
      case Operation::assign:
        at->second = operand;
        break;
      case Operation::add:
        at->second = static_cast<Value>(before + operand);
        break;
      case Operation::min:
        at->second = std::min(before, operand);
        break;
      case Operation::max:
        at->second = std::max(before, operand);
        break;
      default:
        break;
    }
  }
}

template <class Key, class Value>
PlainMap<Key, Value> model_of(const std::vector<Key>& keys, const std::vector<Value>& values) {
  PlainMap<Key, Value> model;
  for (std::size_t i = 0; i < keys.size(); ++i)
    EXPECT_TRUE(model.emplace(keys[i], values[i]).second) << keys[i];
  return model;
}
template <class Key, class Value>
PlainMap<Key, Value> contents(const HashTable<Key, Value>& table) {
  std::vector<Key> keys;
  std::vector<Value> values;
  table.export_pairs(keys, values);
  EXPECT_EQ(keys.size(), values.size());
  return model_of(keys, values);
}

/// As many of `outcome`
inline std::uint64_t count(const std::vector<Outcome>& outcomes, Outcome outcome) {
  return static_cast<std::uint64_t>(std::ranges::count(outcomes, outcome));
}

/// Of operations on few keys, many at once: what insertions and erasures say and what is there has to agree.
template <class Key, class Value>
void expect_balance(const Batch<Key, Value>& batch, const PlainMap<Key, Value>& before,
                    const PlainMap<Key, Value>& after) {
  std::unordered_map<Key, std::int64_t> balance;
  for (const auto& [key, value] : before) ++balance[key];
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Outcome outcome = batch.outcomes[i];
    const Operation operation = batch.operations[i];
    balance[batch.keys[i]] += (outcome == Outcome::inserted) - (outcome == Outcome::erased);
    const bool possible =
        operation == Operation::find     ? outcome == Outcome::found || outcome == Outcome::absent
        : operation == Operation::erase  ? outcome == Outcome::erased || outcome == Outcome::absent
        : operation == Operation::insert ? outcome == Outcome::inserted || outcome == Outcome::found
                                         : outcome == Outcome::inserted || outcome == Outcome::updated;
    ASSERT_TRUE(possible) << name(operation) << " said " << name(outcome);
  }
  for (const auto& [key, there] : balance) ASSERT_EQ(there, after.contains(key) ? 1 : 0) << "key " << key;
}

}  // namespace warploom::table
