#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "warploom/table/operation.hpp"

/// Whether the answers of concurrent operations on a map can be those of some order of them in which no
/// operation that returned before another was called comes after it (Herlihy & Wing, ACM TOPLAS 12(3), 1990).
/// Keys are independent of each other: a map is linearizable if the operations on every single key are.
namespace warploom::oracle {

/// What a map holds for a key; nullopt: nothing.
using KeyState = std::optional<std::uint64_t>;

/// What one operation answers when it takes effect alone, and what it leaves.
struct Effect {
  table::Outcome outcome;
  std::uint64_t value;  ///< with found and updated, else 0
  KeyState after;
};
/// @param value_bits  32 or 64: where an addition wraps
Effect effect(table::Operation operation, std::uint64_t operand, KeyState before, int value_bits = 64);

/// One operation of a history. It took effect in [called, returned]; two operations with a tick in common are
/// concurrent.
struct MapOperation {
  table::Operation operation;
  std::uint64_t key = 0;
  std::uint64_t operand = 0;
  table::Outcome outcome = table::Outcome::absent;
  std::uint64_t value = 0;
  std::uint64_t called = 0;
  std::uint64_t returned = 0;
  int thread = 0;
};
std::string to_string(const MapOperation& operation);

/// Checks the operations on one key, in any order. `full` is right wherever the key is absent.
///
/// Wing & Gong's search with Lowe's memory of configurations (Concurrency and Computation 29(4), 2017), by
/// events in the order of time: a configuration is the key's state and which of the operations under way have
/// had their effect. Operations that leave the state as it is have theirs as soon as they can; of those that
/// are alike the one that returns first comes first. Time: exponential in how many different operations are
/// under way at once.
/// @return nullopt, or what is wrong: the operations since the last moment at which none was under way
std::optional<std::string> violation(std::vector<MapOperation> history, KeyState initial = {},
                                     int value_bits = 64);

/// The same for operations that are all concurrent, as those of a batch are, in linear time: each operation
/// is an edge from state to state, and the question is whether a path from `initial` to `final` takes every
/// edge once.
std::optional<std::string> batch_violation(std::span<const MapOperation> batch, KeyState initial,
                                           KeyState final, int value_bits = 64);

/// All keys; `initial` is called for the state that a key has before the history.
template <class Initial>
std::optional<std::string> map_violation(std::vector<MapOperation> history, const Initial& initial,
                                         int value_bits = 64);

/// Parts a history into those of its keys.
std::vector<std::vector<MapOperation>> by_key(std::vector<MapOperation> history);

template <class Initial>
std::optional<std::string> map_violation(std::vector<MapOperation> history, const Initial& initial,
                                         int value_bits) {
  for (std::vector<MapOperation>& part : by_key(std::move(history))) {
    const KeyState before = initial(part.front().key);
    if (auto what = violation(std::move(part), before, value_bits)) return what;
  }
  return {};
}

}  // namespace warploom::oracle
