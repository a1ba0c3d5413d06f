#pragma once

#include <span>

#include "warploom/table/operation.hpp"

namespace warploom::table {

/// The arguments of HashTable::run or ListTable::run, whose lengths have been compared
template <class Key, class Value>
struct HostBatch {
  std::span<const Operation> operations;  ///< empty: `operation` for all
  Operation operation = Operation::find;
  std::span<const Key> keys;
  std::span<const Value> operands;
  std::span<Outcome> outcomes;
  std::span<Value> values;
};

}  // namespace warploom::table
